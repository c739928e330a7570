"""Reading attributes and items of values."""

from __future__ import annotations

import ast

from graphfix.interpreter import versions
from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import another
from graphfix.interpreter.lookup import find_method
from graphfix.interpreter.memory import keep
from graphfix.interpreter.places import item_of, read_at
from graphfix.interpreter.recording import Read, ReadKind
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import OTHER, item_shape
from graphfix.interpreter.values import (
    KEPT,
    NONE,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Optimizer,
    Parameters,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    is_hashable,
    nodes_in,
    slot_of,
)

# the fields of what `max(dim=0)`, `sort` and their like return: a plain tuple has none
# https://docs.pytorch.org/docs/stable/generated/torch.max.html
FIELDS = {"values": 0, "indices": 1}
# how an index is computed that differs wherever the counter does
COMPUTED = ("Add", "Sub", "-")
MANY = 1_000_000


def get_attribute(m: Interpreter, value: Value, name: str, site: ast.AST) -> Value:
    """`value.name`."""
    if name == "grad" and m.frames:
        m.recording.gradients_in.add(m.frames[-1].env.document)
    found = find_method(value, name)
    if found is not None:
        if isinstance(found, BoundMethod) and isinstance(found.function, Function) and "property" in found.function.wrappers:
            return read_property(m, value, name, found.function, site)
        return found
    if value.may_be_tensor:
        return m.library_attribute(value, name, site)
    if isinstance(value, NonTensor):
        if value.cut is not None and name in ("data", "grad", "requires_grad", "device", "dtype", "shape", "grad_fn"):
            m.recording.misuses.append(Read(site, m.trace(), value, ReadKind.AS_TENSOR))
        return NonTensor(("attribute", value.key, name), cut=value.cut if name == "data" else None)
    if isinstance(value, Instance):
        return instance_attribute(m, value, name, site)
    if isinstance(value, TorchModule):
        return mode_read(m, value, ("training", value.serial)) if name == "training" else m.library_attribute(value, name, site)
    if isinstance(value, Parameters) and name == "data":
        return value.content(site)
    if isinstance(value, Optimizer):
        return value.attributes.setdefault(name, NonTensor((name, value.serial)))
    if isinstance(value, Class) and not value.applies(name):
        return Unknown(("attribute", value.serial, name))
    if isinstance(value, Sequence) and value.kind == "tuple" and FIELDS.get(name, len(value.items)) < len(value.items):
        return value.items[FIELDS[name]]
    return versions.part_of(value, name) or BoundMethod(value, name)


def read_property(m: Interpreter, value: Value, name: str, function: Function, site: ast.AST) -> Value:
    """What a property gives: one that is kept lies in the object from then on."""
    attributes = value.namespace if KEPT in function.wrappers else None
    if attributes is None:
        return m.call(function, [value], {}, site)
    if name not in attributes:
        attributes[name] = m.call(function, [value], {}, site)
        m.recording.memos[function].clear()  # the object alone keeps it
    return attributes[name]


def mode_read(m: Interpreter, value: Instance | TorchModule, key: object) -> Value:
    """`module.training`: known where `train()` or `eval()` was called before."""
    mode = m.mode_of(value)
    return NonTensor(key) if mode is None else Constant(mode)


def instance_attribute(m: Interpreter, value: Instance, name: str, site: ast.AST) -> Value:
    key = ("attribute", value.key, name)
    if name == "training":
        return mode_read(m, value, key)
    if name == "__class__":
        return value.cls
    if name == "__dict__":
        return Mapping(value.attributes, open_=True)
    if name == "_modules" and value.is_module():
        return m.library_attribute(value, name, site)
    if not value.is_module() and not value.cls.is_open():
        hook = value.cls.find("__getattr__")
        if isinstance(hook, Function):
            return Unknown(key)
    if name in (
        "parameters",
        "named_parameters",
        "modules",
        "children",
        "state_dict",
        "train",
        "eval",
        "zero_grad",
        "to",
        "cuda",
    ):
        return BoundMethod(value, name)
    made = Unknown(key)
    value.attributes[name] = made
    return made


