"""What a module of the project holds once it is defined, so that each run begins with it as it was.

A module is read once for many runs. Without this, what one run puts into a cache, a registry or a layer of such a module would be
there in the next, with graphs that a walk of another run has freed.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from graphfix.interpreter.interpreter import Interpreter
    from graphfix.interpreter.recording import Recording

# where it is asked, in which iteration, the question's key, and whether "no" takes the branch
Question = tuple[Any, ...]
CHANGING = (Class, Env, Function, Instance, Leaf, Mapping, Node, Optimizer, Sequence, Storage, Tensor, TorchModule, Unknown)
# what follows from the other slots: where a class looks for a method, and behind its own code
FOUND_OUT = ("_order", "_external")
MOST = 20_000  # objects


class Snapshot:
    """The variables of a module, and the state of all that they hold.

    `partial`: they hold too much to be kept.
    """

    def __init__(self, env: Env, nodes: Iterable[Node] = ()) -> None:
        """`nodes`: further ones that were made."""
        reached = _reached([*env.variables.values(), *nodes])
        self.partial = len(reached) >= MOST
        self.holds_graphs = any(isinstance(each, Node) for each in reached)
        self._variables, self._names = env.variables, dict(env.variables)
        self._slots = [(each, list(_slots_of(each))) for each in reached]

    def restore(self) -> None:
        """Everything as it was, in the very containers that others hold."""
        self.rebind()
        for each, slots in self._slots:
            for name, value, content in slots:
                if isinstance(content, dict):
                    value.clear()
                    value.update(content)
                elif isinstance(content, list):
                    value[:] = content
                setattr(each, name, value)

    def rebind(self) -> None:
        """The variables bound as they were, which is all where what they hold is untouched."""
        self._variables.clear()
        self._variables.update(self._names)

    def is_untouched(self) -> bool:
        """Whether no run has changed what the variables hold; what they are bound to is another question."""
        return all(_is_same(slots, each) for each, slots in self._slots)


class Beginning:
    """A module whose definitions have run, and what the run has recorded of them: where other runs over the same file go on from.

    `asked`: the questions that they left to the run, with its answers.
    """

    def __init__(self, m: Interpreter, env: Env, asked: list[tuple[Question, bool]]) -> None:
        self.env = env
        self.asked = asked
        self._snapshot = Snapshot(env, m.recording.nodes)
        self._recorded = _copied(m.recording)
        self._state = (m.order, m.grad_enabled, m.has_graphs)
        self._noted = (dict(m.modes), dict(m.decisions))

    @property
    def serves(self) -> bool:
        """Whether another run may go on with the same objects: what a run has done to them is read when all runs are over."""
        return not self._snapshot.partial and self._snapshot.is_untouched()

    def is_that_of(self, m: Interpreter, policy: Callable[..., bool]) -> bool:
        """Whether a run with this policy answers alike, and has decided none of it before."""
        decided = self._noted[1]
        return decided.keys().isdisjoint(m.decisions) and all(policy(*question) is answer for question, answer in self.asked)

    def resume(self, m: Interpreter) -> Env:
        """Give a run that has done nothing the module as it was, as long as this `serves`, and what was recorded."""
        self._snapshot.rebind()
        for name, content in _copied(self._recorded).items():
            setattr(m.recording, name, content)
        m.order, m.grad_enabled, has_graphs = self._state
        m.has_graphs = m.has_graphs or has_graphs  # a module that was read later may hold some
        modes, decisions = self._noted
        m.modes, m.decisions = dict(modes), {**decisions, **m.decisions}
        return self.env


def _copied(recorded: Recording | dict[str, Any]) -> dict[str, Any]:
    """All that was recorded, in containers of their own."""
    fields = recorded if isinstance(recorded, dict) else vars(recorded)
    return {name: _copy(value) for name, value in fields.items()}


def _copy(value: object) -> object:
    """A container with its lists in containers of their own."""
    if isinstance(value, dict):
        return {key: list(each) if isinstance(each, list) else each for key, each in value.items()}
    return copy.copy(value) if isinstance(value, (list, set)) else value


def _slots_of(each: object) -> Iterator[tuple[str, Any, dict[Any, Any] | list[Any] | None]]:
    """Each slot with its value, and with a copy of what that holds where it is a container."""
    for cls in type(each).__mro__:
        for name in getattr(cls, "__slots__", ()):
            value = getattr(each, name, None)
            yield name, value, dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else None


def _is_same(slots: Iterable[tuple[str, Any, dict[Any, Any] | list[Any] | None]], each: object) -> bool:
    """Whether an object has in its slots what it had, and its containers have what they held."""
    for name, value, content in slots:
        if name in FOUND_OUT:
            continue
        if getattr(each, name, None) is not value:
            return False
        if content is not None and len(content) != len(value):
            return False
        if isinstance(content, dict) and not all(value.get(key) is old for key, old in content.items()):
            return False
        if isinstance(content, list) and not all(map(operator.is_, content, value)):
            return False
    return True


def _reached(pending: list[object]) -> list[object]:
    """What can change, of all that the `pending` objects hold."""
    seen: dict[int, object] = {}
    while pending and len(seen) < MOST:
        each = pending.pop()
        if isinstance(each, (list, tuple)):
            pending.extend(each)
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, Env) and each.parent is None:
            continue  # a module, which has a snapshot of its own
        elif isinstance(each, CHANGING) and id(each) not in seen:
            seen[id(each)] = each
            pending.extend(value for _, value, _ in _slots_of(each) if isinstance(value, (list, tuple, dict, *CHANGING)))
    return list(seen.values())
