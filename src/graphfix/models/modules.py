"""Modules of `torch.nn`: building, calling and asking them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.autograd.graph import Leaf, Node
from graphfix.effects.methods import rows_of_method
from graphfix.effects.table import OpFacts, facts
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.memory import keep, overwrite
from graphfix.interpreter.places import train_parameters
from graphfix.interpreter.recording import Handed
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import SCALAR
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Function,
    Instance,
    Keywords,
    Mapping,
    NonTensor,
    Parameters,
    ParametersForm,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    given,
    identities,
    leaves_in,
    nodes_in,
    note_copied,
)
from graphfix.models.compiling import note_compiled
from graphfix.models.operations import (
    is_unreduced,
    reduces_nothing,
    reduces_nothing_at,
    structure,
    wanted_tensor,
)
from graphfix.models.optimizers import leaves_zeros
from graphfix.models.registered import note_reached
from graphfix.models.saving import save
from graphfix.models.submodules import buffers, listed, submodule
from graphfix.models.tensor_attributes import PARAMETER, PARAMETERS

PARAMETER_LISTS = frozenset(("ParameterList", "ParameterDict"))
MODULE_LISTS = frozenset(("Sequential", "ModuleList", "ModuleDict"))
# what normalisation layers learn, unless they are told not to
AFFINE = ("affine", "elementwise_affine")
NOTHING_DROPPED = "p=0"  # what the table says of dropout where nothing is dropped
WRAPPERS = frozenset(("DataParallel", "DistributedDataParallel", "Sequential"))
MAY_BE_PACKED = frozenset(("RNN", "LSTM", "GRU"))


def make_layer(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    kind = name.rsplit(".", 1)[-1]
    if kind == "Module":
        return Unknown(("module", site, m.now()))
    if kind in WRAPPERS:
        note_modules(m, (*arguments, *keywords.values()))
    if kind in ("DataParallel", "DistributedDataParallel"):
        return TorchModule("DataParallel", None, arguments[:1] or list(keywords.values())[:1])
    if kind in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return make_container(m, kind, arguments, site)
    m.recording.builds.append(m.trace())
    known = facts(f"torch.nn.{kind}")
    has_parameters = known is None or known.parameters and not any(name in keywords and keywords[name].is_off for name in AFFINE)
    leaf = Leaf(kind, True, site, True) if has_parameters else None
    layer = TorchModule(kind, leaf)
    layer.keywords = dict(keywords)
    layer.site = site
    if known is not None and "reduction" in known.variants and reduces_nothing_at(known, arguments):
        layer.keywords.setdefault("reduce", Constant(False))
    place = known.positions.get("inplace") if known is not None else None
    if place is not None and place < len(arguments):
        layer.keywords["inplace"] = arguments[place]
    if known is not None and NOTHING_DROPPED in known.variants and arguments:
        layer.keywords["p"] = arguments[0]
    return layer


def note_modules(m: Interpreter, given: Iterable[Value]) -> None:
    """What torch takes as a layer is a module, whoever has made it: it takes nothing else."""
    m.recording.modules.update(value.key for value in given if isinstance(value, Unknown))


def make_container(m: Interpreter, kind: str, arguments: Arguments, site: ast.AST) -> TorchModule:
    children: Arguments = []
    names: dict[str, Value] = {}
    for value in arguments:
        if isinstance(value, Mapping):
            names.update({str(key): item for key, item in value.items.items()})
            items = list(value.items.values())
        elif isinstance(value, Sequence):
            items = [
                item.items[1]
                if isinstance(item, Sequence) and len(item.items) == 2 and isinstance(item.items[0], Constant)
                else item
                for item in value.items
            ]
        elif isinstance(value, TorchModule) and kind == "ModuleList":
            items = list(value.children or [value])
        else:
            children.append(value)
            continue
        children.extend(as_parameters(kind, items, site))
        if kind in MODULE_LISTS:
            note_modules(m, items)
    made = TorchModule(kind, None, children)
    made.names = names
    return made


def as_parameters(kind: str, values: Iterable[Value], site: ast.AST) -> Iterator[Value]:
    """What a container holds: a list of parameters makes one of each tensor that is none.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
    """
    for value in values:
        if kind in PARAMETER_LISTS and isinstance(value, Tensor) and value.leaf is None:
            leaf = Leaf("Parameter", True, site, True)
            yield Tensor(leaf=leaf, shape=value.shape)
        else:
            yield value


def call_layer(m: Interpreter, layer: TorchModule, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call a `torch.nn` module."""
    values = [*given(arguments, keywords), *set_on(m, layer)]
    if layer.children is not None and layer.kind in ("Sequential", "DataParallel"):
        value: Value = Sequence("tuple", arguments) if len(arguments) > 1 else (arguments[0] if arguments else NONE)
        if layer.kind == "DataParallel" and layer.children:
            return m.call(layer.children[0], arguments, keywords, site)
        for child in layer.children:
            value = m.call(child, [value], {}, site)
        return value
    known = facts(f"torch.nn.{layer.kind}")
    if known is None:
        leaves = tuple(leaf for leaf in leaves_in(layer))
        return Tensor(m.record(site, values, True, leaves=leaves, save_leaves=True))
    for value in values:
        wanted_tensor(m, value, site)
    passing = passing_on(m, layer, known)
    if passing is not None:
        return layer_result(m, layer, passing, values, site, is_written=False)
    inplace = inplace_of(layer)
    if values and inplace is not None and not inplace.is_off:
        m.recording.written.append((values[0], True))
    return layer_result(m, layer, known, values, site, is_on(inplace))


