"""Methods of tensors, modules, optimizers and distributions, and of the unknown that may be one."""

from __future__ import annotations

import ast

from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Returns
from graphfix.effects.table import OpFacts, facts
from graphfix.interpreter.interning import kind_of, mentions
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.memory import note_leaf_write, view
from graphfix.interpreter.places import MOST_TAKEN, freeze, set_requires_grad, train_parameters
from graphfix.interpreter.recording import Number
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import shape_of
from graphfix.interpreter.values import (
    NONE,
    Address,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Function,
    Instance,
    Keywords,
    NonTensor,
    Optimizer,
    Parameters,
    ParametersForm,
    Partial,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    content_of_parameters,
    identities,
    leaves_in,
    nodes_in,
    note_copied,
)
from graphfix.models import autograd_calls as walks
from graphfix.models.amp import acts_as_scaler, scaler_method
from graphfix.models.devices import MOVES, moved
from graphfix.models.launchers import launcher_method
from graphfix.models.modules import (
    mode_given,
    module_method,
)
from graphfix.models.operations import (
    changed_in_place,
    operation,
)
from graphfix.models.optimizers import optimizer_method, run_closure
from graphfix.models.unknown_methods import given_to, is_strange
from graphfix.models.words import PROVES_MODULE
from graphfix.source.subtree import subtree

# which give new content
MADE_ANEW = frozenset("new new_zeros new_ones new_tensor new_full new_empty".split())
# the other tensor gives a shape, a type or a device, and gets no gradient
MODELLED_ON = frozenset("view_as expand_as reshape_as type_as to".split())
# In place: the parameters follow those that the argument is computed from
FOLLOWS = frozenset(("copy_", "add_", "lerp_", "set_"))
# results of methods that no graph goes into
WITHOUT_GRAPH = ("number", "bool", "other")
SUBMODULES = frozenset(("children", "named_children", "modules", "named_modules"))
SAVED = frozenset(("saved_tensors", "saved_variables"))


def step_by_hand(m: Interpreter, written: Parameters, site: ast.AST) -> None:
    """A loop adds their gradients to parameters, as a step of an optimizer does: `p.add_(p.grad, alpha=-lr)`.

    One that adds something else follows another network, or scales the parameters.
    """
    adds = any(isinstance(part, ast.Attribute) and part.attr == "grad" for part in subtree(site))
    if not adds or m.grad_enabled or written.form is not ParametersForm.ONE or written.some:
        return
    leaves = frozenset(leaves_in(written))
    for leaf in leaves:
        m.write_leaf(leaf, None)
    m.update(site, True, leaves)


def call_torch_method(
    m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """A method of a tensor, module, optimizer or of something unknown that may be one; None where it is not torch's."""
    if isinstance(receiver, (Tensor, Unknown)):
        return tensor_like_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Optimizer):
        return optimizer_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, TorchModule) or (isinstance(receiver, Instance) and (receiver.is_module() or receiver.cls.is_open())):
        made = walks.launcher_backward(m, name, arguments, keywords, site)
        return made if made is not None else module_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Parameters):
        if name in FOLLOWS:
            for value in arguments:
                note_copied(receiver, value)
        if name == "detach":
            return receiver.content(site)
        if name == "requires_grad_" and receiver.form is ParametersForm.DATA:
            return tensor_like_method(m, Tensor(), name, arguments, keywords, site)  # a leaf of its own
        if name in ("requires_grad_", "detach_") and receiver.form is not ParametersForm.DATA:
            off = name == "detach_" or any(value.is_off for value in (*arguments, *keywords.values()))
            train_parameters(m, receiver, not off, site)
            return receiver
        content = content_of_parameters([receiver, *arguments])
        if content is not None:
            return content
        known = facts(f"torch.Tensor.{name}")
        if known is not None and known.result in WITHOUT_GRAPH:
            return NonTensor(("method", receiver.identity, name, *identities(arguments)))
        if known is not None and known.inplace:
            step_by_hand(m, receiver, site)
        computes = known is not None and known.differentiable and known.result == "tensor" and not known.inplace
        return tensor_like_method(m, m.parameter(receiver, site), name, arguments, keywords, site) if computes else receiver
    if isinstance(receiver, Class) and receiver.applies(name):
        if marks_no_graph(receiver):
            return m.unknown(site, arguments, callee=("function", receiver.identity))
        return Tensor(m.record(site, arguments, saves_for_backward(receiver)))
    return None


