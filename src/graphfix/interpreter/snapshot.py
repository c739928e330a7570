"""What a module of the project holds once it is defined, so that each run begins with it as it was.

A module is read once for many runs. Without this, what one run puts into a cache, a registry or a layer of such a module would be
there in the next, with graphs that a walk of another run has freed.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from graphfix.autograd.graph import Leaf, Node, Storage
from graphfix.interpreter.frames import Env
from graphfix.interpreter.values import (
    Class,
    ExitStack,
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
CHANGING = (Class, Env, ExitStack, Function, Instance, Leaf, Mapping, Node, Optimizer, Sequence, Storage, Tensor, TorchModule, Unknown)
# what follows from the other slots: where a class looks for a method, and behind its own code; and the name of the object itself
FOUND_OUT = ("_order", "_external", "_serial")
MOST = 20_000  # objects
OBJECTS_OF_A_STEP = 20


class Snapshot:
    """The variables of a module, and the state of all that they hold.

    `partial`: they hold too much to be kept.
    """

    def __init__(self, env: Env, nodes: Iterable[Node] = ()) -> None:
        """`nodes`: further ones that were made."""
        reached = _reached([*env.variables.values(), *nodes])
        self.partial = len(reached) >= MOST
        self.size = len(reached)
        self.holds_graphs = any(isinstance(each, Node) for each in reached)
        self._variables, self._names = env.variables, dict(env.variables)
        by_class: dict[type, list[object]] = {}
        for each in reached:
            by_class.setdefault(type(each), []).append(each)
        self._kept = [_Kept(cls, objects) for cls, objects in by_class.items()]

    def restore(self) -> None:
        """Everything as it was, in the very containers that others hold."""
        self.rebind()
        for each in self._kept:
            if not each.are_untouched():
                each.restore()

    def rebind(self) -> None:
        """The variables bound as they were, which is all where what they hold is untouched."""
        self._variables.clear()
        self._variables.update(self._names)

    def is_untouched(self) -> bool:
        """Whether no run has changed what the variables hold; what they are bound to is another question."""
        return all(each.are_untouched() for each in self._kept)


class _Kept:
    """All objects of one class with what their slots held, and what the containers in these held.

    All are compared as a whole, without a loop in Python: what they hold is equal to nothing but itself, or cannot change.
    """

    __slots__ = ("_cls", "_objects", "_values", "_containers", "_contents")

    def __init__(self, cls: type, objects: list[object]) -> None:
        self._cls, self._objects = cls, objects
        self._values = self._read()
        self._containers = [value for values in self._values for value in values if isinstance(value, (dict, list))]
        self._contents = [container.copy() for container in self._containers]

    def _read(self) -> list[tuple[Any, ...]]:
        return list(map(_reader_of(self._cls), self._objects))

    def are_untouched(self) -> bool:
        return self._read() == self._values and self._containers == self._contents

    def restore(self) -> None:
        for container, content in zip(self._containers, self._contents):
            container.clear()
            container.update(content) if isinstance(container, dict) else container.extend(content)
        names = _slots_of(self._cls)
        for each, values in zip(self._objects, self._values):
            for name, value in zip(names, values):
                setattr(each, name, value)


class Beginning:
    """A module whose definitions have run, and what the run has recorded of them: where other runs over the same file go on from.

    `asked`: the questions that they left to the run, with its answers.
    """

    def __init__(self, m: Interpreter, env: Env, asked: list[tuple[Question, bool]]) -> None:
        self.env = env
        self.asked = asked
        self._snapshot = Snapshot(env, m.recording.nodes)
        self._recorded = _copied(m.recording)
        self._defined = frozenset(self._recorded.pop("executed"))
        self._state = (m.order, m.grad_enabled, m.switched_off_at, m.has_graphs)
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
        m.recording.defined = self._defined
        m.tick(self._snapshot.size // OBJECTS_OF_A_STEP)  # that they are untouched is looked at for each run
        m.order, m.grad_enabled, m.switched_off_at, has_graphs = self._state
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


@functools.cache
def _slots_of(cls: type) -> tuple[str, ...]:
    """The slots of a class; what is found out of others is no state."""
    return tuple(name for each in cls.__mro__ for name in getattr(each, "__slots__", ()) if name not in FOUND_OUT)


@functools.cache
def _reader_of(cls: type) -> Callable[[object], tuple[Any, ...]]:
    """What reads all of them at once."""
    names = _slots_of(cls)
    read = operator.attrgetter(*names)
    return read if len(names) > 1 else lambda each: (read(each),)


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
            pending.extend(value for value in _reader_of(type(each))(each) if isinstance(value, (list, tuple, dict, *CHANGING)))
    return list(seen.values())
