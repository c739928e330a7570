"""The git state of the files that would be written: what git cannot give back is not touched unasked.

Git is asked without running anything that the repository brings along: no hooks, no
file system monitor, no content filters.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_CHUNK = 500
_STATES = {"??": "untracked", "!!": "ignored by git"}
_CONFLICTS = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


class GitFailed(Exception):
    """Git did not answer, so nobody knows what a write would destroy."""


def dirty(paths: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """The files among `paths` that git could not restore, each with its state; none outside of git."""
    by_top: dict[Path, dict[str, Path]] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        top = _top(real)
        if top is not None:
            by_top.setdefault(top, {})[real.relative_to(top).as_posix()] = path
    found: list[tuple[Path, str]] = []
    for top, names in by_top.items():
        found += [(names[name], state) for name, state in sorted(_states(top, list(names)).items())]
    return tuple(found)


def _top(path: Path) -> Path | None:
    for parent in path.parents:
        if os.path.lexists(parent / ".git"):
            return parent
    return None


def _states(top: Path, names: Sequence[str]) -> dict[str, str]:
    states: dict[str, str] = {}
    filters = _filters_off(top)
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        states.update(_unrestorable(top, filters, chunk))
    return states


def _unrestorable(top: Path, filters: list[str], names: Sequence[str]) -> dict[str, str]:
    tracked: set[str] = set()
    states: dict[str, str] = {}
    for entry in _git(top, filters, "ls-files", "-v", "-z", "--", *names):
        tag, name = entry[0], entry[2:]
        tracked.add(name)
        # lower case: assume-unchanged, S: skip-worktree; git status does not look at these
        if tag.islower() or tag == "S":
            states[name] = "hidden from git status"
    status = _git(
        top, filters, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all", "--", *names,
    )  # fmt: skip
    for entry in status:
        code, name = entry[:2], entry[3:]
        states[name] = _STATES.get(code) or _describe(code)
    for name in names:
        if name not in tracked:
            states.setdefault(name, "not tracked by git")
    return {name: state for name, state in states.items() if name in names}


def _describe(code: str) -> str:
    if code in _CONFLICTS:
        return "in conflict"
    if code[1] != " ":
        return "has changes that are not staged"
    return "has changes that are not committed"


def _filters_off(top: Path) -> list[str]:
    """Options that blank every content filter: `git status` would run them on touched files."""
    options = []
    for name in _git(top, [], "config", "--name-only", "-z", "--get-regexp", r"^filter\.", ok=(0, 1)):
        if name.endswith((".clean", ".smudge", ".process")):
            options += ["-c", f"{name}="]
        elif name.endswith(".required"):
            options += ["-c", f"{name}=false"]
    return options


def _git(top: Path, options: Sequence[str], *words: str, ok: Sequence[int] = (0,)) -> Iterator[str]:
    command = [
        "git", "-C", str(top), "--literal-pathspecs", "--no-pager", "-c", "core.fsmonitor=",
        "-c", f"core.hooksPath={os.devnull}", "-c", "core.untrackedCache=false", *options, *words,
    ]  # fmt: skip
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=_safe_environment())
    except OSError as error:
        raise GitFailed(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    if answer.returncode not in ok:
        lines = os.fsdecode(answer.stderr).strip().splitlines() or ["no message"]
        raise GitFailed(f"git cannot tell the state of {top}: {lines[0]}")
    return (os.fsdecode(entry) for entry in answer.stdout.split(b"\0") if entry)


def _safe_environment() -> dict[str, str]:
    # GIT_DIR and the like would point git at another repository; GIT_CONFIG_* could name commands
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
