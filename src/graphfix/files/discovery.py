"""Which files the given paths mean: deterministic, junk left out, links never followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from graphfix.files.gitignore import Ignored
from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes
from graphfix.source.real import forget, real_path

JUNK = frozenset(
    {
        ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache",
        ".svn", ".tox", ".venv", "__pycache__", "__pypackages__", "build", "dist", "node_modules",
        "site-packages", "venv",
    }
)  # fmt: skip

_LONGEST_LINK = 10_000  # bytes of a `.git` that is a file: one path

Excludes = Callable[[Path, bool], bool]


class MissingPath(Exception):
    """A path on the command line that does not exist."""


@dataclass(frozen=True)
class Discovered:
    """Files to examine in order, real folders that bound every write, and named files left out with a reason.

    `submodules`: work trees of other repositories, left alone because only the folder above them was named.
    `empty`: named folders without any Python file or notebook, excluded or not.
    """

    files: tuple[Path, ...]
    roots: tuple[Path, ...]
    skipped: tuple[tuple[Path, str], ...] = ()
    submodules: tuple[Path, ...] = ()
    empty: tuple[Path, ...] = ()


def _nothing(path: Path, is_folder: bool) -> bool:
    return False


def discover(paths: Sequence[Path], excludes: Excludes = _nothing, *, force: bool = False) -> Discovered:
    """The Python files and notebooks that `paths` mean; a path that is not there raises `MissingPath`.

    `excludes` says of a path, and whether that is a folder, that it is left out; what `paths` name only with `force`.
    """
    forget()
    roots = tuple(dict.fromkeys(root_of(path) for path in paths))
    files: dict[str, Path] = {}
    skipped: dict[Path, str] = {}
    submodules: list[Path] = []
    empty: list[Path] = []
    for path in paths:
        is_folder = os.path.isdir(path)
        excluded = excludes(path, is_folder)
        if excluded and force:
            continue
        if is_folder:
            # what lies in an excluded folder is excluded, too: naming the folder lifts that
            inside_others: list[Path] = []
            below = list(walk(path, _nothing if excluded else excludes, inside_others))
            submodules += inside_others
            for found in below:
                files.setdefault(real_path(found), found)
            # what is excluded, or in submodules, is left out on purpose
            empty += [] if below or inside_others or any(True for _ in walk(path)) else [path]
            continue
        reason = _why_not(path, roots)
        if reason:
            skipped.setdefault(path, reason)
        else:
            files.setdefault(os.path.realpath(path), path)
    ordered = sorted(files.values(), key=lambda path: path.parts)
    named = {os.path.realpath(path) for path in paths}
    left = {path for path in submodules if os.path.realpath(path) not in named}
    return Discovered(tuple(ordered), roots, tuple(sorted(skipped.items())), tuple(sorted(left)), tuple(empty))


def root_of(path: Path) -> Path:
    """The real folder that bounds what may be written for the argument `path`."""
    if not os.path.lexists(path):
        raise MissingPath(f"no such file or folder: {path}")
    folder = path if os.path.isdir(path) else path.parent
    return Path(os.path.realpath(folder))


def inside(path: Path, roots: Sequence[Path]) -> bool:
    """Whether the real place of `path` is below one of the real `roots`."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)


def _why_not(path: Path, roots: Sequence[Path]) -> str:
    if path.is_symlink() and not inside(path, roots):
        return "a link that leads outside of the given paths"
    return ""


def walk(folder: Path, excludes: Excludes = _nothing, submodules: list[Path] | None = None) -> Iterator[Path]:
    """The Python files and notebooks below `folder`, sorted. Links are not followed: what they lead to inside is met there.

    Submodules of git are not entered where there is a list of `submodules` to put them into.
    """
    yield from _walk(folder, Ignored.above(folder), excludes, submodules)


def is_passed_over(path: Path, folder: Path, excludes: Excludes = _nothing) -> bool:
    """Whether `walk` of the folder would not come to the file at `path` below it; links on the way there count as what they are."""
    rules = Ignored.above(folder)
    current = folder
    *folders, name = path.relative_to(folder).parts
    for part in folders:
        rules = rules.within(current, {".gitignore"})
        current = current / part
        if _is_junk(current) or rules.ignores(current, folder=True) or excludes(current, True):
            return True
    return rules.within(current, {".gitignore"}).ignores(current / name, folder=False) or excludes(path, False)


def _walk(folder: Path, ignored: Ignored, excludes: Excludes, submodules: list[Path] | None) -> Iterator[Path]:
    # a list instead of recursion: folders may nest deeper than Python's stack
    pending = [(folder, ignored)]
    while pending:
        current, rules = pending.pop()
        entries = _entries(current)
        if entries is None:
            # passed on as if it were a file: reading it then names the reason, so nothing is missed in silence
            yield current
            continue
        names = {entry.name for entry in entries}
        if submodules is not None and ".git" in names and current is not folder and _is_submodule(current):
            submodules.append(current)
            continue
        rules = rules.within(current, names)
        folders = []
        for entry in entries:
            path = current / entry.name
            if entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _is_junk(path) and not rules.ignores(path, folder=True) and not excludes(path, True):
                    folders.append((path, rules))
            elif entry.name.endswith((".py", ".ipynb")) and not rules.ignores(path, folder=False) and not excludes(path, False):
                yield path
        pending.extend(reversed(folders))


def _entries(folder: Path) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None


def _is_submodule(folder: Path) -> bool:
    """Whether its `.git` is a file that leads into the repository of the work tree around it."""
    try:
        text = read_bytes(folder / ".git", _LONGEST_LINK)
    except SourceError:
        return False
    return text.startswith(b"gitdir:") and b"/modules/" in text.replace(b"\\", b"/")


def _is_junk(path: Path) -> bool:
    return path.name in JUNK or os.path.lexists(path / "pyvenv.cfg")
