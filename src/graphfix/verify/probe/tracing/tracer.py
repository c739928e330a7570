"""The instrument of `graphfix trace`: a watch that also knows lives, carriers, writes and waste."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..births import Birth, Site, birth_of
from ..looking import name_of
from ..results import Results
from ..tensors import tensors_in, unseen
from ..walks import Asked, Walks
from ..watch import Watch
from .carriers import held_in, user_frames
from .cuts import Cuts
from .failures import FROZEN, NO_GRAPH, UNUSED, explain, kind_of, named, place
from .growth import Growth
from .leaves import Leaves
from .lives import NEVER, Life, Lives, Place
from .postmortem import frames_of, is_full, looked_at, unused
from .training import Training, told_of
from .values import Values
from .writes import Writes, is_told_to_write, is_write

OPTIMIZERS = str(Path(torch.optim.__file__).parent)
GRADIENT = torch.Tensor.grad
SWITCHES = ("requires_grad_", "__set__")
RECORDING = "_set_grad_enabled"  # what no_grad and its kind call
MANY = 3  # graphs of one line
CARRIERS = 400  # crossings of a line at which names are looked for


class Tracer(Watch):
    """Gives every node its life. `limit`: walks after which the program is ended, 0 for none."""

    tally: Lives
    walks: TracedWalks

    def __init__(self, limit: int = 0) -> None:
        super().__init__(True)
        self.tally = Lives()
        self.writes = Writes(self.tally)
        self.growth = Growth(self.tally)
        self.values = Values()
        self.cuts = Cuts(self.tally)
        self.leaves = Leaves(self.tally)
        self.training = Training(self.results, self.cuts)
        self.walks = TracedWalks(self.tally, self.results, self)
        self.limit = limit
        self.failures: list[dict[str, Any]] = []
        self.compiled_calls = 0
        self.held: dict[Place, tuple[int, int, int]] = {}  # of graphs that are held in the end, and used by no walk
        self._looked: dict[Site, int] = {}

    def saw(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        super().saw(func, args, kwargs, result)
        name = name_of(func)
        writes = args and (is_write(name) or is_told_to_write(func, args, kwargs or {}))
        written = args[0] if writes else (kwargs or {}).get("out")
        targets = tensors_in(written)
        # an optimizer's step is told of as a whole
        if targets and not sys._getframe(2).f_code.co_filename.startswith(OPTIMIZERS):
            for target in targets:
                self.writes.note(target, name, self.tally.here(1))  # type: ignore[arg-type]
        made = tensors_in(result)
        if made:
            note = self.cuts.note_use if any(tensor.requires_grad for tensor in made) else self.cuts.note
            note(func, (*args, *(kwargs or {}).values()), made, self.tally.here(1))  # type: ignore[arg-type]
        if name == RECORDING and args:
            self.cuts.switched(on=bool(args[0]), place=self.tally.here(1))  # type: ignore[arg-type]
        if name in SWITCHES or kwargs:
            self.leaves.note(func, args, kwargs, result)
        if name == "__get__" and func.__self__ is GRADIENT:
            self.training.read_gradient(args[0], self.tally.here(1))  # type: ignore[arg-type]
        if self.tally.crossed:
            self._name_what_crossed(sys._getframe(2))

    def refused(self, func: Any, args: Any, error: RuntimeError) -> None:
        self.leaves.refuse(args[0] if args else None, error, user_frames(sys._getframe(2), self.tally.is_foreign))

    def compiled(self, result: Any) -> None:
        super().compiled(result)
        self.compiled_calls += 1
        if self.tally.crossed:
            self._name_what_crossed(sys._getframe(1))

    def _name_what_crossed(self, frame: Any) -> None:
        """Something new is made of what is older than the last walk: note the names of that, while they hold it."""
        crossed, self.tally.crossed = self.tally.crossed, []
        for life in crossed:
            count = self._looked.get(life.site, 0)
            if count >= CARRIERS:
                continue
            self._looked[life.site] = count + 1
            frames = list(user_frames(frame, self.tally.is_foreign))
            for below in life.below:
                if isinstance(below, Life) and below.step < life.step:
                    held = held_in(frames, lambda tensor, below=below: birth_of(tensor) is below)  # type: ignore[misc]
                    life.old.append((below, named(held[0]) if held else None))

    def gave(self, parameters: list[Any]) -> None:
        self.training.gave(parameters, self.tally.here(1))  # type: ignore[arg-type]

    def steps(self, optimizer: Any) -> None:
        self.training.stepping(optimizer)

    def stepped(self, optimizer: Any) -> None:
        site = self.tally.here(1)
        self.writes.stepped(optimizer, site)  # type: ignore[arg-type]
        self.training.stepped(optimizer, site, user_frames(sys._getframe(1), self.tally.is_foreign))

    def failed(self, error: BaseException) -> None:
        known = looked_at(error, self.tally, self.walks.count, self.leaves)
        if known is not None:
            self.failures.append(known)
        if is_full(error):
            frames = [frame for frame, _ in frames_of(error) if not self.tally.is_foreign(frame)]
            self.growth.look(frames)
            # the graph of the iteration that it came in was still to be used, where the program trains
            least = MANY if self.walks.count or self.results.are_trained else 0
            self.held = {site: row for site, row in self.growth.unused(frames).items() if row[0] >= least}

    def came_to_an_end(self, *, is_over: bool = True) -> None:
        """The program `is_over`: what its modules still hold is held for good, and what no walk came to is used by none."""
        self.growth.look([])
        if is_over:
            self.held = self.growth.unused([])

    def told(self) -> dict[str, Any]:
        """What the report says besides the numbers."""
        unwalked = self._unwalked()
        return {
            "failures": self.failures,
            "complete": not self.limit or self.walks.count < self.limit,
            "looks": self.growth.looks[-12:],
            "sites": self.walks.sites(),
            "cycle": self.walks.cycle(),
            "retained": self.walks.retained(),
            "graded": [place(site, NEVER) for site in self.walks.graded],
            "unwalked": [*unwalked[:8], *(row for row in unwalked[8:] if not row["graphs"])][:16],
            "lost": self.tally.lost,
            "held": sum(nodes for _, nodes, _ in self.held.values()),
            "compiled": self.compiled_calls,
            "values": self.values.told(),
            "training": self.training.told(),
        }

    def _unwalked(self) -> list[dict[str, Any]]:
        """The lines whose graphs no walk came to, those that are gone and those that are held, most nodes first."""
        rows = []
        for site in self.tally.sites():
            assert isinstance(site, Place)
            graphs, nodes, size = self.held.get(site, (0, 0, 0))
            if site.lost or nodes:
                counts = {"graphs": site.graphs + graphs, "nodes": site.lost + nodes, "bytes": site.lost_bytes + size}
                rows.append({**place(site, NEVER), **counts})
        # a graph is told of by the line of its top; where that of many batches is one, by the lines of its nodes
        return sorted(rows, key=lambda row: (not row["graphs"], -row["nodes"]))


class TracedWalks(Walks):
    """Walks that say which births they freed, and why one was refused."""

    tally: Lives

    def __init__(self, tally: Lives, results: Results, tracer: Tracer) -> None:
        super().__init__(tally, results)
        self.tracer = tracer
        self._sites: list[Site] = []  # of all walks, in order
        self._counts: dict[Site, int] = {}
        self._keeps: dict[int, list[Any]] = {}  # walk that retains -> its line, nodes, bytes, whether another one came
        self._refused: Site | None = None
        self._told: Exception | None = None  # the error of an inner walk, which the outer one raises, too
        self.graded: dict[Place, None] = {}  # the lines that have put gradients with a graph into `.grad`

    def perform(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], asked: Asked) -> Any:
        try:
            return walk(*args, **kwargs)
        except Exception as error:
            self._came_to(asked)
            if kind_of(error) and error is not self._told and len(self.tracer.failures) < 20:
                self._refused_by(error, asked, sys._getframe(1))
            raise

    def perform_inner(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], asked: Asked) -> Any:
        try:
            return walk(*args, **kwargs)
        except Exception as error:  # the outer walk knows nothing of what this one was asked for
            if kind_of(error) == FROZEN and len(self.tracer.failures) < 20:
                self._refused_by(error, asked, sys._getframe(1))
                self._told = error
            raise

    def _came_to(self, asked: Asked) -> None:
        """Graphs that a refused walk leads to were retained for it."""
        with unseen():
            for birth in self.tally.walked(asked.roots, None):
                assert isinstance(birth, Life)
                if birth.retained_by in self._keeps:
                    self._keeps[birth.retained_by][3] = True

    def _refused_by(self, error: Exception, asked: Asked, frame: Any) -> None:
        """Tell why autograd refused a walk that `frame` led to."""
        site = self.tally.walked_at(1)
        frames = list(user_frames(frame, self.tally.is_foreign))
        assert isinstance(site, Place)
        told = explain(error, asked.roots, site, self.count, frames, self.tracer.writes)
        freed = told.pop("freed_by", NEVER)
        if freed != NEVER:
            told["freed"] = place(self._at(freed), freed)
        if told["kind"] == NO_GRAPH:
            cut = next((found for root in asked.roots if (found := self.tracer.cuts.of(root)) is not None), None)
            told["cut"] = None if cut is None else told_of(cut)
        if told["kind"] == UNUSED:
            told.update(unused(error, asked.inputs, asked.roots, frames))
        if told["kind"] == FROZEN:
            told.update(self.tracer.leaves.frozen(asked.inputs, frames))
        self._refused = site
        self.tracer.failures.append(told)
        self.tracer.growth.look(frames)

    def _at(self, number: int) -> Place:
        site = self._sites[number] if number < len(self._sites) else self._sites[-1]
        assert isinstance(site, Place)
        return site

    def _after(self, asked: Asked, site: Site, loss: Any, way: list[Birth]) -> None:
        number = self.count
        self._sites.append(site)
        for birth in way:
            assert isinstance(birth, Life)
            if birth.retained_by in self._keeps:
                self._keeps[birth.retained_by][3] = True
            birth.walked = True
            if asked.retain:
                birth.retained_by = number
            else:
                birth.freed_by = number
        if asked.call == "backward":
            for root in asked.roots:
                self.tracer.training.walked_from(root, site)
        if asked.create and asked.call == "backward":
            self.graded[site] = None  # type: ignore[index]
        if asked.retain and not asked.create:
            size = sum(size for birth in way for _, size, _ in birth.saved)
            self._keeps[number] = [site, len(way), size, False]
        self._counts[site] = self._counts.get(site, 0) + 1
        super()._after(asked, site, loss, way)
        self.tally.step = self.count
        if self.tracer.limit and self.count >= self.tracer.limit:
            raise SystemExit(0)
        frame = sys._getframe(2)
        self.tracer.growth.now_and_then(frame)
        self.tracer.values.now_and_then(site, user_frames(frame, self.tally.is_foreign))

    def sites(self) -> list[dict[str, Any]]:
        """The lines that walk, and how often each did."""
        return [{**place(site, NEVER), "walks": count} for site, count in self._counts.items()]  # type: ignore[arg-type]

    def cycle(self) -> int:
        """How many walks an iteration has, where all have the same ones in the same order; 0 where not."""
        period = len(self._counts)
        if self._refused is not None and self._refused not in self._counts and len(self._sites) < 2 * period:
            return 0  # it may have belonged to the first iteration
        ordered = self._sites[:period]
        same = all(site is ordered[number % period] for number, site in enumerate(self._sites[:4096])) if period else False
        return period if same else 0

    def retained(self) -> list[dict[str, Any]]:
        """The lines that retain graphs which no later walk came to."""
        rows: dict[Site, list[list[Any]]] = {}
        for keep in self._keeps.values():
            rows.setdefault(keep[0], []).append(keep)
        return [
            {
                **place(site, NEVER),  # type: ignore[arg-type]
                "walks": len(keeps),
                "used": sum(keep[3] for keep in keeps),
                "last_used": keeps[-1][3],
                "nodes": max((keep[1] for keep in keeps if not keep[3]), default=0),
                "bytes": max((keep[2] for keep in keeps if not keep[3]), default=0),
            }
            for site, keeps in rows.items()
        ]
