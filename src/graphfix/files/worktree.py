"""The git state of the files that would be written: what git cannot give back is not touched unasked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from graphfix.files.git import GitFailed, entries, run
from graphfix.files.gitfolder import BadFolder, check_rules

_CHUNK = 500
_STATES = {"??": "untracked", "!!": "ignored by git"}
# by the digits of the names that git gives its objects: https://git-scm.com/docs/hash-function-transition
HASHES = {40: "sha1", 64: "sha256"}
_CONFLICTS = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


def dirty(paths: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """The files among `paths` that git could not restore, each with its state; none outside of git."""
    by_top: dict[Path, dict[str, Path]] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        top = top_of(real)
        if top is not None:
            by_top.setdefault(top, {})[real.relative_to(top).as_posix()] = path
    found: list[tuple[Path, str]] = []
    for top, names in by_top.items():
        found += [(names[name], state) for name, state in sorted(_states(top, list(names)).items())]
    return tuple(found)


def top_of(path: Path) -> Path | None:
    """The work tree that holds the real `path`."""
    for parent in path.parents:
        if os.path.lexists(parent / ".git"):
            return parent
    return None


def _states(top: Path, names: Sequence[str]) -> dict[str, str]:
    try:
        check_rules(top, names)
    except BadFolder as error:
        raise GitFailed(f"cannot read the git status of {top}: {error}") from error
    states: dict[str, str] = {}
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        states.update(_unrestorable(top, chunk))
    return states


def _unrestorable(top: Path, names: Sequence[str]) -> dict[str, str]:
    tracked: set[str] = set()
    states: dict[str, str] = {}
    for entry in _ask(top, "ls-files", "-v", "-z", "--", *names):
        tag, name = entry[0], entry[2:]
        tracked.add(name)
        # lower case: assume-unchanged, S: skip-worktree; git status does not look at these
        if tag.islower() or tag == "S":
            states[name] = "hidden from git status"
    status = _ask(
        top, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all", "--", *names,
    )  # fmt: skip
    for entry in status:
        code, name = entry[:2], entry[3:]
        states[name] = _STATES.get(code) or _describe(code)
    for name in names:
        if name not in tracked:
            states.setdefault(name, "not tracked by git")
    lost = _lost(top, [name for name in names if name not in states])
    states |= dict.fromkeys(lost, "its content is missing from git, or damaged there")
    return {name: state for name, state in states.items() if name in names}


def _lost(top: Path, names: Sequence[str]) -> list[str]:
    """The tracked files whose content, as the index has it, git does not have: nothing else says so before it is asked for."""
    if not names:
        return []
    found = dict(map(_indexed, _ask(top, "ls-files", "--stage", "-z", "--", *names)))
    held = _held(top, found.values())
    return [name for name in names if name not in found or found[name] not in held]


def _indexed(entry: str) -> tuple[str, str]:
    """A name and the blob that the index has for it."""
    about, _, name = entry.partition("\t")
    return name, about.split(" ")[1]


def _held(top: Path, blobs: Collection[str]) -> set[str]:
    """Those of the blobs that git has as they were written; one that is damaged ends its answer."""
    try:
        answer = run(top, "cat-file", "--batch", data="".join(f"{blob}\n" for blob in blobs).encode())
    except GitFailed:
        return set() if len(blobs) < 2 else {each for blob in blobs for each in _held(top, [blob])}
    held = set()
    while answer:
        head, _, answer = answer.partition(b"\n")
        words = head.decode("ascii").split(" ")
        if len(words) == 3:
            content, answer = answer[: int(words[2])], answer[int(words[2]) + 1 :]
            if hashlib.new(HASHES[len(words[0])], b"%s %d\0" % (words[1].encode(), len(content)) + content).hexdigest() == words[0]:
                held.add(words[0])
    return held


def _describe(code: str) -> str:
    if code in _CONFLICTS:
        return "in conflict"
    if code[1] != " ":
        return "has changes that are not staged"
    return "has changes that are not committed"


def _ask(top: Path, *words: str) -> list[str]:
    try:
        return entries(run(top, *words))
    except GitFailed as error:
        raise GitFailed(f"cannot read the git status of {top}: {error}") from error
