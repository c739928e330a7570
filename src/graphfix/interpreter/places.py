"""Where values are kept: variables, attributes and items, and the record of what is put there."""

from __future__ import annotations

import ast
import sys
from typing import TypeVar

from graphfix.autograd.graph import Leaf, Node
from graphfix.interpreter.interning import Key, kind_of, taken_from
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.memory import note_leaf_write, overwrite
from graphfix.interpreter.recording import Handed, Store, StoreKind
from graphfix.interpreter.shapes import OTHER
from graphfix.interpreter.values import (
    MAX_ITEMS,
    NONE,
    Constant,
    Counted,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Parameters,
    ParametersForm,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    all_parts,
    is_hashable,
    leaves_in,
    nodes_in,
    note_copied,
    slot_of,
)
from graphfix.interpreter.witness import witnessed

UNKNOWN = -sys.maxsize  # a bound of a slice that is no number in the text
MOST_TAKEN = 4  # steps from a parameter to its model: an item of an item of its named parameters, put into a list

Container = TypeVar("Container", Sequence, Mapping)


def assign(m: Interpreter, target: ast.expr, value: Value, source: ast.expr | None, kind: StoreKind) -> None:
    """Bind `value`, computed by the expression `source`, to an assignment target."""
    if isinstance(target, ast.Name):
        value = witnessed(m, target, value)
        env = m.frame.env_of(target.id)
        note_store(m, target, (env, target.id), value, source, kind, env.variables.get(target.id))
        env.variables[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        sources = source.elts if isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts) else None
        for index, (part, item) in enumerate(zip(target.elts, unpack(m, value, target))):
            inner = part.value if isinstance(part, ast.Starred) else part
            assign(m, inner, item, sources[index] if sources else None, kind)
    elif isinstance(target, ast.Attribute):
        set_attribute(m, target, value, source, kind)
    elif isinstance(target, ast.Subscript):
        set_item(m, target, value, source, kind)
    elif isinstance(target, ast.Starred):
        assign(m, target.value, value, source, kind)


def unpack(m: Interpreter, value: Value, target: ast.Tuple | ast.List) -> list[Value]:
    """The values that each element of an unpacking target gets."""
    count = len(target.elts)
    star = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
    if isinstance(value, Sequence) and not (value.open and len(value.items) < count):
        items = value.items
        if star is not None and len(items) >= count - 1:
            tail = count - star - 1
            middle = items[star : len(items) - tail]
            return [*items[:star], Sequence("list", list(middle)), *items[len(items) - tail :]]
        if len(items) == count:
            return list(items)
    if isinstance(value, Instance) and value.cls.fields is not None and len(value.cls.fields) == count and star is None:
        return [value.attributes.get(name, NONE) for name in value.cls.fields]
    if isinstance(value, Parameters):
        one = Parameters(value.owners, ParametersForm.ONE, some=True)
        return [NonTensor(("name", target, m.now())), one] if value.form is ParametersForm.PAIR and count == 2 else [one] * count
    if isinstance(value, Constant) and isinstance(value.value, (tuple, str)) and len(value.value) == count:
        return [Constant(item) for item in value.value]
    return [item_of(m, value, index, part) for index, part in enumerate(target.elts)]


def made_here(m: Interpreter, made: Container) -> Container:
    """The container, which is made in the iterations that run now: what it holds ends with them if it does."""
    made.context = m.context
    return made


def item_of(m: Interpreter, value: Value, key: object, site: ast.AST) -> Value:
    """`value[key]` for a constant key of something that is not a known container."""
    if isinstance(value, Tensor):
        made = Tensor(m.record(site, [value], False), is_data=value.is_data, base=value, shape=OTHER)
        made.storage = value.storage
        return made
    if isinstance(value, Sequence):
        if isinstance(key, int) and -len(value.items) <= key < len(value.items):
            return value.items[key]
        return value.items[-1] if value.items and not is_told_longer(m, value) else Unknown(("item", value.serial, key, m.now()))
    if isinstance(value, Unknown):
        if key not in value.items:
            value.items[key] = Unknown(("item", value.key, key), m.element(value, key, site), value.outside)
        return value.items[key]
    if isinstance(value, NonTensor):
        return NonTensor(("item", value.key, key))
    return Unknown(("item", site, key, m.now()), value.node)


