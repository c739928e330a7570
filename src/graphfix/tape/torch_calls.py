"""What calls into torch do: functions, layers, optimizers, grad modes, and methods of tensors.

Most operations are looked up in the recorded table (`torch_model`); here stands what the table cannot say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphfix.tape import walks
from graphfix.tape.evidence import Read, Update
from graphfix.tape.expressions import iterate, key_of
from graphfix.tape.graph import Leaf
from graphfix.tape.machine import Machine
from graphfix.tape.places import note_store, set_requires_grad
from graphfix.tape.torch_model import OpFacts, facts
from graphfix.tape.values import (
    NONE, Bound, Class, External, Function, GradMode, Instance, Known, Layer, Mapping, Opaque, Optimizer, Parameters, Partial, Plain, Sequence,
    Tensor, Value, leaves_in, nodes_in,
)  # fmt: skip

Arguments = list[Value]
Keywords = dict[str, Value]

SYNONYMS = {
    "torch.autograd.variable.Variable": "torch.autograd.Variable", "torch.Variable": "torch.autograd.Variable",
    "torch.autograd.no_grad": "torch.no_grad", "torch.autograd.enable_grad": "torch.enable_grad",
    "torch.autograd.set_grad_enabled": "torch.set_grad_enabled", "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.autograd.inference_mode": "torch.inference_mode", "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.FloatTensor": "torch.tensor", "torch.LongTensor": "torch.tensor", "torch.Tensor": "torch.tensor",
    "torch.cuda.FloatTensor": "torch.tensor", "torch.cuda.LongTensor": "torch.tensor", "torch.DoubleTensor": "torch.tensor",
}  # fmt: skip
MODULE_METHODS = frozenset(
    "train eval to cuda cpu half float double parameters named_parameters modules named_modules children named_children state_dict "
    "load_state_dict zero_grad requires_grad_ apply register_buffer register_parameter add_module share_memory type buffers "
    "named_buffers compile register_forward_hook append extend flatten_parameters __init__ train_mode "
    "get_parameter get_submodule items keys values insert".split()
)
PROVES_MODULE = frozenset(("train", "eval", "parameters", "zero_grad", "state_dict", "load_state_dict", "named_parameters"))
KEEPS_SHAPE = frozenset("cpu cuda to float double half clone contiguous type detach exp log sqrt abs neg sigmoid tanh relu clamp pow".split())


def call_torch(m: Machine, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call `torch...` by its qualified name."""
    name = SYNONYMS.get(name, name)
    special = SPECIAL.get(name)
    if special is not None:
        return special(m, arguments, keywords, site)
    if name.startswith("torch.Tensor.") and arguments:
        made = call_torch_method(m, arguments[0], name.rsplit(".", 1)[-1], arguments[1:], keywords, site)
        return made if made is not None else m.unknown(site, arguments)
    last = name.rsplit(".", 1)[-1]
    if name.startswith("torch.optim."):
        if "lr_scheduler" in name or "swa" in name:
            return Opaque(("scheduler", site, m.now()))
        return Optimizer(last, arguments[:1] or [keywords.get("params", NONE)])
    if name.startswith("torch.nn.") and last[:1].isupper():
        return make_layer(m, name, arguments, keywords, site)
    if name.startswith(("torch.nn.init.", "torch.nn.utils.clip")):
        return Tensor() if "clip" in name else (arguments[0] if arguments else NONE)
    if name.startswith("torch.distributions.") and last[:1].isupper():
        known = facts(f"torch.distributions.{last}")
        saves = known.saves if known is not None else True
        return Opaque(("distribution", site, m.now()), m.record(site, [*arguments, *keywords.values()], saves))
    if name.startswith(("torch.utils.data.", "torch.multiprocessing.", "torch.cuda.", "torch.backends.", "torch.distributed.", "torch.hub.")):
        for value in arguments:
            if name.startswith("torch.distributed."):
                m.escape(value, site, "argument")
        return Opaque((last, site, m.now()))
    return operation(m, facts(name), [*arguments, *keywords.values()], keywords, site, name)


