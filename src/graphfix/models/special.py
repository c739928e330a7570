"""Functions of torch that the recorded table cannot tell of, and grad modes."""

from __future__ import annotations

import ast

from graphfix.autograd.graph import Leaf
from graphfix.autograd.severed import How, Severed
from graphfix.effects.table import facts
from graphfix.interpreter.calls import with_mode
from graphfix.interpreter.conditions import decide_key
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Alias, AliasKind
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import ONE, SCALAR, data_shape, shape_of, typed_shape
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Function,
    GradMode,
    Keywords,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
    identities,
    leaves_in,
)
from graphfix.models.devices import device_of
from graphfix.models.operations import (
    new_leaf,
)
from graphfix.models.registry import models


def as_decorator(mode: GradMode, arguments: Arguments) -> Value:
    """`torch.no_grad(function)`, as `@torch.no_grad` without parentheses has it; else the mode itself."""
    return with_mode(mode, arguments) if arguments and isinstance(arguments[0], Function) else mode


@models("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad", "torch.autograd.inference_mode")
def without_grad(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return as_decorator(GradMode(False), arguments)


@models("torch.enable_grad", "torch.autograd.enable_grad")
def with_grad(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    m.recording.asks.append(m.trace())
    return as_decorator(GradMode(True), arguments)


@models("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
def set_grad_enabled(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Works as a context manager and, where it stands alone, as a statement."""
    flag = arguments[0] if arguments else keywords.get("mode", Constant(True))
    known = flag.truth
    enabled = known if known is not None else decide_key(m, flag.identity, site, False)
    statement = m.frame.statement
    if enabled or isinstance(statement, ast.Expr) or not isinstance(flag, Constant) or not is_literal(site):
        m.recording.asks.append(m.trace())  # the program says itself where gradients are wanted
    if isinstance(statement, ast.Expr) and statement.value is site:
        m.grad_enabled = enabled
        m.switched_off_at = None if enabled else site
    return GradMode(enabled)


def is_literal(site: ast.AST) -> bool:
    """Whether a call is given a constant, as it is written."""
    given = [*site.args, *(keyword.value for keyword in site.keywords)] if isinstance(site, ast.Call) else []
    return all(isinstance(value, ast.Constant) for value in given)


@models("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def parameter(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    wanted = keywords.get("requires_grad", arguments[1] if len(arguments) > 1 else Constant(True))
    shape = shape_of(arguments[0]) if arguments else None
    leaf = Leaf("Parameter", not wanted.is_off, site)
    leaf.is_parameter = True
    lost = severed(m, site, arguments[:1])
    leaf.severed = Severed(site, How.COPIED, lost.nodes) if lost is not None and lost.site is site else lost
    made = Tensor(leaf=leaf, shape=shape)
    made.storage.device = device_of(arguments[0]) if arguments else None
    return made


@models("torch.autograd.Variable", "torch.autograd.variable.Variable")
def variable(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`Variable(x)` is `x.detach()`, and a new leaf where it is to require grad."""
    names = ("data", "requires_grad", "volatile")
    given = {**dict(zip(names, arguments)), **keywords}
    value = given.get("data", NONE)
    made = Tensor(single=value.single, base=value, shape=shape_of(value))
    if isinstance(value, Tensor):
        made.storage = value.storage
    wanted = given.get("requires_grad", Constant(False))
    made.severed = severed(m, site, [value])
    if not wanted.is_off:
        m.recording.asks.append(m.trace())
        made.leaf = Leaf("Variable", True, site)
        made.leaf.severed = made.severed
    m.recording.aliases.append(Alias(site, m.trace(), value, made, AliasKind.VARIABLE, given))
    return made


@models(
    "torch.tensor",
    "torch.as_tensor",
    "torch.from_numpy",
)
def from_data(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.tensor`: copies, so the graph of what it is given is not continued."""
    known = facts("torch.tensor")
    assert known is not None
    made = new_leaf(m, known, keywords, site)
    made.shape = data_shape(arguments[0] if arguments else keywords.get("data"))
    made.single = made.shape in (SCALAR, ONE)
    lost = severed(m, site, [*arguments, *keywords.values()])
    made.severed = Severed(site, How.COPIED, lost.nodes) if lost is not None and lost.site is site else lost
    if made.leaf is not None:
        made.leaf.severed = made.severed
    return made


@models(
    "torch.FloatTensor", "torch.LongTensor", "torch.Tensor", "torch.DoubleTensor", "torch.cuda.FloatTensor", "torch.cuda.LongTensor"
)
def typed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.FloatTensor` and its kin: of a size, or of a list's content."""
    shape = typed_shape(arguments)
    return Tensor(single=shape in (SCALAR, ONE), shape=shape)


@models(
    "torch.nn.utils.parameters_to_vector",
)
def flattened(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    given = [*arguments, *keywords.values()]
    return Tensor(m.record(site, [], True, leaves=tuple(leaf for value in given for leaf in leaves_in(value))))


@models(
    "torch.jit.script",
    "torch.jit.trace",
    "torch.nn.utils.weight_norm",
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.spectral_norm",
)
def first_argument(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return arguments[0] if arguments else NONE


@models(
    "torch.device",
    "torch.manual_seed",
    "torch.save",
    "torch.set_num_threads",
    "torch.numel",
)
def plain(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return NonTensor(("torch", site, m.now()))


@models(
    "torch.nn.utils.rnn.pack_padded_sequence",
    "torch.nn.utils.rnn.pack_sequence",
)
def packed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """A `PackedSequence` is no tensor: its `.data` has the graph of what was packed."""
    node = m.record(site, arguments[:1], True)
    made = Unknown(("packed", site, m.now()), node, is_object=True)
    made.attributes["data"] = Tensor(node)
    return made


@models(
    "torch.nn.utils.rnn.pad_packed_sequence",
)
def padded(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Sequence("tuple", [Tensor(m.record(site, arguments[:1], True)), Tensor()])


@models(
    "torch.amp.GradScaler",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler",
)
def scaler(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Unknown(("scaler", site, m.now()))


@models(
    "torch.distributions.kl_divergence",
    "torch.distributions.kl.kl_divergence",
)
def kl(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Tensor(m.record(site, arguments, True))


@models("torch.load", "torch.Generator")
def unknown_object(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Unknown(("object", site, m.now()))


@models("torch.is_tensor")
def is_tensor(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    known = bool(arguments) and isinstance(arguments[0], Tensor)
    return Constant(True) if known else NonTensor(("is_tensor", *identities(arguments)))


@models("torch.is_grad_enabled")
def is_grad_enabled(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Constant(m.grad_enabled)