def set_on(m: Interpreter, layer: TorchModule) -> Iterator[Value]:
    """What a layer computes with besides, as it was put in the place of a parameter: `layer.weight = mean + noise`."""
    for name, value in layer.attributes.items() if m.has_graphs else ():
        own = value.items.values() if name == PARAMETERS and isinstance(value, Mapping) else (value,) if PARAMETER.match(name) else ()
        yield from (each for each in own if nodes_in(each))


def passing_on(m: Interpreter, layer: TorchModule, known: OpFacts) -> OpFacts | None:
    """What a layer does that gives what it gets, and writes nothing: dropout of nothing, or in evaluation mode."""
    if NOTHING_DROPPED not in known.variants:
        return None
    share = layer.attributes.get("p", layer.keywords.get("p"))
    if isinstance(share, Constant) and share.value == 0:
        return known.variants[NOTHING_DROPPED]
    return known.variants.get("eval") if m.training is False else None


def layer_result(m: Interpreter, layer: TorchModule, known: OpFacts, values: Arguments, site: ast.AST, is_written: bool) -> Value:
    """What a layer gives. `is_written`: it writes its result into what it gets."""
    leaves = (layer.leaf,) if layer.leaf is not None else ()
    # A linear layer keeps its weight only for the gradient of its input
    keeps = known.saves_parameters_plain or bool(known.saves_parameters and any(nodes_in(v, False, 3) for v in values))
    saves = known.saves or bool(leaves)
    node = m.record(site, values, saves, leaves=leaves, save_leaves=keeps)
    if known.cuts and not leaves:
        bare = Tensor()
        bare.severed = severed(m, site, values)
        return bare
    if node is not None and known.random:
        node.random = True
    if known.result in ("tuple", "list"):
        made = structure(known, node, {})
        if layer.kind in MAY_BE_PACKED and isinstance(made, Sequence) and values and isinstance(values[0], Unknown):
            made.items[0] = sequence_output(m, values[0], node, site)
        return made
    if node is None and values and known.alias:
        return values[0]
    single = known.scalar and not reduces_nothing(layer.keywords)
    made = Tensor(node, None, single, shape=SCALAR if single else None)
    if known.scalar and is_unreduced(layer.keywords, values):
        made.unreduced = site
    if node is None:
        made.latent = m.latent(site, values)
        own = [Tensor(leaf=layer.leaf)] if layer.leaf is not None else []
        made.severed = severed(m, site, [*values, *own])
    if is_written and values and isinstance(values[0], Tensor) and values[0].leaf is None:
        return written_by_layer(m, layer, values[0], made, site)
    if layer.leaf is None:
        save(made, known, values, layer.kind)
    elif layer.leaf.requires_grad and known.saves_inputs[:1] == (0,):
        keep(made, [value for value in values[:1] if isinstance(value, Tensor)])
    return made