def operation(m: Machine, known: OpFacts | None, values: Arguments, keywords: Keywords, site: ast.AST, name: str) -> Value:
    """The result of a torch operation by the facts recorded for it."""
    for value in values:
        wanted_tensor(m, value, site)
    if known is None:
        node = m.record(site, values, True, certain=False)
        return Opaque((name, site, m.now()), node)
    known = variant(known, keywords, values)
    if known.factory:
        return new_leaf(m, known, keywords, site)
    single = known.scalar and not reduces_nothing(keywords)
    if name.rsplit(".", 1)[-1] in KEEPS_SHAPE:
        single = any(isinstance(value, Tensor) and value.single for value in values[:1])
    if known.result in ("number", "bool"):
        return Plain((name, *map(key_of, values)))
    if known.result in ("none", "dict"):
        return NONE
    if known.result == "other" and not known.differentiable:
        return Plain((name, site, m.now()))
    if known.cuts or not known.differentiable:
        return Tensor(single=single, base=values[0] if values else None, severed="cut")
    node = m.record(site, values, known.saves)
    if node is not None and known.random:
        node.random = True
    if known.result in ("tuple", "list"):
        return structure(known, node, keywords)
    if node is None and values and isinstance(values[0], Tensor) and known.alias:
        return Tensor(None, None, single, values[0].base, values[0].severed)
    made = Tensor(node, None, single)
    if known.inplace and values and isinstance(values[0], Tensor):
        return changed_in_place(m, values[0], made, values[1:], site)
    return made


def variant(known: OpFacts, keywords: Keywords, values: Arguments) -> OpFacts:
    for word, changed in known.variants.items():
        if word in keywords and word not in ("reduction", "training", "p=0", "eval"):
            given = keywords[word]
            if isinstance(given, Known) and given.value in (False, None) and word in ("inplace", "return_indices"):
                continue
            return changed
        if word == "dim" and known.scalar and len(values) > 1 and isinstance(values[1], (Known, Plain)):
            return changed
    return known


def reduces_nothing(keywords: Keywords) -> bool:
    """`reduction="none"` and the older `reduce=False`, or a reduction that is not known."""
    reduction = keywords.get("reduction")
    if reduction is not None:
        return not (isinstance(reduction, Known) and reduction.value in ("mean", "sum", "batchmean", "elementwise_mean"))
    return "reduce" in keywords


def new_leaf(m: Machine, known: OpFacts, keywords: Keywords, site: ast.AST) -> Tensor:
    wanted = keywords.get("requires_grad")
    if wanted is not None and not (isinstance(wanted, Known) and not wanted.value):
        made = Tensor(leaf=Leaf("tensor", True, site))
    else:
        made = Tensor()
    return made


def structure(known: OpFacts, node: object, keywords: Keywords) -> Value:
    """The tuple that an operation returns, nested as recorded."""

    def build(shape: object) -> Value:
        if isinstance(shape, (list, tuple)):
            return Sequence("tuple", [build(part) for part in shape])
        if shape in ("tensor", "cut"):
            return Tensor(node if shape == "tensor" else None)  # type: ignore[arg-type]
        return Plain(("item", shape))

    shapes = known.items if not known.plural else (known.items or ("tensor",)) * 2
    return Sequence("tuple", [build(shape) for shape in (shapes or ("tensor", "tensor"))], known.plural)


def changed_in_place(m: Machine, target: Tensor, made: Tensor, values: Arguments | tuple[Value, ...] = (), site: ast.AST | None = None) -> Tensor:
    """`x.add_(y)`: every name of `x` sees the new graph."""
    if target.leaf is not None and target.leaf.requires_grad:
        target.leaf.version += 1
        return target
    if made.node is not None and target.severed != "data":
        if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and any(value.node is not None for value in values):
            note_store(m, site.func.value, (target, "in place"), made, site.args[0] if site.args else None, "in place", Tensor(target.node))
        target.node = made.node
    return target


def wanted_tensor(m: Machine, value: Value, site: ast.AST) -> None:
    """torch does not take a list of numbers where it wants tensors: a repair that made them would break this call."""
    items = value.items if isinstance(value, Sequence) else [value]
    for item in items:
        if isinstance(item, Plain) and item.cut is not None:
            m.evidence.misuses.append(Read(site, m.trace(), item, "tensor"))


# Modules


