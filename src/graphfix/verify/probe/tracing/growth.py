"""Who holds the graphs that are alive: the names in the program from which most nodes can be reached."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..births import birth_of
from ..looking import attributes
from ..tensors import unseen
from .carriers import Held, held_by_modules, held_in, user_frames
from .failures import named, place
from .lives import Life, Lives, Place

MOST = 100_000  # births are counted
TOLD = 6  # holders
EVERY = 8  # walks to the first look; each later one comes after twice as many


class Growth:
    """Looks at the names of a running program, now and then."""

    def __init__(self, lives: Lives) -> None:
        self.lives = lives
        self.looks: list[dict[str, Any]] = []
        self._next = EVERY

    def now_and_then(self, frame: Any) -> None:
        """After a walk: `frame` is that of whoever asked for it."""
        if self.lives.step >= self._next:
            self._next *= 2
            self.look(list(user_frames(frame, self.lives.is_foreign)))

    @unseen()
    def look(self, frames: list[Any]) -> None:
        """Note who holds how much at this time; without frames what modules hold."""

        held = self._held(frames)
        groups: dict[tuple[str, str], list[Held]] = {}
        for each in held:
            groups.setdefault((each.function, each.base), []).append(each)
        rows = [self._row(group) for group in groups.values()]
        rows = sorted((row for row in rows if row["nodes"]), key=lambda row: -row["nodes"])[:TOLD]
        self.looks.append({"step": self.lives.step, "live": self.lives.live, "holders": rows})

    @unseen()
    def unused(self, frames: list[Any]) -> dict[Place, tuple[int, int, int]]:
        """Of what is held at this time and no walk came to: graphs, nodes and bytes of each line."""
        lives = _below(birth for each in self._held(frames, True) if isinstance(birth := birth_of(each.tensor), Life))
        within = {id(below) for life in lives for below in life.below if below.site is life.site}
        found: dict[Place, tuple[int, int, int]] = {}
        for life in lives:
            if not life.walked:
                graphs, nodes, size = found.get(life.site, (0, 0, 0))
                size += sum(each for _, each, _ in life.saved)
                found[life.site] = (graphs + (id(life) not in within), nodes + 1, size)
        return found

    def _held(self, frames: list[Any], whole: bool = False) -> list[Held]:
        def has_graph(tensor: Any) -> bool:
            return isinstance(birth_of(tensor), Life)

        return held_in(frames, has_graph, whole=whole) if frames else held_by_modules(self._modules(), has_graph)

    def _row(self, group: list[Held]) -> dict[str, Any]:
        births = _below(birth for each in group if isinstance(birth := birth_of(each.tensor), Life))
        newest = max(births, key=lambda birth: birth.order, default=None)
        return {
            **named(group[0]),
            "name": group[0].base,
            "nodes": len(births),
            "bytes": sum(size for birth in births for _, size, _ in birth.saved),
            "oldest": min((birth.step for birth in births), default=0),
            "made": place(newest.site, newest.step) if newest is not None else None,
        }

    def _modules(self) -> Iterable[Any]:
        """The modules of the user's own code."""
        foreign = self.lives.foreign_folders
        for module in list(sys.modules.values()):
            file = attributes(module).get("__file__")
            if isinstance(file, str) and not file.startswith(foreign):
                yield module


def _below(births: Iterable[Life]) -> list[Life]:
    """All births that the given ones keep alive, as far as they are counted."""
    seen: dict[int, Life] = {}
    pending = list(births)
    while pending and len(seen) < MOST:
        birth = pending.pop()
        if id(birth) not in seen:
            seen[id(birth)] = birth
            pending.extend(birth.below)  # type: ignore[arg-type]
    return list(seen.values())