def inplace_of(layer: TorchModule) -> Value | None:
    """Whether a layer writes in place: as it was made, or as its attribute was set later."""
    return layer.attributes.get("inplace", layer.keywords.get("inplace"))


def is_on(flag: Value | None) -> bool:
    return isinstance(flag, Constant) and bool(flag.value)


def written_by_layer(m: Interpreter, layer: TorchModule, target: Tensor, made: Tensor, site: ast.AST) -> Tensor:
    """`nn.ReLU(inplace=True)(x)`: every name of `x` sees the new content and the new graph."""
    known = facts(f"torch.nn.{layer.kind}")
    changed = known.variants.get("inplace") if known is not None else None
    overwrite(m, target, site, None, layer)
    if made.node is not None and not target.is_data:
        target.node = made.node
        if changed is not None and changed.saves_output:
            keep(made, [target])
    return target


def sequence_output(m: Interpreter, value: Unknown, node: Node | None, site: ast.AST) -> Unknown:
    """What an RNN makes of something unknown, or of a `PackedSequence`: another one, whose `.data` is the tensor."""
    packed = kind_of(value.key) == "packed"
    made = Unknown(("packed" if packed else "output", site, m.now()), node, is_object=packed)
    if packed:
        made.attributes["data"] = Tensor(node)
    return made


def copy_module(value: Value, seen: dict[int, Value]) -> Value:
    """A deep copy of a module: the same structure over new leaves."""
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, TorchModule):
        made = TorchModule(value.kind, value.leaf.copied() if value.leaf else None)
        seen[id(value)] = made
        made.children = [copy_module(child, seen) for child in value.children] if value.children is not None else None
        made.names = {name: copy_module(child, seen) for name, child in value.names.items()}
        made.keywords = value.keywords
        return made
    if isinstance(value, Instance):
        copy = Instance(value.cls, ("copy", value.key))
        seen[id(value)] = copy
        copy.attributes = {name: copy_module(inner, seen) for name, inner in value.attributes.items()}
        return copy
    if isinstance(value, Tensor) and value.leaf is not None:
        return Tensor(leaf=value.leaf.copied())
    return value


def tensors_of(m: Interpreter, receiver: TorchModule | Instance, name: str) -> Value:
    """What `parameters()`, `buffers()` and their forms with names give."""
    is_named = name.startswith("named_")
    if name.endswith("buffers") and isinstance(receiver, Instance) and (known := buffers(receiver)):
        held = [Sequence("tuple", [Constant(path), each]) if is_named else each for path, each in known.items()]
        return Sequence("generator", held, True)
    if name.endswith("parameters"):
        note_reached(m, [receiver])
    return Parameters([receiver], ParametersForm.NAMED if is_named else ParametersForm.ALL)


def register(m: Interpreter, receiver: TorchModule | Instance, name: str, key: Value, value: Value) -> None:
    """A module gets a buffer, a parameter or a module of its own; a name that is not known is none that code reads."""
    word = str(key.value) if isinstance(key, Constant) else f"[{len(receiver.attributes)}]"
    if name in ("add_module", "register_module"):
        note_modules(m, [value])
        if isinstance(receiver, TorchModule):
            if receiver.children is not None:
                receiver.children.append(value)
            if receiver.children is None or isinstance(key, Constant):
                receiver.names[word] = value
            return
    receiver.attributes[word] = value
    if name == "register_buffer" and isinstance(receiver, Instance) and word not in receiver.buffers:
        receiver.buffers.append(word)


def load(m: Interpreter, module: Value, arguments: Arguments) -> None:
    """The parameters of a module get other content: that of another one, where it is in sight."""
    for leaf in leaves_in(module):
        leaf.version += 1
        m.recording.loaded.add(leaf)
    if arguments and isinstance(arguments[0], NonTensor) and arguments[0].source is not None:
        note_copied(module, arguments[0].source)