def make_layer(m: Machine, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    kind = name.rsplit(".", 1)[-1]
    if kind == "Module":
        return Opaque(("module", site, m.now()))
    if kind in ("DataParallel", "DistributedDataParallel"):
        return Layer("DataParallel", None, arguments[:1] or list(keywords.values())[:1])
    if kind in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return make_container(m, kind, arguments, site)
    known = facts(f"torch.nn.{kind}")
    leaf = Leaf(kind, True, site) if known is None or known.parameters else None
    layer = Layer(kind, leaf)
    layer.keywords = dict(keywords)
    return layer


def make_container(m: Machine, kind: str, arguments: Arguments, site: ast.AST) -> Layer:
    children: Arguments = []
    names: dict[str, Value] = {}
    for value in arguments:
        if isinstance(value, Mapping):
            names.update({str(key): item for key, item in value.items.items()})
            children.extend(value.items.values())
        elif isinstance(value, Sequence):
            items = [item.items[1] if isinstance(item, Sequence) and len(item.items) == 2 and isinstance(item.items[0], Known) else item for item in value.items]
            children.extend(items)
        elif isinstance(value, Layer) and kind == "ModuleList":
            children.extend(value.children or [value])
        else:
            children.append(value)
    made = Layer(kind, None, children)
    made.names = names
    return made


def call_layer(m: Machine, layer: Layer, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call a `torch.nn` module."""
    from graphfix.tape.calls import call

    values = [*arguments, *keywords.values()]
    if layer.children is not None and layer.kind in ("Sequential", "DataParallel"):
        value: Value = Sequence("tuple", arguments) if len(arguments) > 1 else (arguments[0] if arguments else NONE)
        if layer.kind == "DataParallel" and layer.children:
            return call(m, layer.children[0], arguments, keywords, site)
        for child in layer.children:
            value = call(m, child, [value], {}, site)
        return value
    known = facts(f"torch.nn.{layer.kind}")
    if known is None:
        leaves = tuple(leaf for leaf in leaves_in(layer))
        return Tensor(m.record(site, values, True, leaves=leaves, save_leaves=True))
    for value in values:
        wanted_tensor(m, value, site)
    return layer_result(m, layer, known, values, site)


def layer_result(m: Machine, layer: Layer, known: OpFacts, values: Arguments, site: ast.AST) -> Value:
    leaves = (layer.leaf,) if layer.leaf is not None else ()
    # A linear layer keeps its weight only for the gradient of its input
    keeps = known.saves_parameters_plain or bool(known.saves_parameters and any(nodes_in(v, False, 3) for v in values))
    saves = known.saves or bool(leaves)
    node = m.record(site, values, saves, leaves=leaves, save_leaves=keeps)
    if known.cuts and not leaves:
        return Tensor()
    if node is not None and known.random:
        node.random = True
    if known.result in ("tuple", "list"):
        return structure(known, node, {})
    if node is None and values and known.alias:
        return values[0]
    return Tensor(node, None, known.scalar and not reduces_nothing(layer.keywords))


def copy_module(value: Value, seen: dict[int, Value]) -> Value:
    """A deep copy of a module: the same structure over new leaves."""
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, Layer):
        made = Layer(value.kind, Leaf(value.kind, value.leaf.requires_grad, value.leaf.site) if value.leaf else None)
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
        return Tensor(leaf=Leaf(value.leaf.name, value.leaf.requires_grad, value.leaf.site))
    return value


# Methods


def call_torch_method(m: Machine, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """A method of a tensor, module, optimizer or of something unknown that may be one; None where it is not torch's."""
    if isinstance(receiver, (Tensor, Opaque)):
        return tensor_like_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Optimizer):
        return optimizer_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Layer) or (isinstance(receiver, Instance) and (receiver.is_module() or receiver.cls.is_open())):
        made = walks.launcher_backward(m, name, arguments, keywords, site)
        return made if made is not None else module_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Parameters):
        return receiver
    if isinstance(receiver, Class) and any(base == "torch.autograd.Function" for base in receiver.external_bases()) and name == "apply":
        return Tensor(m.record(site, arguments, True))
    return None