def marks_no_graph(operation: Class) -> bool:
    """Whether an operation of the program's own says of something that it gives that it has no graph.

    https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.mark_non_differentiable.html
    """
    methods = (operation.find("forward"), operation.find("setup_context"))
    parts = (part for method in methods if isinstance(method, Function) for part in subtree(method.definition))
    return any(isinstance(part, ast.Attribute) and part.attr == "mark_non_differentiable" for part in parts)


def saves_for_backward(operation: Class) -> bool:
    """Whether an operation of the program's own reads saved tensors as it goes backward, which a walk frees; what `ctx` keeps stays.

    https://docs.pytorch.org/docs/stable/notes/extending.html#how-to-use
    """
    method = operation.find("backward")
    if not isinstance(method, Function):
        return True
    first = [each.arg for each in method.definition.args.args[:1]]
    parts = list(subtree(method.definition))
    handed_on = (each for part in parts if isinstance(part, ast.Call) for each in part.args if isinstance(each, ast.Name))
    return any(isinstance(part, ast.Attribute) and part.attr in SAVED for part in parts) or any(e.id in first for e in handed_on)


def without_computing(m: Interpreter, receiver: Tensor | Unknown, name: str, arguments: Arguments, site: ast.AST) -> Value | None:
    """What a method gives that records nothing: the content as a number or without its graph, or the tensor itself; None for others."""
    if name == "detach_" and isinstance(receiver, Tensor):
        m.note_cut(receiver)
        if receiver.leaf is not None:
            set_requires_grad(m, receiver, Constant(False), site)
        receiver.node = None
        receiver.is_data = False
        m.recording.written.append((receiver, True))
        return receiver
    if name == "requires_grad_" and isinstance(receiver, Tensor):
        set_requires_grad(m, receiver, arguments[0] if arguments else Constant(True), site)
        return receiver
    if name in ("item", "tolist", "numpy", "__float__", "__int__"):
        m.recording.numbers.append(Number(site, m.trace(), receiver, name, 0, m.grad_enabled))
        m.note_choice(receiver)
        return NonTensor(("read", name, receiver.identity), cut=site if name == "item" else None, source=receiver)
    if name == "detach":
        m.note_cut(receiver)
        made = Tensor(single=receiver.single, base=receiver, shape=shape_of(receiver))
        made.severed = severed(m, site, [receiver])
        return view(made, receiver, "detach")
    if name in ("register_hook", "retain_grad"):
        m.recording.asks.append(m.trace())
        if name == "retain_grad" and isinstance(receiver, Tensor) and receiver.node is not None:
            m.recording.retained.add(receiver.node)
        if isinstance(receiver, Tensor) and receiver.node is None and (receiver.leaf is None or not receiver.leaf.requires_grad):
            m.recording.unhooked.append(site)  # torch refuses it: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
        return NONE
    if name not in MADE_ANEW:
        return None
    known = facts(f"torch.Tensor.{name}")
    of_argument = known.variants.get("tensor") if known is not None else None
    return Tensor(m.record(site, arguments, False) if of_argument is not None and not of_argument.cuts else None)


