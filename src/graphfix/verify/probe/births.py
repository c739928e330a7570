"""Autograd's nodes as Python sees them: a token in each node's metadata dies with the node."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from .tensors import is_tensor

KEY = "graphfix"
LEAF = type(torch.ones((), requires_grad=True).expand(1).grad_fn.next_functions[0][0])  # type: ignore[union-attr]
OURS = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


class Site:
    """A line of code that makes nodes."""

    __slots__ = ("alive", "file", "line")

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line, self.alive = file, line, 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Birth:
    """One node: it holds the births that its node's edges hold, so that a walk need not ask torch again."""

    __slots__ = ("below", "freed", "leaves", "saved", "site", "tally")

    def __init__(self, tally: Tally, site: Site) -> None:
        self.tally, self.site = tally, site
        self.below: tuple[Birth, ...] = ()
        self.leaves: tuple[Any, ...] = ()  # the nodes that accumulate into leaves
        self.freed = False
        self.saved: tuple[tuple[int, int, int], ...] = ()  # storage, bytes and version of each saved tensor
        site.alive += 1
        tally.made += 1
        tally.live += 1
        if tally.live > tally.peak:
            tally.peak = tally.live

    def __del__(self) -> None:
        self.site.alive -= 1
        self.tally.live -= 1
        if self.saved:
            self.tally.drop(self)


class Tally:
    """How many nodes and saved tensors there are, and were at most."""

    def __init__(self, read_saved: Callable[[Any], tuple[tuple[int, int, int], ...]] | None) -> None:
        self.live = self.peak = self.made = 0
        self.saved = self.saved_bytes = self.peak_bytes = 0
        self.pass_bytes = 0  # most at a time since the last walk
        self._read_saved = read_saved
        self._holders: dict[int, int] = {}  # storage -> how many saved tensors lie in it
        self._inside: dict[str, bool] = {}  # file -> whether it is torch's
        self._sites: dict[tuple[int, int], tuple[Site, CodeType]] = {}  # the code is kept: its id must stay its own
        self._by_name: dict[tuple[str, int], Site] = {}

    def sites(self) -> Iterator[Site]:
        return iter(self._by_name.values())

    def is_torch(self, frame: Any) -> bool:
        """Whether a frame runs code of torch, or of the probe."""
        name = frame.f_code.co_filename
        known = self._inside.get(name)
        if known is None:
            known = self._inside[name] = name.startswith(OURS) or name.startswith("<frozen")
        return known

    def here(self, depth: int = 1) -> Site:
        """The line of the first caller outside of torch."""
        frame: Any = sys._getframe(depth + 1)
        while self.is_torch(frame) and frame.f_back is not None:
            frame = frame.f_back
        code = frame.f_code
        found = self._sites.get((id(code), frame.f_lasti))
        if found is None:
            name = (code.co_filename, frame.f_lineno)
            site = self._by_name.setdefault(name, Site(*name))
            found = self._sites[id(code), frame.f_lasti] = (site, code)
        return found[0]

    def walked_at(self, depth: int = 1) -> Site:
        """The line that a walk is told at."""
        return self.here(depth + 1)

    def note(self, tensor: torch.Tensor) -> None:
        """Give the tensor's node, and what lies unseen below it, their births."""
        node = node_of(tensor)
        if node is None or KEY in node.metadata:
            return
        site = self.here(2)
        birth = node.metadata[KEY] = self.born(site)
        todo = [(node, birth)]
        while todo:
            node, birth = todo.pop()
            below, leaves = [], []
            for child, _ in node.next_functions:
                if type(child) is LEAF:
                    leaves.append(child)
                elif child is not None:
                    known = child.metadata.get(KEY)
                    if known is None:
                        known = child.metadata[KEY] = self.born(site)
                        todo.append((child, known))
                    below.append(known)
            birth.below = tuple(below)
            if leaves:
                birth.leaves = tuple(leaves)
            saved = () if self._read_saved is None else self._read_saved(node)
            if saved:
                self._keep(birth, saved)
            self.completed(birth, node, saved)

    def born(self, site: Site) -> Birth:
        """A new birth at `site`."""
        return Birth(self, site)

    def completed(self, birth: Birth, node: Any, saved: tuple[tuple[int, int, int], ...]) -> None:
        """A birth knows what lies below it."""

    def _keep(self, birth: Birth, saved: tuple[tuple[int, int, int], ...]) -> None:
        birth.saved = saved
        self.saved += len(saved)
        for storage, size, _ in saved:
            if size:  # what lies in a parameter costs nothing
                count = self._holders.get(storage, 0)
                self._holders[storage] = count + 1
                self.saved_bytes += 0 if count else size
        self.pass_bytes = max(self.pass_bytes, self.saved_bytes)
        self.peak_bytes = max(self.peak_bytes, self.saved_bytes)

    def drop(self, birth: Birth) -> None:
        """The saved tensors of `birth` are gone."""
        saved, birth.saved = birth.saved, ()
        self.saved -= len(saved)
        for storage, size, _ in saved:
            if size:
                count = self._holders[storage] - 1
                if count:
                    self._holders[storage] = count
                else:
                    del self._holders[storage]
                    self.saved_bytes -= size

    def walked(self, roots: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor] | None) -> list[Birth]:
        """The births that a walk from `roots` frees: all that were not freed before, or those that lead to `inputs`."""
        tops = [birth for root in roots if (birth := birth_of(root)) is not None]
        if inputs is not None:
            return _between(tops, list(inputs))
        found, seen = [], set()
        while tops:
            birth = tops.pop()
            if birth.freed or id(birth) in seen:
                continue
            seen.add(id(birth))
            found.append(birth)
            tops.extend(birth.below)
        return found

    def free(self, births: Iterable[Birth]) -> int:
        """Mark births as freed by a walk."""
        count = 0
        for birth in births:
            if not birth.freed:
                birth.freed = True
                count += 1
                if birth.saved:
                    self.drop(birth)
        return count


def node_of(tensor: torch.Tensor) -> Any:
    """The tensor's node, which torch declares with metadata that is a method; None where it has none, or cannot say."""
    try:
        return tensor.grad_fn
    except RuntimeError:  # a view whose base was written in place under other rules refuses the question
        return None


def birth_of(tensor: Any) -> Birth | None:
    """The birth of a tensor's node (or of a gradient edge's)."""
    node = node_of(tensor) if is_tensor(tensor) else getattr(tensor, "node", None)
    return None if node is None else node.metadata.get(KEY)


def _between(tops: list[Birth], inputs: list[Any]) -> list[Birth]:
    """What lies between: a walk with `inputs` runs only the nodes on a way to one of them."""
    ends = {id(birth) for value in inputs if (birth := birth_of(value)) is not None}
    leaves = {id(value) for value in inputs}
    leads: dict[int, bool] = {}
    found: list[Birth] = []
    todo = [(birth, False) for birth in tops]
    while todo:
        birth, left = todo.pop()
        if left:
            leads[id(birth)] = any(id(child) in ends or leads.get(id(child), False) for child in birth.below) or any(
                id(leaf.variable) in leaves for leaf in birth.leaves
            )
            if leads[id(birth)]:
                found.append(birth)
        elif id(birth) not in leads:
            leads[id(birth)] = False
            todo.append((birth, True))
            todo.extend((child, False) for child in birth.below)
    return found
