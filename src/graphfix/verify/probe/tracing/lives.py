"""Births that know their history: after which walk, of what kind, which walk freed them, and whether any ever came."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ..births import OURS, Birth, Site, Tally
from ..places import installed
from ..saved import saved_by

NEVER = -1  # no walk
CALLERS = 2  # lines that a place is told apart by, besides its own


class Place(Site):
    """A line of the user's code.

    `library`: the line of a library that it called, where the node was made in one; `callers`: the lines that led to it, the
    closest first.
    """

    __slots__ = ("callers", "graphs", "library", "lost", "lost_bytes")

    def __init__(self, file: str, line: int, library: tuple[str, int] | None, callers: tuple[tuple[str, int], ...]) -> None:
        super().__init__(file, line)
        self.library = library
        self.callers = callers
        self.graphs = self.lost = self.lost_bytes = 0  # of graphs that nobody walked: tops, nodes, bytes


class Life(Birth):
    """One node. `step`: how many walks were over when it was made. `top`: no node was made of it.

    `old`: births below it from before the last walk, with the names through which they came.
    """

    __slots__ = ("freed_by", "kind", "old", "order", "retained_by", "step", "top", "versions", "walked")
    tally: Lives
    site: Place

    def __init__(self, tally: Lives, site: Place) -> None:
        super().__init__(tally, site)
        self.step = tally.step
        self.order = tally.made  # of all nodes
        self.kind = ""
        self.freed_by = self.retained_by = NEVER
        self.walked = False
        self.top = True
        self.versions: tuple[tuple[int, int], ...] = ()  # storage and version of each saved tensor
        self.old: list[tuple[Life, Any]] = []

    def __del__(self) -> None:
        if not self.walked:
            self.tally.lose(self)
        super().__del__()


class Lives(Tally):
    """The births of a run that is traced."""

    def __init__(self) -> None:
        super().__init__(saved_by)
        self.step = 0  # walks that are over
        self.crossed: list[Life] = []  # made of what is older than the last walk, since somebody looked
        self.lost = 0
        self.foreign_folders = (*installed(), *OURS)
        self._foreign: dict[str, bool] = {}
        self._places: dict[tuple[object, ...], Place] = {}

    def born(self, site: Site) -> Birth:
        assert isinstance(site, Place)
        return Life(self, site)

    def completed(self, birth: Birth, node: Any, saved: tuple[tuple[int, int, int], ...]) -> None:
        """A birth has its node's edges: what it is made of is no top any more."""
        assert isinstance(birth, Life)
        birth.kind = type(node).__name__
        birth.versions = tuple((storage, version) for storage, _, version in saved)
        for below in birth.below:
            below.top = False  # type: ignore[attr-defined]
        if any(below.step < birth.step for below in birth.below):  # type: ignore[attr-defined]
            self.crossed.append(birth)

    def lose(self, birth: Life) -> None:
        """A node dies that no walk ever came to."""
        self.lost += 1
        site = birth.site
        site.lost += 1
        site.lost_bytes += sum(size for _, size, _ in birth.saved)
        site.graphs += birth.top

    def is_foreign(self, frame: Any) -> bool:
        """Whether a frame runs code that the user did not write."""
        name = frame.f_code.co_filename
        known = self._foreign.get(name)
        if known is None:
            known = self._foreign[name] = self.is_torch(frame) or name.startswith((*self.foreign_folders, "<"))
        return known

    def here(self, depth: int = 1) -> Site:
        """The deepest line of the user's own code, with the line of a library below it; without any, that of the library."""
        return self._place(sys._getframe(depth + 1), told_apart=False)

    def walked_at(self, depth: int = 1) -> Site:
        """The same of a walk: two that a library does in its own lines below one line of the user's are two."""
        return self._place(sys._getframe(depth + 1), told_apart=True)

    def at(self, frame: Any) -> Site:
        """The line of the user's own code that a frame is at, or has come from."""
        return self._place(frame, told_apart=False)

    def _place(self, frame: Any, *, told_apart: bool) -> Site:
        while self.is_torch(frame) and frame.f_back is not None:
            frame = frame.f_back
        library, top = None, frame
        if self.is_foreign(frame):
            library = (frame.f_code.co_filename, frame.f_lineno)
            while frame is not None and self.is_foreign(frame):
                frame = frame.f_back
        if frame is None:
            frame, library = top, None
        name = (frame.f_code.co_filename, frame.f_lineno)
        callers = self._callers(frame)
        key = (name, callers, library if told_apart else None)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(*name, library, callers)
        return found

    def _callers(self, frame: Any) -> tuple[tuple[str, int], ...]:
        """The lines of the user's code that led to `frame`, as far as they are told apart."""
        found: list[tuple[str, int]] = []
        while len(found) < CALLERS and (frame := frame.f_back) is not None:
            if not self.is_foreign(frame):
                found.append((frame.f_code.co_filename, frame.f_lineno))
        return tuple(found)

    def sites(self) -> Iterator[Site]:
        return iter(self._places.values())
