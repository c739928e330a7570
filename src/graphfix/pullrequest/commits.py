"""One commit for each rule, made of git's objects only; a branch appears when all of them are there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from graphfix import __version__
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.repository import Blob, Commit, NotMade, Repository, scratch
from graphfix.run.series import Step

RULE, PATCH, VERSION = "Graphfix-Rule", "Graphfix-Patch", "Graphfix-Version"


@dataclass(frozen=True)
class Made:
    """A branch that is about to be: its commits, the oldest first."""

    branch: str
    commits: tuple[Commit, ...]

    @property
    def tip(self) -> str:
        return self.commits[-1].id


def build(repository: Repository, branch: str, steps: Sequence[Step], message: Callable[[Step], str]) -> Made:
    """The commits of `steps` on top of what is checked out. Nothing points to them yet."""
    first: dict[Path, bytes] = {}
    for step in steps:
        first = {path: before for path, before, _ in step.files} | first
    blobs = {path: _base(repository, path, before) for path, before in first.items()}
    made: list[Commit] = []
    with scratch(repository.folder) as folder:
        index = {"GIT_INDEX_FILE": str(folder / "index")}
        repository.git("read-tree", repository.head, variables=index)
        parent, parent_tree = repository.head, repository.line("rev-parse", f"{repository.head}^{{tree}}")
        for step in steps:
            lines = []
            for path, _, after in step.files:
                blob, as_committed = blobs[path]
                object_id = repository.line("hash-object", "-w", "--no-filters", "--stdin", data=as_committed(after))
                lines.append(f"{blob.mode} {object_id}\t{name_of(repository, path)}\0")
            repository.git("update-index", "-z", "--index-info", data=os.fsencode("".join(lines)), variables=index)
            tree = repository.line("write-tree", "--missing-ok", variables=index)
            text = message(step) + _trailers(step.code, repository.patch_id(parent_tree, tree))
            parent = repository.line("commit-tree", tree, "-p", parent, "-F", "-", data=text.encode("utf-8", "replace"))
            made.append(Commit(parent, tree, text.strip(), {}))
            parent_tree = tree
    return Made(branch, tuple(made))


def name_of(repository: Repository, path: Path) -> str:
    """What the file at `path` is called in the repository."""
    return Path(os.path.realpath(path)).relative_to(repository.top).as_posix()


def _trailers(code: str, patch: str) -> str:
    return f"\n{RULE}: {code}\n{PATCH}: {patch}\n{VERSION}: {__version__}\n"


def _base(repository: Repository, path: Path, data: bytes) -> tuple[Blob, Callable[[bytes], bytes]]:
    """The file in the commit that is checked out, and how bytes of the tree become those of a commit."""
    name = name_of(repository, path)
    blob = repository.blob(name)
    if blob is None:
        raise NotMade(f"{name} is not in the commit that is checked out")
    if data == blob.data:
        return blob, lambda after: after
    if data.replace(b"\r\n", b"\n") == blob.data:
        return blob, lambda after: after.replace(b"\r\n", b"\n")
    raise NotMade(f"{name} differs from its commit: by a content filter, or it changed meanwhile")


def foreign(repository: Repository, branch: str) -> list[Commit]:
    """The commits of `branch` that graphfix did not make, or that were changed since."""
    return [commit for commit in repository.commits(branch) if not _is_ours(repository, commit)]


def _is_ours(repository: Repository, commit: Commit) -> bool:
    if RULE not in commit.trailers or PATCH not in commit.trailers:
        return False
    parents = repository.line("rev-list", "--parents", "-n", "1", commit.id).split()[1:]
    return len(parents) == 1 and repository.patch_id(parents[0], commit.id) == commit.trailers[PATCH]


def same(repository: Repository, made: Made) -> bool:
    """Whether the branch already holds the same commits on the same base."""
    branch = f"refs/heads/{made.branch}"
    old = repository.commits(branch)
    if repository.commit_of(f"{branch}~{len(made.commits)}") != repository.head:
        return False
    return [(one.tree, one.message) for one in old] == [(one.tree, one.message) for one in made.commits]


def clean(repository: Repository, paths: Iterable[Path]) -> list[str]:
    """What keeps commits from being what is in the tree: one line for each file."""
    from graphfix.files.worktree import dirty

    lines = [f"{name}: differs from the commit" for name in repository.dirty()]
    return lines or [f"{path}: {state}" for path, state in dirty(paths)]
