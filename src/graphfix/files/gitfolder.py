"""Where git keeps a work tree's repository, and a stand-in for its folder that has other settings.

Git reads a repository's settings from `config` in its common folder, and no variable takes their place. So git is given a common
folder of our own (`GIT_COMMON_DIR`): links to all that is in the real one, but for the settings and the hooks
(https://git-scm.com/docs/gitrepository-layout).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

_LONGEST = 10_000  # bytes of a file that holds one path
_NOT_LINKED = frozenset({"config", "config.worktree", "hooks"})
# what git makes where it is missing has to come into the real folder, too
_MADE_LATER = ("packed-refs", "shallow")
# folders of files that git opens by their names; what an open of the others waits for, the limit of time ends
_OPENED = (".", "info", "objects/info")


class BadFolder(Exception):
    """A git folder that git is not let into, and why."""


@dataclass(frozen=True)
class GitFolder:
    """The git folder `own` of a work tree, and `common`, which it shares with other work trees of the repository."""

    own: Path
    common: Path

    @property
    def is_shared(self) -> bool:
        return self.own != self.common


def folder_of(top: Path) -> GitFolder | None:
    """The git folder of the work tree `top`, None where that has none of its own; raises `BadFolder`."""
    link = top / ".git"
    if not os.path.lexists(link):
        return None
    own = link
    if not link.is_dir():
        text = _path_in(link)
        if not text.startswith("gitdir: "):
            raise BadFolder(f"{link} does not name a git folder")
        own = top / text.removeprefix("gitdir: ")
    own = Path(os.path.realpath(own))
    common = own
    if os.path.lexists(own / "commondir"):
        common = Path(os.path.realpath(own / _path_in(own / "commondir")))
    return GitFolder(own, common)


def check_files(folder: GitFolder) -> None:
    """Raise `BadFolder` where git would wait for what is no file."""
    for place in dict.fromkeys(base / name for base in (folder.own, folder.common) for name in _OPENED):
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(place)):
                _check_file(place / name)


def check_rules(top: Path, names: Iterable[str]) -> None:
    """The same for what git reads in the work tree beside the files `names`."""
    folders = {parent for name in names for parent in Path(name).parents}
    for folder in sorted(folders):
        for name in (".gitattributes", ".gitignore"):
            _check_file(top / folder / name)


def _check_file(path: Path) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError:  # none, or a link to nothing
        return
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else ""
    if kind:
        raise BadFolder(f"{path} is {kind}, not a file")


def stand_in(folder: GitFolder, settings: str, place: Path) -> None:
    """Make `place`, an empty folder, the common folder of the repository with these `settings` and without hooks."""
    names = {*os.listdir(folder.common), *_MADE_LATER} - _NOT_LINKED
    for name in names:
        os.symlink(folder.common / name, place / name)
    (place / "config").write_text(settings, encoding="utf-8", errors="surrogateescape")


def _path_in(file: Path) -> str:
    try:
        return os.fsdecode(read_bytes(file, _LONGEST)).strip("\n")
    except SourceError as error:
        raise BadFolder(f"{file}: {error.reason}") from error
