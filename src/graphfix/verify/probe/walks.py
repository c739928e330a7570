"""The walks over graphs, in order: what was alive after each, where it was born, what it freed, and its loss."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from .births import Birth, Site, Tally
from .results import Results

ROWS = 4096  # then every second row goes: a run of a week has no larger report
GRADED = 4  # walks, the first ones, behind which gradients are looked at
LINES = 12  # of births are told for each walk, the most first


class Walks:
    """A row for each walk that came to its end."""

    def __init__(self, tally: Tally, results: Results) -> None:
        self.tally, self.results = tally, results
        self.count = 0
        self.rows: list[dict[str, Any]] = []
        self.after_each: Callable[[], None] = lambda: None
        self.frees_all = False  # a retained graph counts as freed, too
        self._every = 1
        self._depth = threading.local()
        self._started = time.perf_counter()

    def watched(self, walk: Callable[..., Any], name: str, roots_name: str, places: dict[str, int]) -> Callable[..., Any]:
        """`walk`, told about; `places` are the positions of its arguments."""

        @functools.wraps(walk)
        def watched_walk(*args: Any, **kwargs: Any) -> Any:
            # a walk inside of a walk (checkpoints, hooks) is part of it
            if getattr(self._depth, "inside", False) or has_no_values():
                return walk(*args, **kwargs)
            self._depth.inside = True
            way: list[Birth] = []
            try:
                roots = args[0] if args else kwargs.get(roots_name, ())
                given = {word: args[at] if at < len(args) else kwargs.get(word) for word, at in places.items()}
                site, loss = self._before(roots, given["inputs"], way)
                result = self.perform(walk, args, kwargs, places)
                retained = given["create_graph"] if given["retain_graph"] is None else given["retain_graph"]
                self._after(name, site, loss, way, bool(retained))
            finally:
                self._depth.inside = False
                way.clear()  # also where an error keeps this frame
            self.after_each()
            return result

        return watched_walk

    def perform(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], places: dict[str, int]) -> Any:
        """The walk itself."""
        return walk(*args, **kwargs)

    def _before(self, roots: Any, inputs: Any, way: list[Birth]) -> tuple[Site, Any]:
        """Where the walk is asked for, and its loss; the births on its way go into `way`."""
        with torch._C.DisableTorchFunction():
            starts = several(roots)
            for root in starts:
                if isinstance(root, torch.Tensor):
                    self.tally.note(root)
            way += self.tally.walked(starts, None if inputs is None else several(inputs))
            return self.tally.walked_at(2), self.results.loss_of(starts)

    def _after(self, name: str, site: Site, loss: Any, way: list[Birth], retained: bool) -> None:
        tally = self.tally
        self.results.leaves(way)
        freed = 0 if retained and not self.frees_all else tally.free(way)
        way.clear()
        number, self.count = self.count, self.count + 1
        self.results.loss(number, loss)
        if number % self._every:
            return
        counts: dict[str, int] = {}
        for born in tally.sites():
            if born.alive > 0:
                counts[str(born)] = counts.get(str(born), 0) + born.alive
        alive = sorted(((count, name) for name, count in counts.items()), reverse=True)[:LINES]
        self.rows.append(
            {
                "index": number,
                "call": name,
                "file": site.file,
                "line": site.line,
                "retained": retained,
                "live": tally.live,
                "made": tally.made,
                "freed": freed,
                "born": {place: count for count, place in alive},
                "saved": tally.saved,
                "saved_bytes": tally.saved_bytes,
                "pass_bytes": tally.pass_bytes,
                "gradients": self.results.gradients() if number < GRADED else {},
                "seconds": round(time.perf_counter() - self._started, 6),
            }
        )
        tally.pass_bytes = tally.saved_bytes
        if len(self.rows) >= ROWS:
            self.rows, self._every = self.rows[::2], self._every * 2


def has_no_values() -> bool:
    """Whether tensors stand for others: under vmap, and where a compiler traces code that it is making."""
    return torch._C._are_functorch_transforms_active() or torch._guards.TracingContext.try_get() is not None


def several(value: Any) -> list[Any]:
    """A tensor, a gradient edge (a named tuple) or a sequence of them, as a list."""
    if isinstance(value, torch.Tensor) or hasattr(value, "node"):
        return [value]
    return list(value)