def tensor_like_method(m: Machine, receiver: Tensor | Opaque, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    if name == "backward":
        return walks.backward_method(m, receiver, arguments, keywords, site)
    if isinstance(receiver, Opaque):
        if name in PROVES_MODULE:
            m.evidence.modules.add(receiver.key)
        made = opaque_method(m, receiver, name, arguments, keywords, site)
        if made is not None:
            return made
    if name in ("detach_", "requires_grad_") and isinstance(receiver, Tensor):
        if name == "detach_":
            receiver.node = None
            receiver.severed = "detach"
        else:
            set_requires_grad(m, receiver, arguments[0] if arguments else Known(True), site)
        return receiver
    if name in ("item", "tolist", "numpy", "__float__", "__int__"):
        return Plain(("read", name, key_of(receiver)), source=receiver)
    if name in ("detach",):
        single = isinstance(receiver, Tensor) and receiver.single
        return Tensor(single=single, base=receiver, severed="detach")
    if name == "register_hook" or name == "retain_grad":
        return NONE
    if name in ("new", "new_zeros", "new_ones", "new_tensor", "new_full", "new_empty", "new_ones"):
        return Tensor()
    known = facts(f"torch.Tensor.{name}")
    if known is None:
        return None if isinstance(receiver, Opaque) else m.unknown(site, [receiver, *arguments])
    if isinstance(receiver, Opaque) and receiver.node is None and not nodes_in(Sequence("tuple", arguments), False, 3):
        return opaque_without_graph(known, receiver, name, arguments, site)
    if isinstance(receiver, Tensor) and known.inplace and not m.grad_enabled:
        return changed_in_place(m, receiver, Tensor())
    made = operation(m, known, [receiver, *arguments, *keywords.values()], keywords, site, name)
    if isinstance(receiver, Opaque) and isinstance(made, Tensor):
        if known.inplace:
            receiver.node = made.node or receiver.node
            return receiver
        if not known.cuts and not known.scalar:
            return Opaque(("method", receiver.key, name, *map(key_of, arguments)), made.node)
    if isinstance(made, Tensor) and made.node is None and made.base is None and known.alias:
        made.base = receiver
        made.severed = receiver.severed if isinstance(receiver, Tensor) else ""
    return made


def opaque_without_graph(known: OpFacts, receiver: Opaque, name: str, arguments: Arguments, site: ast.AST) -> Value:
    """A method that tensors have, called on something unknown that has no graph: it has none afterwards."""
    key = ("method", receiver.key, name, *map(key_of, arguments))
    if known.result in ("number", "bool", "other"):
        return Plain(key)
    return Opaque(key)


def opaque_method(m: Machine, receiver: Opaque, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """Methods of the unknown that mean something for the graph whatever the object is."""
    kind = receiver.key[0] if isinstance(receiver.key, tuple) and receiver.key else None
    if kind == "distribution":
        return distribution_method(m, receiver, name, arguments, site)
    if kind == "scaler":
        return scaler_method(m, receiver, name, arguments, keywords, site)
    if name in ("train", "eval", "to", "cuda", "cpu", "double", "float", "half", "requires_grad_") and receiver.node is None:
        return receiver
    if name in ("parameters", "named_parameters"):
        return Opaque(("parameters", receiver.key))
    if name in ("zero_grad", "state_dict", "load_state_dict"):
        return Plain((name, receiver.key, m.now()))
    if name == "step":
        m.evidence.updates.append(Update(site, m.now(), True, None))
        for value in arguments:
            if isinstance(value, (Function, Bound, Partial)):
                return run_closure(m, value, site, 1)
        return Opaque(("step", site, m.now()), m.record(site, arguments, True, certain=False))
    if name in ("append", "update", "add_scalar", "write", "info", "debug", "log", "set_postfix", "set_description"):
        from graphfix.tape.calls import note_reader

        for value in (*arguments, *keywords.values()):
            if name in ("append", "update", "add_scalar", "log"):
                m.escape(value, site, "argument")
                note_reader(m, value, site)
        return Plain((name, site, m.now()))
    return None


def distribution_method(m: Machine, receiver: Opaque, name: str, arguments: Arguments, site: ast.AST) -> Value:
    if name in ("sample", "sample_n", "enumerate_support"):
        return Tensor()
    if name == "expand":
        return receiver
    node = m.record(site, [receiver, *arguments], True)
    if node is not None and name == "rsample":
        node.random = True
    return Tensor(node)


def scaler_method(m: Machine, receiver: Opaque, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.amp.GradScaler`."""
    if name == "scale" and arguments:
        value = arguments[0]
        return Tensor(m.record(site, [value], True), single=isinstance(value, Tensor) and value.single)
    if name == "step" and arguments:
        from graphfix.tape.calls import call_method

        return call_method(m, arguments[0], "step", arguments[1:], keywords, site)
    return NONE


def optimizer_method(m: Machine, receiver: Optimizer, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    if name == "step":
        closure = arguments[0] if arguments else keywords.get("closure")
        made: Value = NONE
        if closure is not None and not isinstance(closure, Known):
            made = run_closure(m, closure, site, 2 if receiver.kind == "LBFGS" else 1, receiver)
        else:
            bump(m, receiver, site)
        return made
    if name == "zero_grad":
        m.evidence.updates.append(Update(site, m.now(), False, frozenset(leaves_in(receiver))))
    return Plain((name, id(receiver), m.now()))


def bump(m: Machine, optimizer: Optimizer, site: ast.AST) -> None:
    """A step: every parameter of the optimizer has a new version."""
    leaves = frozenset(leaves_in(optimizer))
    m.evidence.updates.append(Update(site, m.now(), True, leaves))
    for leaf in leaves:
        leaf.version += 1
        leaf.trained = True


def run_closure(m: Machine, closure: Value, site: ast.AST, times: int, optimizer: Optimizer | None = None) -> Value:
    """`step(closure)`: the closure runs once, or several times (LBFGS), each in an iteration of the optimizer's loop."""
    from graphfix.tape.calls import call

    made: Value = NONE
    outer = m.context
    entry = m.loop(site)
    for iteration in range(times):
        m.context = (*outer, (entry, iteration))
        try:
            result = call(m, closure, [], {}, site)
        finally:
            m.context = outer
        made = result if iteration == 0 else made
        if optimizer is not None:
            bump(m, optimizer, site)
    return made


def module_method(m: Machine, receiver: Layer | Instance, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        return Parameters([receiver])
    if name in ("train", "eval", "to", "cuda", "cpu", "half", "float", "double", "apply", "share_memory", "type"):
        return receiver
    if name == "requires_grad_":
        wanted = not (arguments and isinstance(arguments[0], Known) and not arguments[0].value)
        for leaf in leaves_in(receiver):
            leaf.requires_grad = wanted
        return receiver
    if name in ("register_buffer", "register_parameter", "add_module") and len(arguments) == 2 and isinstance(arguments[0], Known):
        holder = receiver.attributes
        holder[str(arguments[0].value)] = arguments[1]
        return NONE
    if name in ("append", "extend") and isinstance(receiver, Layer) and receiver.children is not None and arguments:
        receiver.children.extend(arguments if name == "append" else iterate(m, arguments[0], site))
        return NONE
    if name in ("modules", "children", "named_children", "named_modules"):
        return Sequence("tuple", submodules(receiver), True)
    if name in ("items", "values", "keys") and isinstance(receiver, Layer):
        return container_view(receiver, name)
    if name == "zero_grad":
        m.evidence.updates.append(Update(site, m.now(), False, frozenset(leaves_in(receiver))))
        return NONE
    if name == "load_state_dict":
        for leaf in leaves_in(receiver):
            leaf.version += 1
        return NONE
    if name in MODULE_METHODS or name.startswith(("register_", "_")):
        return Plain((name, id(receiver), m.now()))
    return None


def container_view(receiver: Layer, name: str) -> Value:
    if name == "keys":
        return Sequence("tuple", [Known(key) for key in receiver.names])
    if name == "values":
        return Sequence("tuple", list(receiver.names.values()) or list(receiver.children or []))
    return Sequence("tuple", [Sequence("tuple", [Known(key), item]) for key, item in receiver.names.items()])


def submodules(receiver: Layer | Instance) -> list[Value]:
    found: list[Value] = []
    inner = list(receiver.attributes.values()) if isinstance(receiver, Instance) else (receiver.children or [])
    for value in inner:
        if isinstance(value, Layer) or (isinstance(value, Instance) and value.is_module()):
            found.append(value)
            found.extend(submodules(value))
    return found[:12]


# What the table cannot say


def grad_mode(enabled: bool) -> Callable:
    def make(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
        mode = GradMode(enabled)
        if arguments and isinstance(arguments[0], Function):
            from graphfix.tape.calls import with_mode

            return with_mode(mode, arguments)
        return mode

    return make


def set_grad_enabled(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Works as a context manager and, where it stands alone, as a statement."""
    from graphfix.tape.expressions import decide_key, known_truth

    flag = arguments[0] if arguments else keywords.get("mode", Known(True))
    known = known_truth(flag)
    enabled = known if known is not None else decide_key(m, key_of(flag), site, False)
    statement = m.frame.statement
    if isinstance(statement, ast.Expr) and statement.value is site:
        m.grad_enabled = enabled
    return GradMode(enabled)


def parameter(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    wanted = keywords.get("requires_grad", arguments[1] if len(arguments) > 1 else Known(True))
    return Tensor(leaf=Leaf("Parameter", not (isinstance(wanted, Known) and not wanted.value), site))


def variable(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    value = arguments[0] if arguments else NONE
    wanted = keywords.get("requires_grad")
    if wanted is not None and not (isinstance(wanted, Known) and not wanted.value) and value.node is None:
        return Tensor(leaf=Leaf("Variable", True, site))
    return value


def from_data(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.tensor`: copies, so the graph of what it is given is not continued."""
    known = facts("torch.tensor")
    assert known is not None
    made = new_leaf(m, known, keywords, site)
    made.single = bool(arguments) and isinstance(arguments[0], Known) and isinstance(arguments[0].value, (int, float))
    return made


def checkpointed(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    from graphfix.tape.calls import call

    if not arguments:
        return NONE
    inner = call(m, arguments[0], arguments[1:], {}, site)
    return Tensor(m.record(site, [inner], True)) if isinstance(inner, Tensor) else inner


def first_argument(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return arguments[0] if arguments else NONE


def plain(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Plain(("torch", site, m.now()))


def packed(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Tensor(m.record(site, arguments[:1], True))


def padded(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Sequence("tuple", [Tensor(m.record(site, arguments[:1], True)), Tensor()])


def scaler(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Opaque(("scaler", site, m.now()))


def kl(m: Machine, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Tensor(m.record(site, arguments, True))


SPECIAL: dict[str, Callable[[Machine, Arguments, Keywords, ast.AST], Value]] = {
    "torch.no_grad": grad_mode(False), "torch.inference_mode": grad_mode(False), "torch.enable_grad": grad_mode(True),
    "torch.set_grad_enabled": set_grad_enabled, "torch.nn.Parameter": parameter, "torch.autograd.Variable": variable,
    "torch.tensor": from_data, "torch.as_tensor": from_data, "torch.from_numpy": from_data,
    "torch.autograd.backward": walks.autograd_backward, "torch.autograd.grad": walks.autograd_grad,
    "torch.utils.checkpoint.checkpoint": checkpointed, "torch.compile": first_argument, "torch.jit.script": first_argument,
    "torch.jit.trace": first_argument, "torch.nn.utils.rnn.pack_padded_sequence": packed, "torch.nn.utils.rnn.pack_sequence": packed,
    "torch.nn.utils.rnn.pad_packed_sequence": padded, "torch.nn.utils.weight_norm": first_argument,
    "torch.nn.utils.spectral_norm": first_argument, "torch.nn.utils.parametrizations.weight_norm": first_argument,
    "torch.nn.utils.parametrizations.spectral_norm": first_argument, "torch.amp.GradScaler": scaler,
    "torch.cuda.amp.GradScaler": scaler, "torch.cuda.amp.grad_scaler.GradScaler": scaler,
    "torch.distributions.kl_divergence": kl, "torch.distributions.kl.kl_divergence": kl,
    "torch.device": plain, "torch.manual_seed": plain, "torch.save": plain, "torch.load": lambda m, a, k, s: Opaque(("load", s, m.now())),
    "torch.Generator": lambda m, a, k, s: Opaque(("generator", s, m.now())), "torch.set_num_threads": plain,
    "torch.is_tensor": lambda m, a, k, s: Known(True) if a and isinstance(a[0], Tensor) else Plain(("is_tensor", *map(key_of, a))),
    "torch.is_grad_enabled": lambda m, a, k, s: Known(m.grad_enabled), "torch.numel": plain,
}  # fmt: skip
