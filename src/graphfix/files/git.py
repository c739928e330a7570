"""Git, asked without running anything that the repository brings along: no hooks, no file system monitor, no content filters."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# what would point git at another repository than the one that it is asked about
_PLACES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_WORK_TREE",
    }
)  # fmt: skip
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


class GitFailed(Exception):
    """Git did not do what it was asked for, and what it said."""


def run(
    top: Path, *words: str, options: Sequence[str] = (), ok: Sequence[int] = (0,), data: bytes | None = None,
    environment: Mapping[str, str] | None = None, own_session: bool = False, seconds: float | None = None,
) -> bytes:  # fmt: skip
    """What `git words` answers in the work tree `top`, within so many `seconds` where there is a limit."""
    command = [
        "git", "-C", str(top), "--literal-pathspecs", "--no-pager", "-c", "core.fsmonitor=",
        "-c", f"core.hooksPath={os.devnull}", "-c", "core.untrackedCache=false", *options, *words,
    ]  # fmt: skip
    variables = dict(environment or _safe_environment())
    stdin = None if data is not None else subprocess.DEVNULL
    try:
        answer = subprocess.run(
            command, capture_output=True, env=variables, start_new_session=own_session, input=data, stdin=stdin, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {words[0]} takes longer than {error.timeout:.0f} seconds") from error
    except OSError as error:
        raise GitFailed(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    if answer.returncode not in ok:
        raise GitFailed(_complaint(os.fsdecode(answer.stderr)))
    return answer.stdout


def entries(answer: bytes) -> list[str]:
    """The parts of an answer to `-z`."""
    return [os.fsdecode(entry) for entry in answer.split(b"\0") if entry]


def filters_off(top: Path, environment: Mapping[str, str] | None = None) -> list[str]:
    """Options that blank every content filter that is known in `environment`: `git status` would run them on touched files."""
    options = []
    for name in entries(
        run(top, "config", "--name-only", "-z", "--get-regexp", r"^filter\.", ok=(0, 1), environment=environment)
    ):
        if name.endswith((".clean", ".smudge", ".process")):
            options += ["-c", f"{name}="]
        elif name.endswith(".required"):
            options += ["-c", f"{name}=false"]
    return options


def user_environment() -> dict[str, str]:
    """The environment with the user's identity and ways to a remote, but without another repository."""
    kept = {name: value for name, value in os.environ.items() if name not in _PLACES}
    return kept | {"LC_ALL": "C"}


def without_credentials(text: str) -> str:
    """`text` with the names and passwords in its addresses left out."""
    return _CREDENTIALS.sub("", text)


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("hint:", "To "))]
    # a refused push says why in its table, before the line that calls itself an error
    chosen = [line for line in lines if line.startswith(("!", "fatal:", "error:", "remote:"))] or lines[:1] or ["no message"]
    chosen.sort(key=lambda line: not line.startswith("!"))
    return without_credentials(chosen[0])


def _safe_environment() -> dict[str, str]:
    # GIT_DIR and the like would point git at another repository; GIT_CONFIG_* could name commands
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