def module_method(
    m: Interpreter, receiver: TorchModule | Instance, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        return tensors_of(m, receiver, name)
    if name in ("train", "eval"):
        m.set_mode(receiver, with_submodules(receiver), mode_given(name, arguments, keywords), site)
        return receiver
    if name == "apply" and arguments:
        apply_to_all(m, receiver, arguments[0], site)
    if name in ("to", "cuda", "cpu", "half", "float", "double", "apply", "share_memory", "type"):
        return receiver
    if name == "compile":
        # measured: of one of torch's own modules, nothing is compiled then
        if isinstance(receiver, Instance):
            note_compiled(m, receiver, keywords, site)
        return NONE
    if name == "requires_grad_":
        train_parameters(m, receiver, not any(value.is_off for value in (*arguments, *keywords.values())), site)
        return receiver
    if name in ("register_buffer", "register_parameter", "add_module", "register_module", "__setattr__") and len(arguments) == 2:
        register(m, receiver, name, arguments[0], arguments[1])
        return NONE
    if name in ("append", "extend") and isinstance(receiver, TorchModule) and receiver.children is not None and arguments:
        added = arguments if name == "append" else iterate(m, arguments[0], site)
        if receiver.kind in MODULE_LISTS:
            note_modules(m, added)
        receiver.children.extend(as_parameters(receiver.kind, added, site))
        return NONE
    if name in ("modules", "children", "named_children", "named_modules"):
        return listed(receiver, name)
    if name == "get_submodule" and arguments:
        return submodule(receiver, arguments[0])
    if name == "get_parameter":
        return Unknown((name, receiver.serial, *identities(arguments)))
    if name in ("items", "values", "keys") and isinstance(receiver, TorchModule):
        return container_view(receiver, name)
    if name == "zero_grad":
        m.update(site, False, frozenset(leaves_in(receiver)), zeros=leaves_zeros(arguments, keywords))
        return NONE
    if name == "load_state_dict":
        load(m, receiver, arguments)
        return NONE
    if name == "state_dict":
        return NonTensor((name, receiver.serial, m.now()), source=receiver)
    is_private = name.startswith("_") and not (isinstance(receiver, Instance) and receiver.cls.is_open())
    if is_of_modules(name) or name == "__init__" or name.startswith("register_") or is_private:
        return NonTensor((name, receiver.serial, m.now()))
    return None


def is_of_modules(name: str) -> bool:
    """Whether a module, or a list or mapping of modules, has a method of this name."""
    return any(row.of_class.startswith("torch.nn.") for row in rows_of_method(name))


def apply_to_all(m: Interpreter, receiver: TorchModule | Instance, function: Value, site: ast.AST) -> None:
    """`module.apply(function)`: a function of the project is run for each module, any other has had hold of all of them."""
    if not isinstance(function, Function):
        m.recording.handed.append(Handed(m.now(), (function, receiver)))
        return
    for module in iterate(m, listed(receiver, "modules"), site):
        m.call(function, [module], {}, site)


def mode_given(name: str, arguments: Arguments, keywords: Keywords) -> bool | None:
    """The mode that `train(mode)` or `eval()` sets; None where it is not known."""
    if name == "eval":
        return False
    flag = arguments[0] if arguments else keywords.get("mode", Constant(True))
    return flag.truth


def with_submodules(receiver: Value) -> list[Value]:
    """A module and all modules below it, which `train()` and `eval()` reach."""
    found: dict[int, Value] = {}
    pending = [receiver]
    while pending:
        value = pending.pop()
        if id(value) in found or not isinstance(value, (TorchModule, Instance, Unknown)):
            continue
        if isinstance(value, Unknown) and value.node is not None:
            continue
        found[id(value)] = value
        if isinstance(value, TorchModule):
            pending.extend((*(value.children or ()), *value.names.values(), *value.attributes.values()))
        elif isinstance(value, Instance):
            pending.extend(value.attributes.values())
    return list(found.values())


def container_view(receiver: TorchModule, name: str) -> Value:
    if name == "keys":
        return Sequence("tuple", [Constant(key) for key in receiver.names])
    if name == "values":
        return Sequence("tuple", list(receiver.names.values()) or list(receiver.children or []))
    return Sequence("tuple", [Sequence("tuple", [Constant(key), item]) for key, item in receiver.names.items()])
