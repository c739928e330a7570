"""The walks over graphs, in order: what was alive after each, where it was born, what it freed, and its loss."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from .births import Birth, Site, Tally
from .results import Results
from .tensors import is_tensor, unseen

ROWS = 4096  # then every second row goes: a run of a week has no larger report
GRADED = 4  # walks, the first ones, behind which gradients are looked at
LINES = 12  # of births are told for each walk, the most first


@dataclass(frozen=True)
class Asked:
    """A backward pass as the engine is asked for it. `inputs`: empty for all leaves; `call`: `backward` or `grad`."""

    roots: tuple[Any, ...]
    retain: bool
    create: bool
    inputs: tuple[Any, ...]
    call: str

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
        """Read the arguments of `run_backward`, by the order and the names that torch/csrc/autograd/python_engine.cpp gives them."""
        words = ("tensors", "grad_tensors", "keep_graph", "create_graph", "inputs", "allow_unreachable", "accumulate_grad")
        given = {**dict(zip(words, args)), **kwargs}
        accumulates = given.get("accumulate_grad", False)
        return cls(
            tuple(given["tensors"]),
            bool(given["keep_graph"]),
            bool(given["create_graph"]),
            tuple(given.get("inputs") or ()),
            "backward" if accumulates else "grad",
        )


class Walks:
    """A row for each backward pass that finished."""

    def __init__(self, tally: Tally, results: Results) -> None:
        self.tally, self.results = tally, results
        self.count = 0
        self.rows: list[dict[str, Any]] = []
        self.after_each: Callable[[], None] = lambda: None
        self.frees_all = False  # a retained graph counts as freed, too
        self._every = 1
        self._depth = threading.local()
        self._started = time.perf_counter()

    def watching(self, engine: Any) -> Any:
        """An engine that does what `engine` does, and tells of each backward pass.

        `backward` and `grad` come here with tuples, whatever iterators they were given.
        """
        run, kind = self.run, type(engine)

        class Watched(kind):  # type: ignore[misc,valid-type]
            def run_backward(self, *args: Any, **kwargs: Any) -> Any:
                return run(super().run_backward, args, kwargs)

        return Watched()

    def run(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let the engine's method `walk` run, and take note of it."""
        asked = Asked.of(args, kwargs)
        # a walk inside of a walk (checkpoints, hooks) is part of it
        if getattr(self._depth, "inside", False) or have_no_values(asked.roots):
            return self.perform_inner(walk, args, kwargs, asked)
        self._depth.inside = True
        way: list[Birth] = []
        try:
            site, loss = self._before(asked, way)
            result = self.perform(walk, args, kwargs, asked)
            self._after(asked, site, loss, way)
        finally:
            self._depth.inside = False
            way.clear()  # also where an error keeps this frame
        self.after_each()
        return result

    def perform(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], asked: Asked) -> Any:
        """The walk itself."""
        return walk(*args, **kwargs)

    def perform_inner(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], asked: Asked) -> Any:
        """A walk that is part of another one."""
        return walk(*args, **kwargs)

    def _before(self, asked: Asked, way: list[Birth]) -> tuple[Site, Any]:
        """Where the walk is asked for, and its loss; the births on its way go into `way`."""
        with unseen():
            for root in asked.roots:
                if is_tensor(root):
                    self.tally.note(root)
            way += self.tally.walked(asked.roots, asked.inputs or None)
            return self.tally.walked_at(2), self.results.loss_of(asked.roots)

    def _after(self, asked: Asked, site: Site, loss: Any, way: list[Birth]) -> None:
        tally = self.tally
        self.results.leaves(way)
        freed = 0 if asked.retain and not self.frees_all else tally.free(way)
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
                "call": asked.call,
                "file": site.file,
                "line": site.line,
                "retained": asked.retain,
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


def have_no_values(roots: Iterable[Any]) -> bool:
    """Whether tensors stand for others: under vmap, and where a compiler traces code that it is making."""
    if torch._guards.TracingContext.try_get() is not None:
        return True
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return torch._C._are_functorch_transforms_active() and any(is_tensor(root) and wrapped(root) for root in roots)