def get_item(m: Interpreter, value: Value, index_node: ast.expr, site: ast.Subscript) -> Value:
    """`value[index]`."""
    index = m.evaluate(index_node)
    if isinstance(value, Tensor):
        return tensor_item(m, value, index, index_node, site)
    if isinstance(value, Sequence):
        return sequence_item(m, value, index, site)
    if isinstance(value, Mapping):
        return mapping_item(m, value, index, site)
    if isinstance(value, TorchModule) and value.children:
        if (
            isinstance(index, Constant)
            and isinstance(index.value, int)
            and -len(value.children) <= index.value < len(value.children)
        ):
            return value.children[index.value]
        if isinstance(index, Constant) and isinstance(index.value, str):
            return value.names.get(index.value, value.children[0])
        return value.children[1 if isinstance(index, NonTensor) and index.first is False and len(value.children) > 1 else 0]
    if isinstance(value, Instance):
        return instance_item(m, value, index, site)
    if isinstance(value, Constant) and isinstance(index, Constant):
        try:
            return Constant(value.value[index.value])
        except (TypeError, IndexError, KeyError):
            return NonTensor(("item", repr(value.value)[:40], repr(index.value)[:40]))
    if isinstance(value, NonTensor):
        note_legacy(m, value, index, site)
        return NonTensor(("item", value.key, index.identity), cut=value.cut)
    if isinstance(value, Unknown):
        return opaque_item(m, value, index, site)
    if isinstance(value, (Class, External)):
        return value
    if isinstance(value, Parameters):  # one of them, or some
        is_slice = isinstance(index_node, ast.Slice)
        return Parameters(value.owners, value.form if is_slice else value.item.form, True)
    return Unknown(("item", site, m.now()), value.node)


def note_legacy(m: Interpreter, value: Value, index: Value, site: ast.Subscript) -> None:
    """`[0]` on what was read out of a tensor: the spelling of torch 0.3 for a number."""
    if isinstance(index, Constant) and index.value == 0 and not isinstance(index.value, bool):
        m.recording.legacy.append(Read(site, m.trace(), value, ReadKind.INDEXED))


def tensor_item(m: Interpreter, value: Tensor, index: Value, index_node: ast.expr, site: ast.Subscript) -> Value:
    note_legacy(m, value, index, site)
    gathers = isinstance(index, (Tensor, Unknown, Sequence)) and not isinstance(index_node, ast.Slice)
    if isinstance(index, Sequence) and index.kind == "tuple":
        gathers = any(isinstance(part, Tensor) for part in index.items)
    made = Tensor(m.record(site, [value, index] if gathers else [value], gathers))
    made.is_data = value.is_data
    made.shape = item_shape(value, index)
    made.single = made.shape is not None
    if made.node is None:
        made.severed = severed(m, site, [value])
    if made.node is None and not gathers:
        made.base = value
        made.shape = made.shape if made.shape is not None else OTHER
    if gathers:
        keep(made, [part for part in (index,) if isinstance(part, Tensor)])
    elif is_basic(index):
        if value.leaf is not None:
            value.storage.leaf = value.leaf
        made.storage = value.storage
    else:
        made.storage.near = value.storage
    return made


def is_basic(index: Value) -> bool:
    """Whether an index is made of numbers and slices, so that the item is a view of the same memory.

    https://docs.pytorch.org/docs/stable/tensor_view.html
    """
    parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    return all(part.is_plain for part in parts)


def sequence_item(m: Interpreter, value: Sequence, index: Value, site: ast.AST) -> Value:
    items = value.items
    if isinstance(index, Constant) and isinstance(index.value, slice):
        return slice_of(m, value, index.value)
    if isinstance(index, NonTensor) and kind_of(index.key) == "slice":
        return Sequence(value.kind, list(items), True)
    if isinstance(index, Constant) and isinstance(index.value, int):
        read_at(value, site)
        return item_of(m, value, index.value, site)
    turn = value.turn(index.first) if isinstance(index, NonTensor) else None
    if turn is not None:
        read_at(value, site)
        return items[turn]
    if not items:
        return Unknown(("item", value.serial, index.identity, m.now()))
    loop, later = turn_of(index.identity)
    if value.in_turn is not None or not value.is_as_long(loop):
        later = 0  # of what grows the last one is that of before
    return items[-1 - later] if later < len(items) else items[-1]