def is_told_longer(m: Interpreter, items: Sequence) -> bool:
    """Whether the run has answered how many items there are, so that one behind the last is another: `if len(kept) == 2: kept[1]`."""
    asked = (key.parts[1:] for key in m.decisions if isinstance(key, Key) and kind_of(key) in ("==", "<"))
    lengths = (side.parts for sides in asked for side in sides if isinstance(side, Key) and kind_of(side) == "len")
    return any(parts[1:] == (items.serial, len(items.items)) for parts in lengths)


def train_parameters(m: Interpreter, holder: Value, trains: bool, site: ast.AST) -> None:
    """Parameters are told to need a gradient, or none: also those of modules that are not in sight and lie in one that is.

    Not where a generator does it behind a `yield`, ahead of those who compute with them first.
    """
    if m.is_ahead and not trains:
        return
    for leaf in leaves_in(holder):
        leaf.requires_grad = trains
        leaf.frozen_at = None if trains else site
    change = m.recording.frozen.difference_update if trains else m.recording.frozen.update
    change(part.key for part in all_parts(holder) if isinstance(part, Unknown))


def freeze(m: Interpreter, part: Unknown, site: ast.AST) -> None:
    """What is not in sight is told to need no gradient: a module, or a parameter that is one of those of a module."""
    m.recording.freezes[site] = None
    if not m.is_ahead:
        m.recording.frozen.update(taken_from(part.key, MOST_TAKEN))


def set_attribute(m: Interpreter, target: ast.Attribute, value: Value, source: ast.expr | None, kind: StoreKind) -> None:
    holder = m.evaluate(target.value)
    name = target.attr
    if name == "requires_grad":
        set_flag(m, holder, value, target)
    if name in ("grad", "_grad") and not value.is_none:
        m.recording.sets_gradients = True
    if isinstance(holder, Tensor):
        if name == "data":
            m.recording.written.append((holder, True))  # the version counter does not move
        return
    if isinstance(holder, (Parameters, TorchModule)) and name == "requires_grad":
        return
    if isinstance(holder, Parameters) and name == "data":
        note_copied(holder, value)
    attributes = holder.namespace
    if attributes is None:
        return
    if isinstance(holder, Instance) and isinstance(holder.cls.find("__setattr__"), Function) and m.held_in(value):
        m.escape(value, target, "argument")  # the class keeps it where it likes, and gives back what it likes
        attributes[name] = Unknown(("redirected", holder.key, name, m.now()))
        return
    value = witnessed(m, target, value)
    note_store(m, target, (holder, name), value, source, kind, attributes.get(name))
    attributes[name] = value
    if isinstance(value, Tensor) and value.leaf is not None and isinstance(holder, Instance) and holder.is_module():
        value.leaf.module |= value.leaf.is_parameter
    m.recording.kept.append(value)
    if isinstance(holder, Unknown):
        m.recording.handed.append(Handed(m.now(), (value,), holder))
    if isinstance(holder, TorchModule) and isinstance(value, (TorchModule, Instance)):
        holder.names[name] = value


def set_flag(m: Interpreter, holder: Value, value: Value, site: ast.AST) -> None:
    """`requires_grad` of a tensor, of parameters or a module, or of what is not in sight, becomes `value`."""
    if isinstance(holder, Tensor):
        set_requires_grad(m, holder, value, site)
    elif isinstance(holder, (Parameters, TorchModule)):
        train_parameters(m, holder, not value.is_off, site)
    elif isinstance(holder, Unknown) and value.is_off:
        freeze(m, holder, site)
    elif isinstance(holder, Unknown):
        m.recording.thaws = True


def set_requires_grad(m: Interpreter, tensor: Tensor, value: Value, site: ast.AST) -> None:
    """`t.requires_grad = flag` or `t.requires_grad_(flag)`."""
    wanted = not value.is_off
    m.recording.written.append((tensor, True))
    if wanted:
        m.recording.asks.append(m.trace())
    if tensor.leaf is not None:
        tensor.leaf.requires_grad = wanted
        tensor.leaf.frozen_at = None if wanted else site
    elif wanted and tensor.node is None:
        tensor.leaf = Leaf(ast.unparse(site)[:40], True, site)
        tensor.leaf.is_flagged = True
        tensor.leaf.severed = tensor.severed


