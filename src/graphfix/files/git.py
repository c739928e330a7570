"""The one gate to git: it runs nothing that a repository brings along, writes in no other work tree, and has an end.

A command knows the user's settings, and of the repository's own those that are data (`gitsettings.py`). Only one that is about a
remote may use the network, and the user's ways to it: credential helpers, ssh. Nothing asks for a password at the terminal but ssh.
Needs git 2.32 (https://git-scm.com/docs/git-config#ENVIRONMENT).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphfix.files.gitfolder import BadFolder, GitFolder, check_files, folder_of, stand_in
from graphfix.files.gitsettings import Setting, let_through, told, written

LIMIT = 60.0  # seconds for what works on this machine
REMOTE_LIMIT = 600.0
SETTINGS_LIMIT = 10.0
# what would point git at another repository than the one that it is asked about, or give it settings
_PLACES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_WORK_TREE",
    }
)  # fmt: skip
# who commits, and where git is
_ALWAYS_KEPT = re.compile(r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_EXEC_PATH")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
# whatever the user has set
_ALWAYS = {
    "core.fsmonitor": "false", "core.hooksPath": os.devnull, "core.untrackedCache": "false", "log.showSignature": "false",
    "gc.auto": "0", "maintenance.auto": "false", "submodule.recurse": "false",
    # a remote that sends less for a minute is given up, and none is a program that an address names
    "http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "protocol.ext.allow": "never", "protocol.fd.allow": "never",
}  # fmt: skip


class GitFailed(Exception):
    """Git did not do what it was asked for, and what it said."""


def run(
    top: Path, *words: str, ok: Sequence[int] = (0,), data: bytes | None = None, variables: Mapping[str, str] | None = None,
    remote: bool = False, own_session: bool = False, seconds: float | None = None,
) -> bytes:  # fmt: skip
    """What `git words` answers in the work tree `top`, or in a folder that is none, within so many `seconds`. Raises `GitFailed`.

    `remote`: the command is about one, and may go there; `variables` are set for it.
    """
    import tempfile

    limit = seconds or (REMOTE_LIMIT if remote else LIMIT)
    with tempfile.TemporaryDirectory(prefix=f"graphfix-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        environment = _environment(remote) | _enclosed(top, Path(name), remote) | dict(variables or {})
        return _answer(top, ["--literal-pathspecs", "--no-pager", *words], environment, limit, ok, data, own_session)


def entries(answer: bytes) -> list[str]:
    """The parts of an answer to `-z`."""
    return [os.fsdecode(entry) for entry in answer.split(b"\0") if entry]


def without_credentials(text: str) -> str:
    """`text` with the names and passwords in its addresses left out."""
    return _CREDENTIALS.sub("", text)


def _answer(
    top: Path, words: Sequence[str], environment: Mapping[str, str], limit: float, ok: Sequence[int] = (0,), data: bytes | None = None,
    own_session: bool = False,
) -> bytes:  # fmt: skip
    command = next(word for word in words if not word.startswith("-"))
    stdin = None if data is not None else subprocess.DEVNULL
    try:
        answer = subprocess.run(
            ["git", "-C", str(top), *words], capture_output=True, env=environment, start_new_session=own_session, input=data, stdin=stdin,
            timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {command} takes longer than {limit:g} seconds") from error
    except OSError as error:
        raise GitFailed(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    if answer.returncode not in ok:
        raise GitFailed(_complaint(os.fsdecode(answer.stderr)))
    return answer.stdout


def _environment(remote: bool) -> dict[str, str]:
    """The user's own variables as far as the command may know of them, and what holds whatever they say."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name, remote)}
    kept |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # an old git does not know the first of them; that no remote is said to have what is missing holds for all
    return kept if remote else kept | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}


def _is_kept(name: str, remote: bool) -> bool:
    if not name.startswith("GIT_") or _ALWAYS_KEPT.fullmatch(name):
        return True
    return remote and name not in _PLACES and not name.startswith("GIT_CONFIG")


def _enclosed(top: Path, place: Path, remote: bool) -> dict[str, str]:
    """What shows git the repository of `top` without the settings that are not let through; made in the folder `place`."""
    try:
        folder = folder_of(top)
        if folder is None:  # what lies above may have come along, too
            return _users_settings() | _overrides(_counted()) | {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(top))}
        check_files(folder)
        settings = _settings(top, folder)
        _check_place(top, folder, settings)
        passed = [setting for setting in settings if let_through(setting, remote=remote)]
        common, users = place / "common", place / "config"
        common.mkdir()
        stand_in(folder, written(setting for setting in passed if not setting.is_users), common)
        text = written(setting for setting in passed if setting.is_users)
        users.write_text(text, encoding="utf-8", errors="surrogateescape")
    except BadFolder as error:
        raise GitFailed(str(error)) from error
    return {
        "GIT_DIR": str(folder.own), "GIT_COMMON_DIR": str(common), "GIT_WORK_TREE": str(top),
        "GIT_CONFIG_GLOBAL": str(users), "GIT_CONFIG_NOSYSTEM": "1", **_overrides(),
    }  # fmt: skip


def _settings(top: Path, folder: GitFolder) -> list[Setting]:
    """All settings, with the conditions and included files that depend on where the repository is. To tell them runs nothing."""
    environment = _environment(False) | _users_settings() | {"GIT_DIR": str(folder.own)}
    try:
        return told(_answer(top, ["--no-pager", "config", "--list", "-z", "--show-scope"], environment, SETTINGS_LIMIT))
    except GitFailed as error:
        raise GitFailed(f"the settings of {folder.own} cannot be read: {error}") from error


def _users_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}


def _counted() -> int:
    """How many settings the user's variables give."""
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    return int(count) if count.isdecimal() else 0


def _overrides(taken: int = 0) -> dict[str, str]:
    """The settings that always hold, as variables: in a word `name=value` a name could hold the sign itself."""
    pairs = [(f"GIT_CONFIG_KEY_{at}", f"GIT_CONFIG_VALUE_{at}", *pair) for at, pair in enumerate(_ALWAYS.items(), taken)]
    made = {key: name for key, _, name, _ in pairs} | {place: value for _, place, _, value in pairs}
    return made | {"GIT_CONFIG_COUNT": str(taken + len(pairs))}


def _check_place(top: Path, folder: GitFolder, settings: Sequence[Setting]) -> None:
    """The work tree that git takes for the repository's has to be `top`. One that shares a repository has settings of its own for it."""
    scopes = ("worktree",) if folder.is_shared else ("local", "worktree")
    for setting in settings:
        if setting.scope not in scopes:
            continue
        if setting.name == "core.worktree" and (there := os.path.realpath(folder.own / (setting.value or ""))) != os.path.realpath(top):
            raise BadFolder(f"core.worktree in {folder.own} sets the work tree to {there}, not {top}")


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("hint:", "To "))]
    # a refused push says why in its table, before the line that calls itself an error
    chosen = [line for line in lines if line.startswith(("!", "fatal:", "error:", "remote:"))] or lines[:1] or ["no message"]
    chosen.sort(key=lambda line: not line.startswith("!"))
    return without_credentials(chosen[0])