def slice_of(m: Interpreter, value: Sequence, index: slice) -> Sequence:
    """Some of the items; of what a loop goes on putting there, those that it puts there later, too.

    An item that is not simulated is only known where it has no graph: each of the others has one of its own.
    """
    try:
        items = value.items[index]
        wanted = len(range(*index.indices(MANY)))  # of a list that is long enough
    except (TypeError, ValueError):
        return Sequence(value.kind, list(value.items), value.open)
    if value.goes_on and index.start is not None and index.start < 0 and index.step in (None, 1):
        items = [item for item in items if item is not value.items[0] or len(value.items) == 1]  # the end is not the beginning
    goes_on = value.goes_on and wanted > len(items)
    last = value.items[-1] if goes_on and value.items else None
    if last is not None and not nodes_in(last):
        further = (another(m, last, len(value.items) + number) for number in range(len(items), min(wanted, 2)))
        items = [*items, *filter(None, further)]
    made = Sequence(value.kind, items, value.open)
    made.goes_on = goes_on or value.open
    return made


def turn_of(index: object) -> tuple[object, int]:
    """What loop an unknown index is drawn from, and in which iteration, from 0: the next one is that of another item."""
    while isinstance(index, Key):
        kind, parts = kind_of(index), index.parts
        if kind == "item" and len(parts) == 4 and isinstance(parts[2], int):
            return (parts[1], parts[3]), parts[2]
        if kind == "counter" and len(parts) == 3 and isinstance(parts[2], int):
            return parts[1], parts[2]
        if kind in COMPUTED:
            # `n - 1 - i`: the counter, or what is computed with it
            operands = [part for part in parts[1:] if kind_of(part) in ("counter", *COMPUTED)]
            index = max(operands, key=lambda part: kind_of(part) == "counter", default=None)
        elif kind == "item" and len(parts) > 2:
            index = parts[1]
        else:
            break
    return None, 0


def mapping_item(m: Interpreter, value: Mapping, index: Value, site: ast.AST) -> Value:
    slot = slot_of(index)
    if slot not in value.items:
        slot = value.meant.get(slot, slot)
    if slot in value.items:
        return value.items[slot]
    if value.default is not None:
        made = m.call(value.default, [], {}, site)
    elif isinstance(slot, tuple) and value.items:
        return list(value.items.values())[-1]
    elif (other := unnamed(value)) is not None:
        value.meant[slot] = other
        return value.items[other]
    else:
        made = Unknown(("item", value.serial, slot))
    value.items[slot] = made
    return made


def unnamed(value: Mapping) -> object:
    """A key that is not known, of those whose value no known key has: keys that differ mean different ones. None where there is none."""
    named = {id(item) for key, item in value.items.items() if not isinstance(key, tuple)}
    meant = set(value.meant.values())
    return next((k for k, item in value.items.items() if isinstance(k, tuple) and k not in meant and id(item) not in named), None)


def instance_item(m: Interpreter, value: Instance, index: Value, site: ast.AST) -> Value:
    method = value.cls.find("__getitem__")
    if isinstance(method, Function):
        return m.call(method, [value, index], {}, site)
    if value.cls.fields and isinstance(index, Constant) and isinstance(index.value, int) and index.value < len(value.cls.fields):
        return value.attributes.get(value.cls.fields[index.value], NONE)
    return Unknown(("item", value.key, index.identity))


def opaque_item(m: Interpreter, value: Unknown, index: Value, site: ast.Subscript) -> Value:
    slot: object = index.value if isinstance(index, Constant) and is_hashable(index.value) else ("unknown", index.identity)
    note_legacy(m, value, index, site)
    if slot not in value.items:
        of_any = isinstance(index, Constant) and isinstance(index.value, (int, str))  # with other indices it is a tensor
        node = m.element(value, slot, site) if of_any else value.node
        value.items[slot] = Unknown(("item", value.key, slot), node, value.outside)
    return value.items[slot]
