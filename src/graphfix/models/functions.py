"""What calls into torch do: functions, layers, optimizers, grad modes, and methods of tensors.

Most operations are looked up in the recorded table (`torch_model`); here stands what the table cannot say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphfix.autograd.graph import Leaf
from graphfix.interpreter.conditions import decide_key
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.keys import key_of, known_truth
from graphfix.interpreter.recording import Alias, Read
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Function,
    GradMode,
    Keywords,
    Known,
    Opaque,
    Optimizer,
    Plain,
    Sequence,
    Tensor,
    Value,
)
from graphfix.models import autograd_calls as walks
from graphfix.models.modules import (
    make_layer,
)
from graphfix.models.operations import (
    new_leaf,
    operation,
)
from graphfix.models.shapes import ONE, SCALAR, data_shape, shape_of, typed_shape
from graphfix.models.table import facts
from graphfix.models.tensor_methods import (
    call_torch_method,
)

SYNONYMS = {
    "torch.autograd.variable.Variable": "torch.autograd.Variable", "torch.Variable": "torch.autograd.Variable",
    "torch.autograd.no_grad": "torch.no_grad", "torch.autograd.enable_grad": "torch.enable_grad",
    "torch.autograd.set_grad_enabled": "torch.set_grad_enabled", "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.autograd.inference_mode": "torch.inference_mode", "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.LongTensor": "torch.FloatTensor", "torch.Tensor": "torch.FloatTensor", "torch.DoubleTensor": "torch.FloatTensor",
    "torch.cuda.FloatTensor": "torch.FloatTensor", "torch.cuda.LongTensor": "torch.FloatTensor",
}  # fmt: skip


def call_torch(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call `torch...` by its qualified name."""
    name = SYNONYMS.get(name, name)
    special = SPECIAL.get(name)
    if special is not None:
        return special(m, arguments, keywords, site)
    if name.startswith("torch.Tensor.") and arguments:
        made = call_torch_method(m, arguments[0], name.rsplit(".", 1)[-1], arguments[1:], keywords, site)
        return made if made is not None else m.unknown(site, arguments)
    last = name.rsplit(".", 1)[-1]
    if name.startswith(("torch.autograd.", "torch.func.")):
        m.recording.asks.append(m.trace())
    if name.startswith("torch.optim."):
        if "lr_scheduler" in name or "swa" in name:
            return Opaque(("scheduler", site, m.now()))
        return make_optimizer(m, last, arguments[:1] or [keywords.get("params", NONE)], site)
    if name.startswith("torch.nn.") and last[:1].isupper():
        return make_layer(m, name, arguments, keywords, site)
    if name.startswith(("torch.nn.init.", "torch.nn.utils.clip")):
        if "clip" in name:
            return Tensor()
        m.recording.written.extend((value, False) for value in arguments[:1])
        return arguments[0] if arguments else NONE
    if name.startswith("torch.distributions.") and last[:1].isupper():
        known = facts(f"torch.distributions.{last}")
        saves = known.saves if known is not None else True
        return Opaque(("distribution", site, m.now()), m.record(site, [*arguments, *keywords.values()], saves))
    if name.startswith(
        ("torch.utils.data.", "torch.multiprocessing.", "torch.cuda.", "torch.backends.", "torch.distributed.", "torch.hub.")
    ):
        for value in arguments:
            if name.startswith("torch.distributed."):
                m.escape(value, site, "argument")
        return Opaque((last, site, m.now()))
    return operation(m, facts(name), [*arguments, *keywords.values()], keywords, site, name)


def make_optimizer(m: Interpreter, kind: str, parameters: Arguments, site: ast.AST) -> Optimizer:
    """An optimizer; torch refuses a tensor that is no leaf."""
    inner = [*parameters, *(item for value in parameters if isinstance(value, Sequence) for item in value.items)]
    for value in inner:
        if isinstance(value, Tensor) and value.node is not None:
            m.recording.misuses.append(Read(site, m.trace(), value, "optimized"))
    return Optimizer(kind, parameters)


# What the table cannot say


