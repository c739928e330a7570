"""What kinds of values the names of a program have held: a witness for what no analysis of its text can know."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from ..births import Site, node_of
from ..looking import attributes, is_a, variables
from ..tensors import is_tensor, unseen

WALKS = 3  # of each line that walks, after which names are looked at
MOST = 2000  # names
NUMBER, DATA, SCALAR, GRAPH, OTHER = "number", "data", "scalar", "graph", "other"


class Values:
    """The kinds of values by file, function and name; `self.x` for attributes of the object whose method runs."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], set[str]] = {}
        self._seen: dict[Site, int] = {}

    def now_and_then(self, site: Site, frames: Iterable[Any]) -> None:
        """After a walk at `site`, asked for by the innermost of the user's `frames`."""
        count = self._seen[site] = self._seen.get(site, 0) + 1
        if count <= WALKS:
            for frame in frames:
                self._look(frame)

    def _look(self, frame: Any) -> None:
        code = frame.f_code
        held = variables(frame)
        if code.co_argcount:
            first = code.co_varnames[0]
            own = attributes(dict(held).get(first))
            held += [(f"{first}.{name}", value) for name, value in list(own.items())]
        with unseen():
            for name, value in held:
                key = (code.co_filename, code.co_name, name)
                if value is not None and (key in self._kinds or len(self._kinds) < MOST) and not name.startswith("__"):
                    self._kinds.setdefault(key, set()).add(kind_of(value))

    def told(self) -> list[dict[str, Any]]:
        """Those that say something: names which held a number, or a tensor, and nothing else."""
        return [
            {"file": file, "function": function, "name": name, "kind": next(iter(kinds))}
            for (file, function, name), kinds in self._kinds.items()
            if len(kinds) == 1 and OTHER not in kinds
        ]


def kind_of(value: Any) -> str:
    """A number, a tensor that needs no gradient, one with a graph and one element or more, or something else."""
    if is_tensor(value):
        if node_of(value) is None:
            return OTHER if value.requires_grad else DATA
        return SCALAR if value.numel() == 1 else GRAPH
    return NUMBER if is_a(value, numbers.Number) and type(value) is not bool else OTHER
