"""What each instruction does to the state of a frame."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from benchmarks.spike import library
from benchmarks.spike.domain import CARRIERS, EMPTY, OLD_DATA, State, Value
from benchmarks.spike.kinds import Kind, decorators
from graphfix.effects.methods import gives_no_graph
from graphfix.ir import instructions as ir
from graphfix.ir.variables import Home

if TYPE_CHECKING:
    from benchmarks.spike.frames import Frame

MOST_CALLEES = 4  # of one call
NOT_CARRYING = frozenset(("code", "class", "library", "file", "bound"))


def parameter(frame: Frame, each: ir.Parameter) -> None:
    frame.state.env[each.variable] = frozenset((("P", each.variable),))


def read_name(frame: Frame, each: ir.ReadName) -> None:
    kinds = frame.kinds_of(each.result)
    if kinds and all(kind[0] in NOT_CARRYING for kind in kinds):
        frame.values[each.result] = EMPTY
        return
    variable = frame.variable(each.variable)
    if not kinds and variable.home is Home.GLOBAL and variable.name.strip("_") and not frame.is_bound(variable):
        frame.issue("a name that nothing binds", variable.name)
    known = frame.state.env.get(variable)
    if known is None:
        known = EMPTY if variable.owner is frame.code.node or variable.home is Home.CLASS else frozenset((("G", variable),))
    frame.values[each.result] = known


def write_name(frame: Frame, each: ir.WriteName) -> None:
    value = frame.value(each.value)
    line = getattr(each.node, "lineno", 0)
    for atom in frame.carriers(value) if value else ():
        if (
            atom[0] == "R"
            and isinstance(atom[1], int)
            and 0 <= atom[1]
            and getattr(frame.code.givers[atom[1]].node, "lineno", -1) != line
        ):
            frame.copied.add((frame.variable(each.variable), atom[1]))
    frame.state.env[frame.variable(each.variable)] = frame.value(each.value)


def delete_name(frame: Frame, each: ir.DeleteName) -> None:
    frame.state.env[frame.variable(each.variable)] = EMPTY


def read_attribute(frame: Frame, each: ir.ReadAttribute) -> None:
    kinds = frame.kinds_of(each.result)
    result: Value = EMPTY
    if kinds and all(kind[0] in NOT_CARRYING for kind in kinds):
        frame.values[each.result] = EMPTY
        return
    value = frame.value(each.object)
    for kind in frame.kinds_of(each.object):
        function = frame.kinds.find(kind[1], each.name) if kind[0] == "of" else None
        if function is not None and decorators(function) & {"property", "cached_property", "lazy_property"}:
            code = frame.kinds.codes.get(function)
            result |= frame.apply(function, dict.fromkeys(list(code.signature)[:1], value) if code is not None else {}, value)
            if "cached_property" in decorators(function) and any(a[0] == "R" for a in result):
                frame.issue("a cached result")
            frame.values[each.result] = result
            return
    explicit = any(each.name in frame.state.heap.get(atom, {}) for atom in value)
    if (
        each.name == "data"
        and not explicit
        and not any(kind[0] in ("of", "class", "file") for kind in frame.kinds_of(each.object))
    ):
        if value & {a for a in value if a[0] in CARRIERS}:
            frame.issue("optional: .data")
            result = frozenset((OLD_DATA,))
    elif each.name == "grad":
        result = EMPTY
    elif explicit or not gives_no_graph(each.name):
        result = frame.read_field(value, each.name)
        if not explicit and any(library.is_layer(kind[1]) for kind in frame.kinds_of(each.object) if kind[0] == "made"):
            result |= frozenset(("M", a) for a in value if a[0] in "OPGFX")
    frame.values[each.result] = result


def write_attribute(frame: Frame, each: ir.WriteAttribute) -> None:
    value, target = frame.value(each.value), frame.value(each.object)
    given = frame.code.givers[each.value]
    if each.name in ("data", "grad"):
        return
    if each.name == "requires_grad":
        if isinstance(given, ir.Constant) and given.value is False:
            frame.issue("freezes parameters")
        else:
            for atom in target:
                frame.write_field(frozenset((atom,)), "[]", frozenset((("M", atom),)))
            if not target:
                frame.issue("a leaf that is not followed")
        return
    if any(k[0] == "of" and frame.kinds.is_module(k[1]) for k in frame.kinds_of(each.object)):
        library.check_registered(frame, each)
    line = getattr(each.node, "lineno", 0)
    fresh = [a for a in value if a[0] == "R"]
    computed = bool(fresh) and all(
        a[3] is None and getattr(frame.code.givers[a[1]].node, "lineno", -1) == line for a in fresh if isinstance(a[1], int)
    )
    for atom in target:
        (frame.computed.add if computed else frame.computed.discard)((atom, each.name))
    frame.write_field(target, each.name, value)


def read_item(frame: Frame, each: ir.ReadItem) -> None:
    value = frame.value(each.object)
    key = frame.code.givers[each.key]
    number = key.value if isinstance(key, ir.Constant) else None
    if OLD_DATA in value and not isinstance(key, ir.Build) and not (isinstance(number, int) and number > 0):
        frame.issue("old: an item of .data")
    outer = frame.code.givers[each.object]
    if isinstance(number, int) and isinstance(outer, ir.ReadItem) and isinstance(frame.code.givers[outer.key], ir.Constant):
        if value and not any(kind[0] == "box" for kind in frame.kinds_of(each.object)):
            frame.issue("old: an item of an item")
    result: Value = EMPTY
    for atom in value:
        fields = frame.state.heap.get(atom, {})
        if isinstance(number, (int, str)) and f"[{number}]" in fields and atom[0] == "O":
            result |= fields[f"[{number}]"] | fields.get("[]", EMPTY)
        elif isinstance(number, int) and atom[0] in "PGF":
            result |= frame.read_field((atom,), f"[{number}]") | fields.get("[]", EMPTY)
        else:
            result |= frame.contents((atom,)) if not isinstance(key, ir.Build) else frame.contents((atom,)) | {atom}
            if atom[0] == "O" and not any(kind[0] in ("box", "of") for kind in frame.kinds_of(each.object)):
                result |= {atom}
    tensors = frozenset(a for a in result if a[0] in "RM" and a in value)
    if tensors:
        result = (result - tensors) | frame.record(tensors, library.VIEW)
    frame.values[each.result] = result


def write_item(frame: Frame, each: ir.WriteItem) -> None:
    value, target = frame.value(each.value), frame.value(each.object)
    tensors = frozenset(a for a in target if a[0] in CARRIERS or a[0] == "O")
    if tensors and not any(k[0] == "box" for k in frame.kinds_of(each.object)):
        frame.write(tensors)
    given = frame.carriers(value)
    for atom in target:
        if atom[0] == "R":
            frame.made_of.setdefault(atom, set()).update(a for a in given if a is not atom)
    key = frame.code.givers[each.key]
    if isinstance(key, ir.Constant) and isinstance(key.value, str) and len(target) == 1:
        for atom in target:
            if atom[0] == "O" and atom[3] is None:
                frame.state.heap.setdefault(atom, {})[f"[{key.value}]"] = value
                return
    if value or not target:
        frame.write_field(target, "[]", value)


def build(frame: Frame, each: ir.Build) -> None:
    if each.kind in (ir.Kind.SLICE, ir.Kind.TEXT):
        frame.values[each.result] = EMPTY
        return
    atom = frame.object()
    fields = frame.state.heap[atom]
    plain = len(each.items) <= 8 and not any(item.stars for item in each.items)
    for number, item in enumerate(each.items):
        name = "[]"
        if plain and each.kind in (ir.Kind.TUPLE, ir.Kind.LIST):
            name = f"[{number}]"
        elif plain and item.key is not None and isinstance(frame.code.givers[item.key], ir.Constant):
            name = f"[{frame.code.givers[item.key].value}]"  # type: ignore[attr-defined]
        value = frame.value(item.value)
        fields[name] = fields.get(name, EMPTY) | (frame.contents(value) if item.stars else value)
    frame.values[each.result] = frozenset((atom,))


def collect(frame: Frame, each: ir.Collect) -> None:
    value = frame.value(each.item.value)
    frame.write_field(frame.value(each.container), "[]", frame.contents(value) if each.item.stars else value)


def unpack(frame: Frame, each: ir.Unpack) -> None:
    frame.values[each.result] = frame.value(each.value)


def part(frame: Frame, each: ir.Part) -> None:
    giver = frame.code.givers[each.parts]
    result: Value = EMPTY
    for atom in frame.value(each.parts):
        fields = frame.state.heap.get(atom, {})
        name = f"[{each.index}]"
        if isinstance(giver, ir.Unpack) and giver.star is None and atom[0] == "O" and name in fields:
            result |= fields[name] | fields.get("[]", EMPTY)
        elif isinstance(giver, ir.Unpack) and giver.star is None and atom[0] in "PGF":
            result |= frame.read_field((atom,), name) | fields.get("[]", EMPTY)
        else:
            result |= frame.contents((atom,))
    frame.values[each.result] = result


def iterate(frame: Frame, each: ir.Iterate) -> None:
    frame.values[each.result] = frame.value(each.value)


def next_(frame: Frame, each: ir.Next) -> None:
    kinds = frame.kinds_of(each.iterator)
    made = [kind for kind in kinds if kind[0] == "made"]
    is_loader = bool(made) and all(kind[1].startswith("torch.utils.data") for kind in made)  # which yields data
    frame.values[each.result] = EMPTY if is_loader else frame.contents(frame.value(each.iterator))


def match(frame: Frame, each: ir.Match) -> None:
    frame.values[each.result] = frame.value(each.value)


def operator(frame: Frame, each: ir.Operator) -> None:
    if each.operator in ("not", "is", "is not", "in", "not in", "==", "!=", "<", ">", "<=", ">="):
        frame.values[each.result] = EMPTY
        return
    operands = frozenset(a for value in each.values for a in frame.value(value))
    if each.operator == "+" and any(kind[0] == "box" for value in each.values for kind in frame.kinds_of(value)):
        fields = {"[]": frame.contents(frozenset(a for a in operands if a[0] == "O"))}
        rest = frame.record(frozenset(a for a in operands if a[0] != "O"))
        frame.values[each.result] = frozenset((frame.object(1, **fields),)) | rest
        return
    traits = library.SAVES_INPUTS if each.operator in ("*", "/", "**", "@", "%") else library.PLAIN
    frame.values[each.result] = frame.record(operands, traits)


def in_place(frame: Frame, each: ir.InPlace) -> None:
    target, value = frame.value(each.target), frame.value(each.value)
    boxes = frozenset(a for a in target if a[0] == "O")
    if boxes:
        frame.write_field(boxes, "[]", frame.contents(value) | frozenset(a for a in value if a[0] in CARRIERS))
    tensors = frozenset(a for a in target if a[0] in "RMO")
    if tensors and not any(k[0] == "box" for k in frame.kinds_of(each.target)):
        frame.write(tensors)
    traits = library.SAVES_INPUTS if each.operator in ("*", "/", "**", "@") else library.PLAIN
    frame.values[each.result] = boxes | frame.record((target - boxes) | value, traits)


def enter(frame: Frame, each: ir.Enter) -> None:
    frame.values[each.result] = frame.value(each.manager)
    modes = {library.mode_of(kind, frame.code.givers[each.manager], frame.code) for kind in frame.kinds_of(each.manager)} or {
        None
    }
    if modes != {None}:
        frame.state.modes.setdefault(each.manager, frame.state.mode)
        frame.state.mode = 0
        for mode in modes:
            frame.state.mode |= mode if mode is not None else frame.state.modes[each.manager]


def exit_(frame: Frame, each: ir.Exit) -> None:
    frame.state.mode = frame.state.modes.pop(each.manager, frame.state.mode)
    if each.result is not None:
        frame.values[each.result] = EMPTY


def yield_(frame: Frame, each: ir.Yield) -> None:
    value = frame.value(each.value)
    if each.how is ir.Suspension.AWAIT:
        frame.values[each.result] = value
        return
    given = value if each.how is ir.Suspension.YIELD else frame.contents(value)
    key = ("yielded",)
    frame.state.env[key] = frame.state.env.get(key, EMPTY) | given
    frame.values[each.result] = EMPTY


def opaque(frame: Frame, each: ir.Opaque) -> None:
    for variable in each.writes:
        frame.state.env[frame.variable(variable)] = frozenset((("L", "not lowered"),))
    frame.issue("not lowered")


def call(frame: Frame, each: ir.Call) -> None:
    kinds = frame.kinds_of(each.function)
    if not kinds:
        frame.values[each.result] = library.unknown(frame, each)
        return
    result: Value = EMPTY
    before_it = frame.state
    joined: State | None = None
    program = [kind for kind in kinds if kind[0] in ("code", "bound", "class", "of")]
    others = [kind for kind in kinds if kind not in program]
    if any(kind[0] != "method" for kind in kinds):  # a base of a library has what a class of the program lacks
        others = [kind for kind in others if kind[0] != "method"]
    if (frame.code, each.function) in frame.kinds.unknown and program:
        others.append(("unknown",))
    if len(program) > MOST_CALLEES:
        frame.issue("too many callees")
        program = program[:1]
    chosen = [*program, *others]
    for number, kind in enumerate(chosen):
        if len(chosen) > 1:
            frame.state = before_it.copy()
        result |= called(frame, each, kind, 50 * number)
        if len(chosen) > 1:
            if joined is None:
                joined = frame.state
            else:
                joined.join(frame.state)
    frame.state = joined or frame.state
    frame.values[each.result] = result


def called(frame: Frame, each: ir.Call, kind: Kind, base: int) -> Value:
    """What a call gives if its function is of this kind."""
    what = kind[0]
    arguments = frozenset(a for argument in each.arguments for a in frame.value(argument.value))
    giver = frame.code.givers[each.function]
    receiver = frame.value(giver.object) if isinstance(giver, ir.ReadAttribute) else EMPTY
    if what == "code":
        return frame.apply(kind[1], frame.arguments(kind[1], each, None), arguments, base)
    if what == "bound":
        return frame.apply(kind[1], frame.arguments(kind[1], each, receiver), arguments, base)
    if what == "class":
        return instance(frame, each, kind[1], base, arguments)
    if what == "of":
        result: Value = EMPTY
        self_value = frame.value(each.function) or frozenset((("X", "module"),))
        methods = frame.kinds.called_as(kind[1])
        for method in methods:
            result |= frame.apply(method, frame.arguments(method, each, self_value), arguments, base)
        if frame.kinds.is_module(kind[1]):
            frame.module_sites.add(each.result)
            frame.direct_sites.add(each.result)
            for atom in [a for a in frame.traits if a[1] == each.result and a[3] is None]:
                frame.traits[atom] = frame.traits[atom].join(library.CALLED_AT_ALL)
        return result if methods else frame.record(arguments, library.CALLED, base, frozenset(("M", a) for a in self_value))
    return library.called(frame, each, kind, arguments, receiver, base)


def instance(frame: Frame, each: ir.Call, cls: ast.ClassDef, base: int, arguments: Value) -> Value:
    atom = frame.object(-100 - base)
    made = frozenset((atom,))
    method = frame.kinds.find(cls, "__init__")
    if method is not None:
        frame.apply(method, frame.arguments(method, each, made), arguments, base)
        return made
    fields = [part.target.id for part in cls.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
    names = iter(fields)
    for argument in each.arguments:
        name = argument.name or next(names, "[]")
        frame.write_field(made, name, frame.value(argument.value))
    return made


def nothing(frame: Frame, each: Any) -> None:
    if each.result is not None:
        frame.values[each.result] = EMPTY


STEPS: dict[type, Any] = {
    ir.Parameter: parameter,
    ir.ReadName: read_name,
    ir.WriteName: write_name,
    ir.DeleteName: delete_name,
    ir.ReadAttribute: read_attribute,
    ir.WriteAttribute: write_attribute,
    ir.ReadItem: read_item,
    ir.WriteItem: write_item,
    ir.Build: build,
    ir.Collect: collect,
    ir.Unpack: unpack,
    ir.Part: part,
    ir.Iterate: iterate,
    ir.Next: next_,
    ir.Match: match,
    ir.Operator: operator,
    ir.InPlace: in_place,
    ir.Enter: enter,
    ir.Exit: exit_,
    ir.Yield: yield_,
    ir.Opaque: opaque,
    ir.Call: call,
}