def grad_mode(enabled: bool) -> Callable:
    def make(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
        mode = GradMode(enabled)
        if enabled:
            m.recording.asks.append(m.trace())
        if arguments and isinstance(arguments[0], Function):
            return with_mode(mode, arguments)
        return mode

    return make


def set_grad_enabled(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Works as a context manager and, where it stands alone, as a statement."""
    flag = arguments[0] if arguments else keywords.get("mode", Known(True))
    known = known_truth(flag)
    enabled = known if known is not None else decide_key(m, key_of(flag), site, False)
    statement = m.frame.statement
    if enabled or isinstance(statement, ast.Expr):
        m.recording.asks.append(m.trace())
    if isinstance(statement, ast.Expr) and statement.value is site:
        m.grad_enabled = enabled
    return GradMode(enabled)


def parameter(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    wanted = keywords.get("requires_grad", arguments[1] if len(arguments) > 1 else Known(True))
    shape = shape_of(arguments[0]) if arguments else None
    return Tensor(leaf=Leaf("Parameter", not (isinstance(wanted, Known) and not wanted.value), site), shape=shape)


def variable(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`Variable(x)` is `x.detach()`, and a new leaf where it is to require grad."""
    names = ("data", "requires_grad", "volatile")
    given = {**dict(zip(names, arguments)), **keywords}
    value = given.get("data", NONE)
    made = Tensor(single=isinstance(value, Tensor) and value.single, base=value, severed="detach", shape=shape_of(value))
    if isinstance(value, Tensor):
        made.storage = value.storage
    wanted = given.get("requires_grad", Known(False))
    if not (isinstance(wanted, Known) and not wanted.value):
        m.recording.asks.append(m.trace())
        made.leaf = Leaf("Variable", True, site)
        made.severed = ""
    m.recording.aliases.append(Alias(site, m.trace(), value, made, "Variable", given))
    return made


def from_data(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.tensor`: copies, so the graph of what it is given is not continued."""
    known = facts("torch.tensor")
    assert known is not None
    made = new_leaf(m, known, keywords, site)
    made.shape = data_shape(arguments[0] if arguments else keywords.get("data"))
    made.single = made.shape in (SCALAR, ONE)
    return made


def typed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.FloatTensor` and its kin: of a size, or of a list's content."""
    shape = typed_shape(arguments)
    return Tensor(single=shape in (SCALAR, ONE), shape=shape)


def checkpointed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    if not arguments:
        return NONE
    inner = m.call(arguments[0], arguments[1:], {}, site)
    return Tensor(m.record(site, [inner], True)) if isinstance(inner, Tensor) else inner


def first_argument(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return arguments[0] if arguments else NONE


def plain(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Plain(("torch", site, m.now()))


def packed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """A `PackedSequence` is no tensor: its `.data` has the graph of what was packed."""
    node = m.record(site, arguments[:1], True)
    made = Opaque(("packed", site, m.now()), node)
    made.attributes["data"] = Tensor(node)
    return made


def padded(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Sequence("tuple", [Tensor(m.record(site, arguments[:1], True)), Tensor()])


def scaler(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Opaque(("scaler", site, m.now()))


def kl(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Tensor(m.record(site, arguments, True))


SPECIAL: dict[str, Callable[[Interpreter, Arguments, Keywords, ast.AST], Value]] = {
    "torch.no_grad": grad_mode(False), "torch.inference_mode": grad_mode(False), "torch.enable_grad": grad_mode(True),
    "torch.set_grad_enabled": set_grad_enabled, "torch.nn.Parameter": parameter, "torch.autograd.Variable": variable,
    "torch.tensor": from_data, "torch.FloatTensor": typed, "torch.as_tensor": from_data, "torch.from_numpy": from_data,
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


def with_mode(mode: GradMode, arguments: Arguments) -> Value:
    """`torch.no_grad()(function)`."""
    if arguments and isinstance(arguments[0], Function) and mode.enabled is not None:
        arguments[0].wrappers.append("enable_grad" if mode.enabled else "no_grad")
    return arguments[0] if arguments else NONE
