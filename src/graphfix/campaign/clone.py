"""A clone of a repository that runs nothing which it brings along: no hooks, no filters, no submodules."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from graphfix.files.git import GitFailed, filters_off, run, user_environment

# a remote that sends less for a minute is given up
_PATIENCE = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60", "-c", "protocol.ext.allow=never")
_SILENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_ASKPASS": "true"}


def cloned(url: str, place: Path, *, base: str = "", depth: int = 0, seconds: float | None = None) -> str:
    """Clone `url` to `place`, with files as the remote's branch has them; the commit. Raises `GitFailed`.

    What is there from an earlier run is brought up to date. Contents of old commits stay with the remote, where it can give them later
    (https://git-scm.com/docs/partial-clone). The clone appears in one step.
    """
    if not (place / ".git").is_dir():
        _make(url, place, base, depth, seconds)
    else:
        _renew(place, base, depth, seconds)
    return _line(place, "rev-parse", "HEAD")


def _make(url: str, place: Path, base: str, depth: int, seconds: float | None) -> None:
    begun = place.with_name(f".{place.name}.begun")
    for left in (begun, place):
        shutil.rmtree(left, ignore_errors=True)
    begun.parent.mkdir(parents=True, exist_ok=True)
    words = ["clone", "--quiet", "--no-checkout", "--no-tags", "--no-recurse-submodules", "--single-branch", "--filter=blob:none"]
    words += ["--branch", base] if base else []
    # a folder would be cloned by links, whatever depth was asked for
    words += ["--depth", str(depth), "--no-local"] if depth else []
    _git(begun.parent, *words, "--", url, str(begun), seconds=seconds)
    _check_out(begun)
    os.rename(begun, place)


def _renew(place: Path, base: str, depth: int, seconds: float | None) -> None:
    branch = base or _line(place, "symbolic-ref", "--short", "HEAD")
    words = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *(["--depth", str(depth)] if depth else [])]
    _git(place, *words, "origin", f"+refs/heads/{branch}:refs/remotes/origin/{branch}", seconds=seconds)
    _git(place, "update-ref", f"refs/heads/{branch}", f"refs/remotes/origin/{branch}")
    _git(place, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    _check_out(place)


def _check_out(place: Path) -> None:
    """The files of the branch, written as they are in its commit, where nothing of the repository is asked how."""
    _git(place, "config", "core.hooksPath", os.devnull)
    _git(place, "config", "core.autocrlf", "false")
    try:
        _git(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitFailed as error:
        raise GitFailed("the repository has no commit yet") from error
    _git(place, "reset", "--quiet", "--hard", "--no-recurse-submodules", options=filters_off(place, user_environment()))


def _git(top: Path, *words: str, options: list[str] | None = None, seconds: float | None = None) -> bytes:
    environment = user_environment() | _SILENT
    return run(top, *words, options=[*_PATIENCE, *(options or [])], environment=environment, seconds=seconds)


def _line(top: Path, *words: str) -> str:
    return os.fsdecode(_git(top, *words)).strip()
