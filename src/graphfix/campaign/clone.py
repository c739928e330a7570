"""A clone of a repository that runs nothing which it brings along: no hooks, no filters, no submodules."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from graphfix.files.git import GitFailed, run
from graphfix.lazy_dataclass import dataclass

_SILENT = {"GIT_ASKPASS": "true"}
# files are written as they are in the commit
_SETTINGS = ("--config", f"core.hooksPath={os.devnull}", "--config", "core.autocrlf=false")
# what was fetched last: a name of its own is in the way of no branch, whatever the remote calls them
_FETCHED = "refs/graphfix/fetched"


@dataclass(frozen=True)
class Place:
    """A branch and its commit. The branch has no name where the remote has a commit checked out, and none."""

    branch: str
    commit: str


@dataclass(frozen=True)
class Wish:
    """What is cloned: the branch `base`, or the one that the remote has checked out, but not `own`, which is made from it.

    `depth`: how many commits, 0 for all; `seconds`: what git may take.
    """

    url: str
    base: str = ""
    own: str = ""
    depth: int = 0
    seconds: float | None = None


def cloned(wish: Wish, place: Path) -> Place:
    """Clone to `place`, with files as the remote's branch has them; what was cloned. Raises `GitFailed`.

    What is there from an earlier run is brought up to date. Contents of old commits stay with the remote, where it can give them later
    (https://git-scm.com/docs/partial-clone). The clone appears in one step.
    """
    if not is_clone(place):
        _make(wish, place)
    else:
        branch = upstream(wish, place).branch
        fetch(wish, place, branch)
        _switch(place, branch)
    return Place(_branch(place), _line(place, "rev-parse", "HEAD"))


def is_clone(place: Path) -> bool:
    return (place / ".git").is_dir()


def upstream(wish: Wish, place: Path) -> Place:
    """What the remote has now, without a change to the clone. Raises `GitFailed`, also where the branch is gone."""
    known = wish.base or (_branch(place) if is_clone(place) else "")
    names = ["HEAD", *([f"refs/heads/{known}"] if known else [])]
    place.parent.mkdir(parents=True, exist_ok=True)
    said = os.fsdecode(_git(place.parent, "ls-remote", "--symref", "--", wish.url, *names, seconds=wish.seconds))
    lines = [line.partition("\t") for line in said.splitlines()]
    commits = {name: told for told, _, name in lines if not told.startswith("ref: ")}
    [default] = [
        told.removeprefix("ref: refs/heads/") for told, _, name in lines if name == "HEAD" and told.startswith("ref: ")
    ] or [""]
    # a work tree may have no branch checked out for a while, or our own
    follows = not wish.base and bool(default) and (default != wish.own or not known)
    branch = default if follows else known
    commit = commits.get("HEAD" if follows or not branch else f"refs/heads/{branch}", "")
    if not commit:
        raise GitFailed(f"the remote has no branch {branch}" if branch else "the repository has no commit yet")
    return Place(branch, commit)


def fetch(wish: Wish, place: Path, branch: str) -> None:
    """Bring what the remote has now into the clone, whose branches and files stay as they are."""
    words = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *(["--depth", str(wish.depth)] if wish.depth else [])]
    source = f"refs/heads/{branch}" if branch else "HEAD"
    _git(place, *words, "origin", f"+{source}:{_FETCHED}", seconds=wish.seconds)


def _make(wish: Wish, place: Path) -> None:
    begun = place.with_name(f".{place.name}.begun")
    for left in (begun, place):
        shutil.rmtree(left, ignore_errors=True)
    begun.parent.mkdir(parents=True, exist_ok=True)
    words = ["clone", *_SETTINGS, "--quiet", "--no-checkout", "--no-tags", "--no-recurse-submodules", "--single-branch", "--filter=blob:none"]
    words += ["--branch", wish.base] if wish.base else []
    # a folder would be cloned by links, whatever depth was asked for
    words += ["--depth", str(wish.depth), "--no-local"] if wish.depth else []
    _git(begun.parent, *words, "--", wish.url, str(begun), seconds=wish.seconds)
    _check_out(begun)
    os.rename(begun, place)


def _switch(place: Path, branch: str) -> None:
    """What was fetched as `branch`, checked out; the branch of earlier goes where the remote has another one now."""
    old = _branch(place)
    _git(place, "update-ref", "--no-deref", "HEAD", _FETCHED)
    if old not in ("", branch):
        _git(place, "update-ref", "-d", f"refs/heads/{old}")
    if branch:
        _git(place, "update-ref", f"refs/heads/{branch}", _FETCHED)
        _git(place, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    _check_out(place)


def _check_out(place: Path) -> None:
    """The files of the branch, written as they are in its commit, where nothing of the repository is asked how."""
    try:
        _git(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitFailed as error:
        raise GitFailed("the repository has no commit yet") from error
    _git(place, "reset", "--quiet", "--hard", "--no-recurse-submodules")


def _git(top: Path, *words: str, seconds: float | None = None) -> bytes:
    # contents that the clone was made without are fetched when they are asked for: each command is about the remote
    return run(top, *words, variables=_SILENT, remote=True, seconds=seconds)


def _line(top: Path, *words: str) -> str:
    return os.fsdecode(_git(top, *words)).strip()


def _branch(place: Path) -> str:
    """The branch that is checked out, nothing where it is a commit."""
    name = os.fsdecode(run(place, "symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)))
    return name.strip()
