"""What calls of libraries do to atoms, by the rows and the recorded table of `graphfix.effects`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.spike.domain import CARRIERS, EITHER, EMPTY, OFF, OLD_DATA, ON, Value
from benchmarks.spike.kinds import CONTAINERS, HANDING_ON, WRAPPERS, Kind, decorators
from graphfix.effects.methods import gives_no_graph, rows_of_method
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Puts, Returns, Row
from graphfix.effects.table import OpFacts, facts
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code

if TYPE_CHECKING:
    from benchmarks.spike.frames import Frame

MODES = {"no_grad": OFF, "inference_mode": OFF, "enable_grad": ON}
HOLDING = (Returns.CONTENTS, Returns.VALUES, Returns.PAIRS, Returns.MAPPING)
LEAVES = ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.UninitializedParameter")
PARAMETERS = frozenset(("parameters", "named_parameters", "trainable_parameters"))
KEEPS_D = frozenset("cpu numpy view squeeze unsqueeze detach float double mean sum cuda to clone item".split())
TRAINS_THREADS = frozenset(("Thread", "ThreadPool", "ThreadPoolExecutor"))


@dataclass(frozen=True, slots=True)
class Traits:
    """What a recording saved; whether a module was `called` for it."""

    saves_inputs: bool = False
    saves_output: bool = False
    called: bool = False
    view: bool = False  # it lies in the memory of what it is made of
    unknown: bool = False  # code that is not in sight gave it
    again: bool = False  # it is a gradient, recorded by `create_graph`

    def join(self, other: Traits) -> Traits:
        return Traits(
            self.saves_inputs or other.saves_inputs,
            self.saves_output or other.saves_output,
            self.called or other.called,
            self.view or other.view,
            self.unknown and other.unknown,
            self.again or other.again,
        )


PLAIN = Traits()
SAVES_INPUTS = Traits(saves_inputs=True)
CALLED = Traits(saves_inputs=True, called=True)
GRADIENT = Traits(saves_inputs=True, again=True)
CALLED_AT_ALL = Traits(called=True)
UNKNOWN = Traits(saves_inputs=True, saves_output=True, unknown=True)
ANYTHING = Traits(saves_inputs=True, saves_output=True)
VIEW = Traits(view=True)


def traits_of(known: OpFacts | None, *, called: bool = False) -> Traits:
    if known is None:
        return Traits(True, True, called, unknown=not called)
    return Traits(
        known.ever("saves_inputs"), known.ever("saves_output"), called, any(v.alias for v in (known, *known.variants.values()))
    )


def mode_of(kind: Kind, giver: ir.Instruction, code: Code) -> int | None:
    """The mode that a context manager sets; None: it sets none."""
    if kind[0] != "made":
        return None
    word = kind[1].rpartition(".")[2]
    if word == "set_grad_enabled":
        return flag(giver, code)
    return MODES.get(word) if kind[1].startswith("torch") or word == "no_grad" else None


def flag(giver: ir.Instruction, code: Code) -> int:
    if isinstance(giver, ir.Call) and giver.arguments:
        given = code.givers[giver.arguments[0].value]
        if isinstance(given, ir.Constant):
            return ON if given.value else OFF
    return EITHER


def keyword(frame: Frame, each: ir.Call, *names: str) -> ir.Instruction | None:
    """What a call is given under one of these names, unless that is off."""
    for argument in each.arguments:
        if argument.name in names:
            given = frame.code.givers[argument.value]
            if not (isinstance(given, ir.Constant) and given.value in (False, None)):
                return given
    return None


def check_registered(frame: Frame, each: ir.WriteAttribute) -> None:
    """Layers in a plain list on a module."""
    for kind in frame.kinds_of(each.value):
        if kind[0] == "box" and not kind[2]:
            for held in frame.kinds.sets.get(("content", kind[1]), ()):
                if held[0] == "made" and is_layer(held[1]) or held[0] == "of" and frame.kinds.is_module(held[1]):
                    frame.issue("layers in a plain list")


def is_layer(name: str) -> bool:
    known = facts(name)
    return known is not None and known.kind == "layer" and known.parameters or name in CONTAINERS


def is_module(name: str) -> bool:
    """Whether what a library gives under this name may be a network."""
    known = facts(name)
    return (
        known is not None
        and known.kind == "layer"
        or name.startswith(("torchvision.models", "timm.", "transformers."))
        or name in CONTAINERS
        or name in WRAPPERS
    )


def common(frame: Frame, each: ir.Call, arguments: Value) -> None:
    """What is asked of any call that goes to a library: old spellings, and constants that hide a fault."""
    if keyword(frame, each, "retain_graph") is not None:
        frame.issue("retain_graph")
    if keyword(frame, each, "create_graph") is not None and frame.kinds_of(each.function) != [("library", "torch.autograd.grad")]:
        frame.issue("create_graph")
    if keyword(frame, each, "volatile", "retain_variables") is not None:
        frame.issue("old: volatile or retain_variables")
    given = keyword(frame, each, "reduction", "reduce", "size_average")
    if (
        isinstance(given, ir.Constant)
        and given.value == "none"
        or any(
            a.name == "reduce" and isinstance(frame.code.givers[a.value], ir.Constant) and not frame.code.givers[a.value].value
            for a in each.arguments  # type: ignore[attr-defined]
        )
    ):
        frame.issue("a loss that is not reduced")


def called(frame: Frame, each: ir.Call, kind: Kind, arguments: Value, receiver: Value, base: int) -> Value:
    """What a call gives if its function is of this kind: of a library, or found by reflection."""
    common(frame, each, arguments)
    what = kind[0]
    if what == "library":
        return function(frame, each, kind[1], arguments, base)
    if what == "made":
        return made(frame, each, kind, arguments, base)
    if what == "box":
        return container(frame, each, kind, arguments, base)
    if what == "method":
        return method(frame, each, kind[2], arguments, receiver, kind[1])
    if what == "lost":
        frame.issue("found by reflection", kind[1])
        return frozenset((("L", kind[1]),))
    return unknown(frame, each)


def unknown(frame: Frame, each: ir.Call) -> Value:
    """A call of which nothing is known but the name."""
    arguments = frozenset(a for argument in each.arguments for a in frame.value(argument.value))
    common(frame, each, arguments)
    giver = frame.code.givers[each.function]
    if isinstance(giver, ir.ReadAttribute):
        return method(frame, each, giver.name, arguments, frame.value(giver.object), None)
    called_value = frame.value(each.function)
    name = giver.variable.name if isinstance(giver, ir.ReadName) else ""
    return module_call(frame, called_value, name, arguments, 0)


def module_call(frame: Frame, value: Value, name: str, arguments: Value, base: int, *, surely: bool = False) -> Value:
    """Something is called that may be a module."""
    atoms = frozenset(a for a in value if a[0] in "OPGFXLRM") or frozenset((("X", name),))
    if any(a[0] == "L" for a in value):
        frame.issue("calls what is not followed", name)
    frame.direct_sites.add(each_result(frame))
    sure = surely or name in frame.analysis.proved
    leaves = frozenset(("M", a) if sure else ("m", a, name) for a in atoms)
    return frame.record(arguments, CALLED, base, leaves)


def each_result(frame: Frame) -> int | None:
    return frame.at.result


def call_back(frame: Frame, each: ir.Call, arguments: Value, base: int) -> Value:
    """A library calls the functions that it is given."""
    result: Value = EMPTY
    for number, argument in enumerate(each.arguments):
        for kind in frame.kinds_of(argument.value):
            if kind[0] in ("code", "bound") and kind[1] in frame.kinds.codes:
                code = frame.kinds.codes[kind[1]]
                parameters = list(code.signature)
                binding: dict[Any, Value] = dict.fromkeys(parameters, frame.contents(arguments))
                giver = frame.code.givers[argument.value]
                if kind[0] == "bound" and parameters and isinstance(giver, ir.ReadAttribute):
                    binding[parameters[0]] = frame.value(giver.object)
                result |= frame.apply(kind[1], binding, arguments, base + 10 * (number + 1))
    return result


def function(frame: Frame, each: ir.Call, name: str, arguments: Value, base: int) -> Value:
    """A function or class of a library is called, by its full name."""
    word = name.rpartition(".")[2]
    known, row = facts(name), row_of(name)
    values = [frame.value(argument.value) for argument in each.arguments]
    if name == "super":
        first = next(iter(frame.code.signature), None)
        return frame.state.env.get(first, EMPTY) if first is not None else EMPTY
    if word in TRAINS_THREADS:
        frame.issue("threads")
    if name in LEAVES:
        return frozenset((("M", frame.object(base)),))
    if word == "Variable":
        frame.issue("optional: Variable")
        return leaf(frame, each, values[0] if values else EMPTY, base)
    if name == "torch.autograd.grad":
        return asked(frame, each, values)
    if name in ("torch.autograd.backward", "torch.autograd.graph.backward") or row is not None and row.backward:
        frame.walk(frame.contents(values[0]) | values[0] if values else EMPTY)
        return EMPTY
    if word == "set_grad_enabled":
        frame.state.modes[each.result] = frame.state.mode  # type: ignore[index]
        frame.state.mode = flag(each, frame.code)
        return EMPTY
    if name in ("float", "int", "complex") or name.startswith("math."):
        if any(a[0] in "RM" for a in arguments):
            frame.issue("optional: a number out of a graph")
        return EMPTY if name != "math.prod" else frame.record(arguments, UNKNOWN, base)
    if name in ("copy.deepcopy", "copy.copy"):
        reach = reachable(frame, arguments)
        if any(a[0] == "R" and frame.is_sure(a) for a in reach) and word == "deepcopy":
            frame.issue("a copy of what may have a graph")
        return copied(frame, arguments, base) if word == "deepcopy" else arguments
    if name == "torch.optim" or name.startswith("torch.optim.") and "lr_scheduler" not in name and "swa" not in name:
        reach = frame.carriers(arguments)
        if any(a[0] == "R" and frame.is_sure(a) for a in reach):
            frame.issue("an optimizer gets what is no leaf")
        return frozenset((frame.object(base, params=frozenset(a for a in reach if a[0] in "MmXPGFL")),))
    if name in CONTAINERS:
        items = frozenset(
            a
            for argument in each.arguments
            for a in (frame.contents(frame.value(argument.value)) if argument.stars else frame.value(argument.value))
        )
        check_sequence(frame, each, name)
        return frozenset((frame.object(base, **{"[]": items | frame.contents(items)}),))
    if known is not None and known.kind in ("layer", "distribution"):
        if known.kind == "distribution":
            return frozenset((frame.object(base, **{"*": frame.record(arguments, UNKNOWN, base)}),))
        return frozenset((frame.object(base),))
    if word in ("getattr",) and values:
        given = frame.code.givers[each.arguments[1].value] if len(each.arguments) > 1 else None
        if isinstance(given, ir.Constant) and isinstance(given.value, str):
            return EMPTY if gives_no_graph(given.value) else frame.read_field(values[0], given.value)
        leaves = (
            frozenset(("M", a) for a in values[0] if a[0] in "OPGFX")
            if any(is_layer(k[1]) for k in frame.kinds_of(each.arguments[0].value) if k[0] == "made")
            else EMPTY
        )
        return frame.contents(values[0]) | frozenset(a for a in values[0] if a[0] in CARRIERS) | leaves
    if word == "setattr" and len(values) == 3:
        given = frame.code.givers[each.arguments[1].value]
        frame.write_field(values[0], given.value if isinstance(given, ir.Constant) else "[]", values[2])
        return EMPTY
    if name == "vars" and values:
        held = frozenset(a for atom in values[0] for held in frame.state.heap.get(atom, {}).values() for a in held)
        return frozenset((frame.object(base, **{"[]": held}),)) | frozenset(a for a in values[0] if a[0] in "PGF")
    if name.startswith("itertools."):
        return frozenset((frame.object(base, **{"[]": frame.contents(arguments)}),))
    if word == "next" and "." not in name:
        return frame.contents(values[0]) if values else EMPTY
    if row is not None and row.calls or row is None and known is None:
        arguments |= call_back(frame, each, arguments, base)
    if row is not None:
        return by_row(frame, each, row, arguments, values, base)
    if known is not None:
        return by_facts(frame, each, known, arguments, values, base)
    if word[:1].isupper() or is_module(name):
        return frozenset((frame.object(base, **{"*": frozenset(a for a in frame.carriers(arguments))}),))
    return frame.record(arguments, UNKNOWN, base, frozenset((("m", ("X", word), word),)))


def copied(frame: Frame, value: Value, base: int) -> Value:
    """A deep copy: of each object that it leads to, as far as these were made in this frame."""
    objects = sorted((a for a in reachable(frame, value) if a[0] == "O"), key=str)
    numbers = {atom: min(base + 1 + number, base + 40) for number, atom in enumerate(objects)}

    def new(atom: Any) -> Any:
        return ("O", frame.at.result, numbers[atom], None) if atom in numbers else atom

    fields = {atom: dict(frame.state.heap.get(atom, {})) for atom in objects}
    for atom in objects:
        made = frame.object(numbers[atom])
        frame.state.heap[made] = {name: frozenset(map(new, held)) for name, held in fields[atom].items()}
    outside = frozenset(a for a in value if a[0] != "O")
    rest = frozenset((frame.object(base, **{"*": outside}),)) if outside else EMPTY
    return frozenset(new(a) for a in value if a[0] == "O") | rest


def leaf(frame: Frame, each: ir.Call, value: Value, base: int) -> Value:
    """A new tensor: with `requires_grad`, one that is trained."""
    if keyword(frame, each, "requires_grad") is not None:
        return frozenset((("M", frame.object(base)),))
    return frozenset((frame.object(base),))


def asked(frame: Frame, each: ir.Call, values: list[Value]) -> Value:
    """`torch.autograd.grad(outputs, inputs)`."""
    named = {argument.name: frame.value(argument.value) for argument in each.arguments if argument.name}
    outputs = named.get("outputs", values[0] if values else EMPTY)
    inputs = named.get("inputs", values[1] if len(values) > 1 else EMPTY)
    roots = frame.carriers(outputs)
    wanted = frame.carriers(inputs)
    if not wanted or not wanted <= frame.history(roots):
        frame.issue("a gradient for what may be no part")
    recorded = keyword(frame, each, "create_graph") is not None
    frame.walk(outputs, retains=recorded)
    if not recorded:
        return EMPTY
    made_again = frame.record(outputs, GRADIENT, 0)
    # until it is walked itself, nobody knows that it had to be recorded
    return frozenset((frame.object(1, **{"[]": made_again}),)) | made_again


def check_sequence(frame: Frame, each: ir.Call, name: str) -> None:
    """A layer that works in place right behind one that saves what it gives."""
    if name != "torch.nn.Sequential":
        return
    saves = False
    for argument in each.arguments:
        kinds = frame.kinds_of(argument.value)
        if argument.stars or any(kind[0] == "box" for kind in kinds):
            kinds = [
                held for kind in kinds if kind[0] == "box" for held in frame.kinds.sets.get(("content", kind[1]), ())
            ] or kinds
        layers = [kind for kind in kinds if kind[0] == "made"]
        if saves and any(kind[2] for kind in layers):
            frame.issue("written in place before a backward", "in a container")
        saves = any(saves_output(kind[1]) and not kind[2] for kind in layers) or bool(kinds) and not layers and not argument.stars


def saves_output(name: str) -> bool:
    known = facts(name)
    return known is None and is_module(name) or known is not None and known.saves_output and name not in CONTAINERS


def reachable(frame: Frame, value: Value) -> set[Any]:
    """All that an object leads to, its fields included."""
    found: set[Any] = set()
    pending = list(value)
    while pending:
        atom = pending.pop()
        if atom not in found:
            found.add(atom)
            for inner in frame.state.heap.get(atom, {}).values():
                pending.extend(inner)
    return found


def by_row(frame: Frame, each: ir.Call, row: Row, arguments: Value, values: list[Value], base: int) -> Value:
    """What a row says of a function."""
    returns = row.returns
    if returns in (Returns.NUMBER, Returns.CUT, Returns.TEXT):
        return EMPTY
    if returns is Returns.OBJECT:
        return frozenset((frame.object(base, **{"*": frozenset(frame.carriers(arguments))}),))
    if returns in (Returns.ELEMENT, Returns.ITSELF):
        return arguments | frame.contents(arguments)
    if returns is Returns.COPY:
        return (
            arguments
            if row.name in WRAPPERS
            else frozenset((frame.object(base, **{"[]": frame.contents(arguments)}),))
            | frozenset(a for a in arguments if a[0] in CARRIERS)
        )
    if returns in HOLDING or returns is Returns.RESULTS:
        if returns is Returns.PAIRS:
            pair = frame.object(base + 1)
            for number, value in enumerate(values):
                at = number + 1 if row.name == "enumerate" else number
                frame.state.heap[pair][f"[{at}]"] = frame.contents(value)
            return frozenset((frame.object(base, **{"[]": frozenset((pair,))}),))
        held = frame.contents(frozenset(a for a in arguments)) | (
            frozenset(a for a in arguments if a[0] in "RM") if returns is Returns.RESULTS else EMPTY
        )
        return frozenset((frame.object(base, **{"[]": held}),))
    return frame.record(arguments, UNKNOWN if row.name != "sum" else PLAIN, base)


def by_facts(frame: Frame, each: ir.Call, known: OpFacts, arguments: Value, values: list[Value], base: int) -> Value:
    """What was recorded of a function of torch."""
    if known.inplace or known.mutates:
        frame.write(values[0] if values else EMPTY)
        return values[0] if values and known.inplace else EMPTY
    if keyword(frame, each, "out") is not None:
        frame.write(frame.value(next(a.value for a in each.arguments if a.name == "out")))
    if known.factory:
        return leaf(frame, each, EMPTY, base)
    if known.cuts or known.result in ("number", "bool", "none"):
        return EMPTY
    inplace = keyword(frame, each, "inplace")
    if inplace is not None and values:
        frame.write(values[0])
    return frame.record(arguments, traits_of(known), base)


def made(frame: Frame, each: ir.Call, kind: Kind, arguments: Value, base: int) -> Value:
    """An object of a library is called: a layer, mostly."""
    name = kind[1]
    functions = [k for argument in each.arguments for k in frame.kinds_of(argument.value) if k[0] in ("code", "bound", "class")]
    if functions:  # a decorator, as far as is known
        return arguments
    known = facts(name)
    value = frame.value(each.function)
    if known is not None and known.kind == "layer":
        if kind[2]:
            frame.write(frozenset(a for a in arguments if a[0] in CARRIERS))
        if known.parameters:
            return module_call(frame, value, "", arguments, base, surely=True)
        return frame.record(arguments, traits_of(known), base)
    if is_module(name):
        return module_call(frame, value, "", arguments, base, surely=True)
    row = row_of(name)
    if row is not None and row.returns is Returns.OBJECT and not row.computes:
        return frame.record(arguments, UNKNOWN, base)
    giver = frame.code.givers[each.function]
    return module_call(
        frame,
        value,
        giver.name if isinstance(giver, ir.ReadAttribute) else getattr(getattr(giver, "variable", None), "name", ""),
        arguments,
        base,
    )


def container(frame: Frame, each: ir.Call, kind: Kind, arguments: Value, base: int) -> Value:
    """`nn.Sequential(...)` is called: each of its modules on what the one before gives."""
    value = frame.value(each.function)
    leaves = frozenset(("M", a) for a in value if a[0] in "OPGFX") or frozenset((("M", ("X", "module")),))
    given = arguments
    number = base + 20
    for held in nested(frame, kind):
        if held[0] == "of":
            for each_method in frame.kinds.called_as(held[1]):
                if each_method not in frame.kinds.codes:
                    frame.issue("calls what is not followed", held[1].name)
                    continue
                parameters = list(frame.kinds.codes[each_method].signature)
                binding: dict[Any, Value] = dict.fromkeys(parameters, given)
                if parameters:
                    inside = frame.contents(value)
                    binding[parameters[0]] = inside | frame.contents(inside) or value
                given |= frame.apply(each_method, binding, given, number)
                number += 20
    return frame.record(given, CALLED, base, leaves)


def nested(frame: Frame, kind: Kind) -> list[Kind]:
    """The kinds of what a container holds, containers in it included."""
    found: dict[Kind, None] = {}
    pending = [kind]
    while pending:
        for held in frame.kinds.sets.get(("content", pending.pop()[1]), ()):
            if held not in found:
                found[held] = None
                pending += [held] if held[0] == "box" else []
    return list(found)


def method(frame: Frame, each: ir.Call, name: str, arguments: Value, receiver: Value, owner: Any) -> Value:
    """A method is called that is not of the program."""
    values = [frame.value(argument.value) for argument in each.arguments]
    giver = frame.code.givers[each.function]
    kinds = frame.kinds_of(giver.object) if isinstance(giver, ir.ReadAttribute) else []
    library_name = owner if isinstance(owner, str) else ""
    taint = frozenset((OLD_DATA,)) if OLD_DATA in receiver and name in KEEPS_D else EMPTY
    rows = rows_of_method(name)
    if (
        name in ("manual_backward", "toggled_backward", "optimizer_backward")
        or library_name
        and any(r.backward for r in rows if r.of_class == library_name)
    ):
        frame.walk(values[0] if values else EMPTY)
        return EMPTY
    if name == "backward":
        if any(argument.name in (None, "gradient") for argument in each.arguments):
            frame.issue("old: a gradient for backward")
        if values and not any(a[0] in CARRIERS for a in receiver) and frame.carriers(arguments):
            frame.walk(arguments)  # of an accelerator, or the like
        else:
            frame.walk(receiver)
        return EMPTY
    if name == "step":
        if library_name and not library_name.startswith("torch.optim") or "lr_scheduler" in library_name:
            if not any(k[0] == "made" and "GradScaler" in k[1] for k in kinds):
                return EMPTY if rows else frame.record(arguments, UNKNOWN)
        if any(k[0] in ("code", "bound") for argument in each.arguments for k in frame.kinds_of(argument.value)):
            call_back(frame, each, arguments, 0)
            frame.issue("a closure for an optimizer")
        stepped = (
            frame.read_field(arguments if "GradScaler" in library_name else receiver, "params")
            if receiver or arguments
            else EMPTY
        )
        frame.step(frozenset(a for a in stepped if a[0] in "MmXPGF"))
        return frozenset((("X", "step"),)) if arguments and not library_name else EMPTY
    known_owner = facts(library_name) if library_name else None
    if known_owner is not None and known_owner.kind == "distribution":
        return EMPTY if name == "sample" else frame.record(receiver | arguments, ANYTHING)
    if name in PARAMETERS or name in ("children", "modules") and not owner:
        return frozenset(("M", a) for a in receiver if a[0] in "OPGFX") or frozenset((("M", ("X", name)),))
    if name == "requires_grad_":
        given = frame.code.givers[each.arguments[0].value] if each.arguments else None
        if isinstance(given, ir.Constant) and given.value is False:
            frame.issue("freezes parameters")
            return receiver
        for atom in receiver:
            if atom[0] in "OPGF":
                frame.write_field(frozenset((atom,)), "[]", frozenset((("M", atom),)))
        if not receiver:
            frame.issue("a leaf that is not followed")
        return receiver
    if name in ("buffers", "named_buffers"):
        frame.issue("buffers")
    if name == "register_buffer" and len(values) > 1:
        given = frame.code.givers[each.arguments[0].value]
        if isinstance(given, ir.Constant):
            frame.write_field(receiver, str(given.value), values[1] or frozenset((frame.object(0),)))
        return EMPTY
    if name == "register_parameter" or name == "register_hook" or name.startswith("register_forward"):
        frame.issue("hooks and parameters by name") if name != "register_parameter" else None
        return EMPTY
    if name == "apply" and library_name.startswith("torch.autograd"):
        return frame.record(arguments, UNKNOWN)
    if name in HANDING_ON and (any(k[0] in ("of", "box") for k in kinds) or not arguments or name in ("to", "type", "cuda")):
        return receiver | taint
    in_place = name.endswith("_") and not name.endswith("__")
    if not in_place and any(row.puts is not Puts.NOTHING for row in rows) or name in ("push", "put", "put_nowait"):
        return putting(frame, name, values, arguments, receiver, rows)
    if isinstance(owner, tuple) and name in ("pop", "get", "popleft"):
        return frame.contents(receiver) | (values[1] if len(values) > 1 else EMPTY)
    if name in ("items", "values", "keys", "copy") and not any(a[0] == "R" for a in receiver):
        held = frame.contents(receiver)
        if name == "items":
            held = frozenset((frame.object(1, **{"[1]": held}),))
        return frozenset((frame.object(0, **{"[]": held if name != "keys" else EMPTY}),))
    if in_place:
        frame.write(frozenset(a for a in receiver if a[0] in CARRIERS or a[0] == "O"))
        given_graph = frozenset(frame.carriers(arguments))
        for atom in receiver:
            if atom[0] == "R":
                frame.made_of.setdefault(atom, set()).update(a for a in given_graph if a is not atom)
        if given_graph:
            frame.write_field(frozenset(a for a in receiver if a[0] in "OPGF"), "[]", given_graph)
        return receiver
    if name == "detach" and (not frame.analysis.evaluates or any(loop in frame.walking_loops for loop in frame.block.loops)):
        cut_at_once(frame, each, receiver)
    if gives_no_graph(name):
        return taint
    known = facts(f"torch.Tensor.{name}")
    result = frame.record(receiver | arguments | call_back(frame, each, arguments, 0), traits_of(known))
    if not result and not rows and known is None and not receiver:
        return frame.record(EMPTY, UNKNOWN, 1, frozenset((("m", ("X", name), name),)))
    return result | taint if any(a[0] in CARRIERS for a in result) or taint else result


def cut_at_once(frame: Frame, each: ir.Call, receiver: Value) -> None:
    """`net(x).detach()`: who detaches what a module gives in the same statement has decided so."""
    line = getattr(each.node, "lineno", 0)
    if any(isinstance(e, ir.ReadAttribute) and e.name == "numpy" and getattr(e.node, "lineno", 0) == line for e in frame.code.instructions()):
        return  # numpy takes no graphs: there was no choice
    for atom in frame.history(a for a in receiver if a[0] == "R"):
        if atom[0] == "R" and atom[3] is None and getattr(frame.code.givers[atom[1]].node, "lineno", -1) == line:
            frame.state.open.discard(atom)


def putting(frame: Frame, name: str, values: list[Value], arguments: Value, receiver: Value, rows: tuple[Row, ...]) -> Value:
    """Something is put into a container."""
    contents = any(row.puts is Puts.CONTENTS for row in rows)
    given = arguments | (frame.contents(arguments) if contents else EMPTY)
    if not receiver and not frame.carriers(given):
        return EMPTY
    targets = frozenset(a for a in receiver if a[0] in "OPGF")
    if any(a[0] == "R" for a in receiver):  # `x.add(y)`
        return frame.record(receiver | arguments, UNKNOWN)
    frame.write_field(targets, "[]", given) if targets or not receiver else None
    back = frame.contents(receiver) if name == "setdefault" else EMPTY
    return (
        back
        | (frame.record(receiver | arguments, UNKNOWN) if name == "add" and values else EMPTY)
        | (receiver if name in ("extend", "append") else EMPTY)
    )


__all__ = ["Traits", "called", "decorators", "unknown"]
