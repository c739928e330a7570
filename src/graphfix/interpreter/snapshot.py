"""What a module of the project holds once it is defined, so that each run begins with it as it was.

A module is read once for many runs. Without this, what one run puts into a cache, a registry or a layer of such a module would be
there in the next, with graphs that a walk of another run has freed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphfix.autograd.graph import Leaf, Node, Storage
from graphfix.interpreter.frames import Env
from graphfix.interpreter.values import (
    Class,
    Function,
    Instance,
    Mapping,
    Optimizer,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
)

CHANGING = (Class, Function, Instance, Leaf, Mapping, Node, Optimizer, Sequence, Storage, Tensor, TorchModule, Unknown)
MOST = 20_000  # objects


class Snapshot:
    """The variables of a module, and the state of all that they hold.

    `partial`: they hold too much to be kept.
    """

    def __init__(self, env: Env) -> None:
        reached = _reached(env)
        self.partial = len(reached) >= MOST
        self.holds_graphs = any(isinstance(each, Node) for each in reached)
        self._variables, self._names = env.variables, dict(env.variables)
        self._slots = [(each, list(_slots_of(each))) for each in reached]

    def restore(self) -> None:
        """Everything as it was, in the very containers that others hold."""
        self._variables.clear()
        self._variables.update(self._names)
        for each, slots in self._slots:
            for name, value, content in slots:
                if isinstance(content, dict):
                    value.clear()
                    value.update(content)
                elif isinstance(content, list):
                    value[:] = content
                setattr(each, name, value)


def _slots_of(each: object) -> Iterator[tuple[str, Any, dict[Any, Any] | list[Any] | None]]:
    """Each slot with its value, and with a copy of what that holds where it is a container."""
    for cls in type(each).__mro__:
        for name in getattr(cls, "__slots__", ()):
            value = getattr(each, name, None)
            yield name, value, dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else None


def _reached(env: Env) -> list[object]:
    """What can change, of all that the variables hold."""
    seen: dict[int, object] = {}
    pending: list[object] = list(env.variables.values())
    while pending and len(seen) < MOST:
        each = pending.pop()
        if isinstance(each, (list, tuple)):
            pending.extend(each)
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, CHANGING) and id(each) not in seen:
            seen[id(each)] = each
            pending.extend(value for _, value, _ in _slots_of(each) if isinstance(value, (list, tuple, dict, *CHANGING)))
    return list(seen.values())
