"""Where a frame of a traceback lies on this machine: which file, which line of it today."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from itertools import islice
from pathlib import Path

from graphfix.files.discovery import walk
from graphfix.lazy_dataclass import dataclass
from graphfix.project.importers import distance
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.text import Source
from graphfix.why.cells import cell_of
from graphfix.why.errors import Frame

MAX_FILES = 20_000
_MIN_SHARED = 8


@dataclass(frozen=True)
class Place:
    """The line of a frame. `cell`: the 0-based number of a notebook's cell. `note`: what differs from the traceback."""

    frame: Frame
    source: Source
    row: int
    cell: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Nowhere:
    """A frame whose file is not here, and why."""

    frame: Frame
    reason: str


@dataclass
class Locator:
    """Finds frames. `project`: the folder, or the notebook, that the user names; without one, the working folder."""

    project: Path | None = None
    _sources: dict[Path, Source | str] = field(default_factory=dict)

    def placed(self, frames: Sequence[Frame]) -> list[Place | Nowhere]:
        """The places of the frames of one error: of several files that one may mean it is the nearest to those that the others are in."""
        found = [self.place(frame) for frame in frames]
        beside = [Path(os.path.realpath(each.source.path)) for each in found if isinstance(each, Place)]
        return [self._nearest(each, beside) if isinstance(each, Nowhere) and beside else each for each in found]

    def _nearest(self, missing: Nowhere, beside: Sequence[Path]) -> Place | Nowhere:
        if missing.frame.cell is not None:
            return missing
        alike = [path for path in self._alike(missing.frame.file) if self._holds(path, missing.frame)]
        far = {path: min(distance(Path(os.path.realpath(path)), each) for each in beside) for path in alike}
        least = [path for path, away in far.items() if away == min(far.values())]
        return self._at(missing.frame, least[0]) if len(least) == 1 else missing

    def _holds(self, path: Path, frame: Frame) -> bool:
        """Whether the line that a traceback shows is in a file."""
        source = self.source(path)
        return not isinstance(source, str) and (not frame.code or any(same_line(frame.code, line) for line in source.text.splitlines()))

    def place(self, frame: Frame) -> Place | Nowhere:
        """The place of `frame`; nothing is raised."""
        if frame.cell is not None:
            return self._cell(frame)
        path, reason = self._file(frame.file)
        if path is None:
            return Nowhere(frame, reason)
        return self._at(frame, path)

    def _at(self, frame: Frame, path: Path) -> Place | Nowhere:
        source = self.source(path)
        if isinstance(source, str):
            return Nowhere(frame, f"{path}: {source}")
        row, note = _row(source, frame)
        return Place(frame, source, row, note=note)

    def source(self, path: Path) -> Source | str:
        """The file at `path`, or why it cannot be read."""
        if path not in self._sources:
            try:
                self._sources[path] = read(path)
            except SourceError as error:
                self._sources[path] = error.reason
        return self._sources[path]

    @cached_property
    def _folder(self) -> Path:
        if self.project is None:
            return Path(os.curdir)
        return self.project.parent if self.project.is_file() else self.project

    @cached_property
    def _files(self) -> list[Path]:
        here = Path(os.path.realpath(self._folder))
        if self.project is None and (here == Path.home() or here.parent == here):
            return []  # a home folder holds too much that is not meant
        return list(islice(walk(self._folder), MAX_FILES))

    def _file(self, name: str) -> tuple[Path | None, str]:
        written = _written(name)
        if self.project is None and written is not None:
            return written, ""
        parts, best = _parts(name), self._alike(name)
        if len(best) == 1:
            return best[0], ""
        if written is not None:
            return written, ""
        if not best:
            return None, f"there is no {parts[-1] if parts else name} below {_shown(self._folder)}"
        names = " and ".join(map(str, best[:2]))
        return None, f"it may be {names}" + (f", or {len(best) - 2} more" if len(best) > 2 else "")

    def _alike(self, name: str) -> list[Path]:
        """The files whose paths end as `name` does, as far as any does."""
        parts = _parts(name)
        ranked = sorted(((_shared(parts, path), path) for path in self._files), key=lambda pair: -pair[0])
        return [path for shared, path in ranked if shared and shared == ranked[0][0]]

    def _cell(self, frame: Frame) -> Place | Nowhere:
        notebooks = self._notebooks()
        if not notebooks:
            return Nowhere(frame, f"there is no notebook in {_shown(self._folder)}")
        found = []
        for path in notebooks:
            source = self.source(path)
            if not isinstance(source, str):
                found += [(source, prompt) for prompt in cell_of(source, frame)]
        best = max((prompt.likeness for _, prompt in found), default=0)
        found = [(source, prompt) for source, prompt in found if prompt.likeness == best]
        if len(found) == 1:
            source, prompt = found[0]
            return Place(frame, source, prompt.row, prompt.cell, prompt.note)
        if not found:
            return Nowhere(frame, f"no cell of {_shown(notebooks[0] if len(notebooks) == 1 else self._folder)} has this line")
        return Nowhere(frame, f"{len(found)} cells have this line; name the notebook with --project")

    def _notebooks(self) -> Sequence[Path]:
        if self.project is not None and self.project.suffix == ".ipynb":
            return [self.project]
        try:
            return sorted(self._folder.glob("*.ipynb"))[:50]
        except OSError:
            return []


def _written(name: str) -> Path | None:
    """The file under the very name, if there is one."""
    try:
        path = Path(name).expanduser()
        return Path(shortest(str(path))) if path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def shortest(name: str) -> str:
    """The path from the working folder if it lies below it: what the user would type."""
    try:
        path = Path(name).expanduser()
        return os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd().resolve()) else name
    except (OSError, ValueError, RuntimeError):
        return name


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..", "~"))


def _shared(parts: tuple[str, ...], path: Path) -> int:
    """How many names, from the last one up, a path of the traceback has in common with one below the project."""
    count = 0
    for one, other in zip(reversed(parts), reversed(path.parts)):
        if one != other:
            break
        count += 1
    return count


def _shown(folder: Path) -> str:
    return "this folder" if str(folder) == os.curdir else str(folder)


def same_line(one: str, other: str) -> bool:
    """Whether two source lines are the same, where a traceback may have cut the first one short."""
    one, other = " ".join(one.split()), " ".join(other.split())
    if one == other:
        return True
    cut = one.rstrip(".…").rstrip()
    return len(cut) >= _MIN_SHARED and other.startswith(cut)


def _row(source: Source, frame: Frame) -> tuple[int, str]:
    """The line of the frame in the file as it is now, and what is to be said of that."""
    index = source.index()
    name = source.path.name
    row = min(max(frame.row, 1), index.rows)
    if not frame.code or frame.row == row and same_line(frame.code, index.line(row)):
        beyond = frame.row > index.rows
        return row, f"{name} has changed since: it has no line {frame.row} any more" if beyond else ""
    rows = [at for at in range(1, index.rows + 1) if same_line(frame.code, index.line(at))]
    if rows:
        near = min(rows, key=lambda at: abs(at - frame.row))
        if not frame.row:
            return near, ""
        return near, f"{name} has changed since: line {frame.row} of the traceback is line {near} now"
    return row, f"{name} has changed since: its line {frame.row} has another text now"