def tensor_like_method(
    m: Interpreter, receiver: Tensor | Unknown, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    if isinstance(receiver, Unknown) and kind_of(receiver.key) == "launcher":
        made = launcher_method(m, receiver, name, arguments, keywords, site)
        if made is not None:
            return made
    if name == "backward":
        return walks.backward_method(m, receiver, arguments, keywords, site)
    if isinstance(receiver, Unknown):
        if any(isinstance(each, (TorchModule, Instance)) for each in arguments):
            return None  # no tensor takes such a thing
        if name in PROVES_MODULE:
            m.recording.modules.add(receiver.key)
        made = opaque_method(m, receiver, name, arguments, keywords, site)
        if made is not None:
            return made
    made = without_computing(m, receiver, name, arguments, site)
    if made is not None:
        return made
    if name in MOVES and isinstance(receiver, Tensor):
        return moved(m, receiver, name, arguments, keywords, site)
    known = facts(f"torch.Tensor.{'cpu' if name == 'cuda' else name}")
    if name == "type" and arguments and known is not None:
        known = known.variants["dtype"]
    if known is None:
        return not_in_table(m, receiver, name, arguments, site)
    if isinstance(receiver, Unknown) and receiver.node is None and not nodes_in(Sequence("tuple", arguments), False, 3):
        return opaque_without_graph(known, receiver, name, arguments, site)
    if isinstance(receiver, Tensor) and known.inplace and not m.grad_enabled:
        return changed_in_place(m, receiver, Tensor(), site=site)
    if isinstance(receiver, Tensor) and known.inplace and known.differentiable:
        note_leaf_write(m, receiver, site, site.func.value if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else None)
    values = [receiver] if name in MODELLED_ON else [receiver, *arguments, *keywords.values()]
    made = operation(m, known, values, keywords, site, name)
    if isinstance(receiver, Unknown) and isinstance(made, Tensor):
        if known.inplace:
            receiver.node = made.node or receiver.node
            return receiver
        if not known.cuts and not known.scalar:
            return Unknown(("method", receiver.key, name, *identities(arguments)), made.node)
    if isinstance(made, Tensor) and made is not receiver and made.node is None and made.base is None and known.alias:
        made.base = receiver
        made.is_data = isinstance(receiver, Tensor) and receiver.is_data
    return made


def not_in_table(m: Interpreter, receiver: Tensor | Unknown, name: str, arguments: Arguments, site: ast.AST) -> Value | None:
    """A method that computes no tensor, or that torch does not have; None for one of something unknown, of which it tells nothing."""
    if name.endswith("_"):
        m.recording.written.append((receiver, True))  # `apply_`, `map_`, `set_`
    row = row_of(f"torch.Tensor.{name}")
    if row is not None and row.observes is Observes.ADDRESS:
        return Address(("method", receiver.identity, name), receiver)
    if isinstance(receiver, Unknown):
        return None
    if row is not None and row.returns is Returns.NUMBER:
        return NonTensor(("method", receiver.identity, name, *identities(arguments)))
    node = m.record(site, [receiver, *arguments], True, certain=False, callee=("method", name))
    return Unknown(("call", site, m.now()), node)  # torch has no such method: what it gives need be no part of the graph


def opaque_without_graph(known: OpFacts, receiver: Unknown, name: str, arguments: Arguments, site: ast.AST) -> Value:
    """A method that tensors have, called on something unknown that has no graph: it has none afterwards."""
    key = ("method", receiver.key, name, *identities(arguments))
    if known.result in WITHOUT_GRAPH:
        return NonTensor(key)
    return Unknown(key).computed_from(receiver, site) if known.differentiable and not known.cuts else Unknown(key)


def opaque_method(
    m: Interpreter, receiver: Unknown, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """Methods of the unknown that mean something for the graph whatever the object is."""
    kind = kind_of(receiver.key)
    if kind == "distribution":
        return distribution_method(m, receiver, name, arguments, site)
    if kind == "scaler" or acts_as_scaler(m, site):
        return scaler_method(m, receiver, name, arguments, keywords, site)
    if name in ("train", "eval"):
        m.set_mode(receiver, (), mode_given(name, arguments, keywords), site)
        return receiver
    told_off = name == "requires_grad_" and any(value.is_off for value in (*arguments, *keywords.values()))
    if told_off or name == "detach_" and mentions(receiver.key, "parameters", MOST_TAKEN):
        freeze(m, receiver, site)
    if name in ("to", "cuda", "cpu", "double", "float", "half", "requires_grad_") and receiver.node is None:
        return receiver
    if name in ("parameters", "named_parameters"):
        return Unknown(("parameters", receiver.key))
    if name in SUBMODULES and not arguments and receiver.node is None:
        return Unknown((name, receiver.key))
    if name in ("zero_grad", "state_dict", "load_state_dict"):
        return NonTensor((name, receiver.key, m.now()))
    if name == "step" and not receiver.outside and kind != "scheduler":
        if all(
            isinstance(value, (Function, BoundMethod, Partial, Constant)) for value in arguments
        ):  # an environment is given an action
            m.update(site, True, frozenset(), complete=False)
        for value in arguments:
            if isinstance(value, (Function, BoundMethod, Partial)):
                return run_closure(m, value, site, 1)
        given = [*arguments, *keywords.values()]
        for value in given:
            m.escape(value, site, "argument")  # it may be a loss that is walked there
            m.note_reader(value, site)
        made = m.record(site, given, True, certain=False, callee=("method", receiver.key, name))
        return Unknown(("step", site, m.now()), made)
    return given_to(m, name, arguments, keywords, site) if not is_strange(receiver) else None


def distribution_method(m: Interpreter, receiver: Unknown, name: str, arguments: Arguments, site: ast.AST) -> Value:
    if name in ("sample", "sample_n", "enumerate_support"):
        return Tensor()
    if name == "expand":
        return receiver
    node = m.record(site, [receiver, *arguments], True)
    if node is not None and name == "rsample":
        node.random = True
    return Tensor(node)
