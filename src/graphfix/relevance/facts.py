"""What one instruction says by itself of graphs, whatever its operands turn out to be."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping

from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.models.words import ASKS, INITIALISERS, LAUNCHERS, NETWORKS, OLD_READS, PROVES_MODULE, READS, WALKED_BY_TRAINER

# parts of torch.nn that are given tensors: https://pytorch.org/docs/stable/nn.html
NO_LAYERS = frozenset(("functional", "init", "utils"))


class Fact(enum.Enum):
    """What code may do, or be about."""

    WALK = enum.auto()  # it goes backward
    TRAIN = enum.auto()  # a trainer goes backward through what it gives
    CLEAR = enum.auto()  # it clears gradients, and so steps with those that a backward pass leaves
    READ = enum.auto()  # it reads a number out of a graph, or evaluates
    READ_AS_OF_OLD = enum.auto()  # it does so as before torch 0.4
    FIRST = enum.auto()  # it takes an item out of what has no dimension any more
    ITEM = enum.auto()  # it takes an item by its number
    MODULE = enum.auto()  # it makes a module, or treats something as one
    RECORD = enum.auto()  # it asks for gradients, or uses them

    __hash__ = object.__hash__


Facts = frozenset[Fact]
NONE: Facts = frozenset()
ANY_READ = frozenset((Fact.READ, Fact.READ_AS_OF_OLD))
# what a name says however it is reached: as a variable, an attribute, or a member of a module
NAMES: Mapping[str, Facts] = {
    **dict.fromkeys(ASKS - {"grad", "requires_grad", "backward"} - LAUNCHERS, frozenset((Fact.RECORD,))),
    **dict.fromkeys({"backward"} | LAUNCHERS, frozenset((Fact.WALK,))),
    **dict.fromkeys(WALKED_BY_TRAINER, frozenset((Fact.TRAIN,))),
    "Variable": ANY_READ | {Fact.RECORD},
    "nn": frozenset((Fact.MODULE,)),
    "Parameter": frozenset((Fact.MODULE,)),
}
# the same of an attribute that is read of what is no module of Python
ATTRIBUTES: Mapping[str, Facts] = {
    **dict.fromkeys(READS - OLD_READS, frozenset((Fact.READ,))),
    **dict.fromkeys(OLD_READS - {"Variable"}, ANY_READ),
    "grad": frozenset((Fact.RECORD,)),
}
# the same of a method that is called
METHODS: Mapping[str, Facts] = {
    **dict.fromkeys(PROVES_MODULE - {"zero_grad"}, frozenset((Fact.MODULE,))),
    "zero_grad": frozenset((Fact.CLEAR, Fact.MODULE)),
    "step": frozenset((Fact.RECORD,)),
    "grad": frozenset((Fact.WALK,)),
}


def is_layer(library: str) -> bool:
    """Whether the full name is that of a part of `torch.nn` that makes modules, or of what builds networks."""
    parts = library.split(".")
    return parts[:2] == ["torch", "nn"] and NO_LAYERS.isdisjoint(parts) or NETWORKS.fullmatch(library) is not None


def of_item(code: Code, each: ir.ReadItem) -> Facts:
    """What taking an item says by its key, and by what it is taken out of."""
    key = code.givers[each.key]
    by_number = isinstance(key, ir.Constant) and type(key.value) is int
    found = frozenset((Fact.ITEM,)) if by_number else NONE
    return found | {Fact.FIRST} if may_be_first(key) and "data" in attributes_behind(code, each.object) else found


def may_be_first(key: ir.Instruction) -> bool:
    """Whether a key may be the number 0: it is that, or computed."""
    if isinstance(key, ir.Constant):
        return key.value == 0
    is_many = isinstance(key, ir.Build) and key.kind in (ir.Kind.SLICE, ir.Kind.TUPLE)
    return not is_many and not (isinstance(key, ir.Operator) and len(key.values) == 1)


def attributes_behind(code: Code, value: ir.Value) -> Iterator[str]:
    """The methods through which a value comes, and the attribute of which they are asked, as in `loss.data.cpu()`."""
    giver = code.givers[value]
    while isinstance(giver, ir.Call) and isinstance(called := code.givers[giver.function], ir.ReadAttribute):
        yield called.name
        giver = code.givers[called.object]
    if isinstance(giver, ir.ReadAttribute):
        yield giver.name


def asks_for_gradient(code: Code, call: ir.Call) -> bool:
    """Whether a call is given `requires_grad`, and not as False."""
    return any(each.name == "requires_grad" and not is_false(code.givers[each.value]) for each in call.arguments)


def is_false(giver: ir.Instruction) -> bool:
    return isinstance(giver, ir.Constant) and giver.value is False


class Uses:
    """Where the values of a code object are used."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.of: dict[ir.Value, list[ir.Instruction]] = {}
        for each in code.instructions():
            for value in each.operands:
                self.of.setdefault(value, []).append(each)

    def is_only_written(self, value: ir.Value) -> bool:
        """Whether a value is only written through: into its content, by a method that works in place, or by an initialiser."""
        pending, seen = [value], {value}
        for each in pending:  # it grows while it is read
            for use in self.of.get(each, ()):
                further = self._written(use, each)
                if further is None:
                    return False
                pending += [result for result in further if result not in seen]
                seen.update(further)
        return bool(self.of.get(value))

    def _written(self, use: ir.Instruction, value: ir.Value) -> Iterable[ir.Value] | None:
        """The results by which it goes on; None where the use reads."""
        if isinstance(use, ir.ReadAttribute) and works_in_place(use.name):
            return ()
        if isinstance(use, (ir.WriteItem, ir.DeleteItem)) and value == use.object and value != use.key:
            return () if not isinstance(use, ir.WriteItem) or value != use.value else None
        if isinstance(use, ir.ReadItem) and value == use.object and use.result is not None:
            return (use.result,)
        if isinstance(use, ir.InPlace) and value == use.target:
            return ()
        if isinstance(use, ir.Call) and use.arguments[:1] and use.arguments[0].value == value:
            called = self.code.givers[use.function]
            name = called.name if isinstance(called, ir.ReadAttribute) else getattr(getattr(called, "variable", None), "name", "")
            return () if name in INITIALISERS else None
        return None


def works_in_place(name: str) -> bool:
    """Whether a method of this name changes its tensor: https://pytorch.org/docs/stable/tensor_attributes.html, `x.add_(1)`."""
    return len(name) > 1 and name.endswith("_") and not name.endswith("__")