def set_item(m: Interpreter, target: ast.Subscript, value: Value, source: ast.expr | None, kind: StoreKind) -> None:
    holder = m.evaluate(target.value)
    index = m.evaluate(target.slice)
    key = index.value if isinstance(index, Constant) and is_hashable(index.value) else None
    if isinstance(holder, Tensor):
        m.recording.written.append((holder, value.node is not None))
        if value is not holder:
            note_leaf_write(m, holder, target, target.value, value)
        if holder.leaf is None and not holder.is_data and value is not holder:
            overwrite(m, holder, target, target.value)
        if m.grad_enabled and not holder.is_data and value is not holder:
            node = m.record(target, [holder, value], False)
            if node is not None:
                note_store(m, target, (holder, "[]"), Tensor(node), source, kind, Tensor(holder.node))
                holder.node = node
    elif isinstance(holder, Mapping):
        slot = slot_of(index)
        note_store(m, target, (holder, slot), value, source, kind, holder.items.get(slot), holder)
        holder.items[slot] = value
    elif isinstance(holder, Sequence):
        set_sequence_item(m, target, holder, index, value, source, kind)
    elif isinstance(holder, Unknown):
        slot = key if isinstance(index, Constant) else ("unknown", getattr(index, "key", index.serial))
        note_store(m, target, (holder, slot), value, source, kind, holder.items.get(slot), holder)
        holder.items[slot] = value
        m.recording.handed.append(Handed(m.now(), (value,), holder))
        if isinstance(key, str) and not nodes_in(value):
            holder.node = None  # a mapping whose graph is taken out: what else it holds is not known
    elif isinstance(holder, Instance):
        method = holder.cls.find("__setitem__")
        if isinstance(method, Function):
            m.note_use(source, value)
            m.call(method, [holder, index, value], {}, target)
    elif isinstance(holder, NonTensor) and nodes_in(value) and not is_array(holder):
        m.recording.asks.append(m.trace())  # a tensor that was taken for data would go on with the graph


def set_sequence_item(
    m: Interpreter, target: ast.Subscript, holder: Sequence, index: Value, value: Value, source: ast.expr | None, kind: StoreKind
) -> None:
    """`holder[index] = value` for a list."""
    key: object = index.value if isinstance(index, Constant) and is_hashable(index.value) else None
    turn = holder.turn(index.first) if isinstance(index, NonTensor) else None
    if turn is not None:
        key = turn
    if isinstance(key, int) and not spells_number(target):
        holder.in_turn = holder.in_turn is True
    if isinstance(key, int) and -len(holder.items) <= key < len(holder.items):
        place: object = key
        if turn is not None and not holder.in_turn:  # a log of all that is put there, no state in as many places
            place, kind = m.now(), StoreKind.APPENDED
        note_store(m, target, (holder, place), value, source, kind, holder.items[key], holder)
        holder.items[key] = value
        if kind is StoreKind.APPENDED and turn and len(holder.items) > 2:
            del holder.items[2:]  # what filled the list before: later iterations put more of their own there
            holder.open = True
    elif isinstance(target.slice, ast.Slice):
        set_slice(holder, target.slice, value)
    elif holder.kind in ("list", "deque"):
        is_in_turn = isinstance(index, Counted) and holder.in_turn is True  # an item behind those that are simulated
        holder.in_turn = is_in_turn  # else which item it is is not known: the last one may be any
        place, kind = (key, kind) if is_in_turn else (m.now(), StoreKind.APPENDED)
        note_store(m, target, (holder, place), value, source, kind, None, holder)
        if len(holder.items) < MAX_ITEMS:
            holder.items.append(value)


