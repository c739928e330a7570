"""A git repository to which commits are added without touching its work tree, its index or what is checked out."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphfix.files.git import GitFailed, entries, run
from graphfix.files.temporary import is_left_over, own_name
from graphfix.lazy_dataclass import dataclass

# a diff that is the same whatever the user's settings, so that its id is
_DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--diff-algorithm=myers",
    "-U3",
    "--no-color",
    "--full-index",
    "--binary",
)


class NotMade(Exception):
    """A branch that is not made, and why."""


@dataclass(frozen=True)
class Commit:
    """One commit, with the trailers of its message."""

    id: str
    tree: str
    message: str
    trailers: Mapping[str, str]


@dataclass(frozen=True)
class Blob:
    """A file as a commit has it."""

    mode: str
    data: bytes


@dataclass(frozen=True)
class Repository:
    """The work tree at `top`. `head`: the commit that is checked out, `branch` its name or nothing.

    `fetches`: what is missing of a clone that was made without all contents is fetched from its remote.
    """

    top: Path
    folder: Path
    head: str
    branch: str
    fetches: bool = False

    def git(
        self, *words: str, data: bytes | None = None, ok: Sequence[int] = (0,), variables: Mapping[str, str] | None = None,
        own_session: bool = False, remote: bool = False,
    ) -> bytes:  # fmt: skip
        """What git answers, `remote` where it is about one. In a session of its own it outlives what kills this process."""
        remote = remote or self.fetches
        return run(self.top, *words, data=data, ok=ok, variables=variables, own_session=own_session, remote=remote)

    def line(
        self, *words: str, data: bytes | None = None, ok: Sequence[int] = (0,), variables: Mapping[str, str] | None = None,
        remote: bool = False,
    ) -> str:  # fmt: skip
        """The one line of git's answer."""
        return os.fsdecode(self.git(*words, data=data, ok=ok, variables=variables, remote=remote)).strip()

    def fetching(self) -> Repository:
        """The repository for looks at what a remote has."""
        return replace(self, fetches=True)

    def commit_of(self, name: str) -> str:
        """The commit that `name` means, nothing if there is none."""
        return self.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", ok=(0, 1, 128))

    def dirty(self) -> list[str]:
        """The tracked files that are not as the commit has them."""
        status = self.git(
            "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all",
        )  # fmt: skip
        return [entry[3:] for entry in entries(status)]

    def blob(self, name: str) -> Blob | None:
        """The file `name` as it is in the commit that is checked out."""
        found = entries(self.git("ls-tree", "-z", self.head, "--", name))
        if not found:
            return None
        mode, kind, object_id = found[0].split("\t", 1)[0].split()
        return Blob(mode, self.git("cat-file", "blob", object_id)) if kind == "blob" else None

    def commits(self, branch: str) -> list[Commit]:
        """The commits that `branch` has and what is checked out has not, the oldest first."""
        form = "%H%x00%T%x00%B%x00%(trailers:only,unfold)%x00%x01"
        answer = self.git("log", "--reverse", f"--format={form}", "--end-of-options", branch, f"^{self.head}")
        made = []
        for entry in answer.decode("utf-8", "replace").split("\x01")[:-1]:
            commit_id, tree, message, trailers, _ = entry.lstrip("\n").split("\0")
            pairs = (line.partition(": ") for line in trailers.splitlines())
            made.append(Commit(commit_id, tree, message.strip(), {name: value for name, _, value in pairs}))
        return made

    def patch_id(self, parent: str, tree: str) -> str:
        """What a change is known by, wherever it is put."""
        patch = self.git("diff-tree", "-p", *_DIFF, parent, tree)
        return self.line("patch-id", "--stable", data=patch).partition(" ")[0]

    def set_branches(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Let all branches point to their new commits, if they still point to the old ones: all or none."""
        lines = ["start"]
        lines += [f"update refs/heads/{name} {new} {old or '0' * len(new)}" for name, (old, new) in moves.items()]
        lines += ["prepare", "commit", ""]
        # killed half-way, git would leave its locks behind
        self.git("update-ref", "--stdin", data="\n".join(lines).encode(), own_session=True)

    def is_local(self, remote: str) -> bool:
        """Whether git itself writes into the remote, on this machine."""
        return any(self._places_of(remote))

    def check_remote(self, remote: str) -> None:
        """Raise `NotMade` for a remote inside of the work tree: its hooks, which a push runs, may have come with the files."""
        top = os.path.realpath(self.top)
        for place in filter(None, self._places_of(remote)):
            if Path(os.path.realpath(place)).is_relative_to(top):
                raise NotMade(f"the remote {remote} is {place}, inside of the work tree: a push would run hooks that may have come with it")

    def _places_of(self, remote: str) -> list[str]:
        """For each address of a remote the folder on this machine that it means, or nothing."""
        urls = self.git("remote", "get-url", "--all", "--push", remote) + self.git("remote", "get-url", "--all", remote)
        places = [os.path.join(self.top, url.removeprefix("file://")) for url in os.fsdecode(urls).splitlines()]
        return [place if os.path.isdir(place) else "" for place in places]


def repository_at(top: Path) -> Repository:
    """The repository with the work tree `top`, or `NotMade`."""

    def ask(*words: str, ok: Sequence[int] = (0,)) -> str:
        return os.fsdecode(run(top, *words, ok=ok)).strip()

    folder = Path(ask("rev-parse", "--absolute-git-dir"))
    head = ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128))
    if not head:
        raise NotMade("the repository has no commit yet")
    return Repository(top, folder, head, ask("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)))


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder inside of git's own, gone when the block ends; those of runs that were killed go, too."""
    for name in os.listdir(folder):
        if is_left_over(name):
            shutil.rmtree(folder / name, ignore_errors=True)
    made = folder / own_name()
    made.mkdir(mode=0o700)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def identity(repository: Repository) -> str:
    """Who commits; `NotMade` where git does not know."""
    try:
        return repository.line("var", "GIT_AUTHOR_IDENT")
    except GitFailed as error:
        raise NotMade(f"git does not know who you are: {error}; set user.name and user.email") from error