def set_slice(holder: Sequence, part: ast.Slice, value: Value) -> None:
    """`holder[start:end:step] = value` for a list; where the end is not known, the list is taken to be as long as what is put there asks."""
    items = list(value.items) if isinstance(value, Sequence) else []
    bounds = [bound_of(each) for each in (part.lower, part.upper, part.step)]
    start, end, step = bounds
    if UNKNOWN in bounds or step is not None and step < 1 or start is not None and start < 0:
        holder.items[:], holder.open = (*holder.items, *items)[:MAX_ITEMS], True
    elif step in (None, 1) and (start or end is not None):
        holder.items[start:end] = items
    elif step in (None, 1):
        holder.items[:] = items
    else:
        places = range(start or 0, MAX_ITEMS, step)[: len(items)]
        holder.items.extend([NONE] * (places[-1] + 1 - len(holder.items)) if places else [])
        for place, item in zip(places, items, strict=False):
            holder.items[place] = item


def bound_of(bound: ast.expr | None) -> int | None:
    """A bound of a slice that is written as a number; None where there is none, UNKNOWN where it is computed."""
    if bound is None:
        return None
    negative = isinstance(bound, ast.UnaryOp) and isinstance(bound.op, ast.USub)
    number = bound.operand if isinstance(bound, ast.UnaryOp) and negative else bound
    known = isinstance(number, ast.Constant) and type(number.value) is int
    return (-number.value if negative else number.value) if known else UNKNOWN  # type: ignore[attr-defined]


def read_at(holder: Sequence, site: ast.AST) -> None:
    """An item is read there whose number is known in this run: if none was put there before, the items are state."""
    if not spells_number(site):
        holder.in_turn = holder.in_turn is not False


def spells_number(site: ast.AST) -> bool:
    """Whether an index is written as a number, and names one item each time."""
    return isinstance(site, ast.Subscript) and isinstance(site.slice, (ast.Constant, ast.UnaryOp))


def is_array(value: NonTensor) -> bool:
    """Whether the data came from numpy, which takes the number of a tensor."""
    return str(kind_of(value.key)).startswith("numpy.")


def note_store(
    m: Interpreter, target: ast.AST, place: tuple[object, object], value: Value, source: ast.expr | None, kind: StoreKind,
    old: Value | None = None, holder: Value | None = None,
) -> None:  # fmt: skip
    """Record that `value` is put into `place`, where it has a graph or takes the place of one."""
    nodes: list[Node] = []
    if value.node is not None:
        nodes = [value.node]
    elif isinstance(value, (Sequence, Mapping, Instance)):
        nodes = nodes_in(value, attributes=True, depth=3, modules=False)  # what a module keeps is where the module is
    if not nodes and (old is None or not nodes_in(old, attributes=False, depth=3)):
        return  # no graph comes and none goes
    before = tuple(nodes_in(old, attributes=False, depth=3)) if old is not None else ()
    beside = tuple(nodes_in(holder, attributes=False, depth=3)) if holder is not None and not isinstance(holder, Unknown) else ()
    store = Store(target, m.trace(), m.context, place, target, source, value, tuple(nodes), kind, before, m.now(), holder, beside)
    m.recording.stores.append(store)
    for node in nodes:
        node.stores.append(store)


def delete(m: Interpreter, target: ast.expr) -> None:
    """`del name`, `del object.name`, `del container[index]`."""
    if isinstance(target, ast.Name):
        m.frame.env_of(target.id).variables.pop(target.id, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            delete(m, part)
    elif isinstance(target, ast.Attribute):
        attributes = m.evaluate(target.value).namespace
        if attributes is not None:
            attributes.pop(target.attr, None)
    elif isinstance(target, ast.Subscript):
        holder = m.evaluate(target.value)
        index = m.evaluate(target.slice)
        if isinstance(holder, Sequence):
            if isinstance(index, Constant) and isinstance(index.value, slice):
                del holder.items[index.value]  # a window of twenty holds all that two iterations put in
            elif not isinstance(index, Constant):
                holder.items.clear()
            elif isinstance(index.value, int) and -len(holder.items) <= index.value < len(holder.items):
                del holder.items[index.value]
        elif isinstance(holder, Mapping) and isinstance(index, Constant) and is_hashable(index.value):
            holder.items.pop(index.value, None)
