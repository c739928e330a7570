"""Attributes of tensors, of what may be one, and of modules of `torch.nn`."""

from __future__ import annotations

import ast
import re

from graphfix.effects.table import facts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.memory import view
from graphfix.interpreter.recording import Alias, AliasKind, GradientRead
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import shape_of
from graphfix.interpreter.values import BoundMethod, Instance, Mapping, NonTensor, Tensor, TorchModule, Unknown, Value
from graphfix.models.submodules import MODULES, modules_of

# how layers name their parameters; `bias` of these says whether they have any
# https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
PARAMETER = re.compile(r"(?:in_proj_|[qkv]_proj_)?(?:weight|bias)(?:$|_)")
PARAMETERS = "_parameters"
WITH_FLAG = frozenset(("RNN", "LSTM", "GRU"))


def library_attribute(m: Interpreter, value: Tensor | Unknown | TorchModule | Instance, name: str, site: ast.AST) -> Value:
    """What torch has under the name of an attribute."""
    if isinstance(value, Instance):
        return modules_of(value) if name == MODULES else Unknown(("attribute", value.key, name))
    return layer_attribute(value, name) if isinstance(value, TorchModule) else tensor_attribute(m, value, name, site)


def tensor_attribute(m: Interpreter, value: Tensor | Unknown, name: str, site: ast.AST) -> Value:
    if isinstance(value, Unknown) and name in value.attributes:
        return value.attributes[name]
    if name == "data" and (isinstance(value, Tensor) or value.node is not None):
        m.note_cut(value)
        made = Tensor(single=value.single, base=value, is_data=True, shape=shape_of(value))
        made.severed = severed(m, site, [value])
        m.recording.aliases.append(Alias(site, m.trace(), value, made, AliasKind.DATA))
        return made
    if name in ("shape", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "ndim", "is_cuda"):
        return NonTensor((name, value.identity))
    if isinstance(value, Tensor):
        if name == "grad":
            if value.severed is not None and value.node is None and value.leaf is None:
                m.recording.unhooked.append(site)  # no backward pass comes to what was cut off
            if isinstance(site, ast.Attribute) and not value.is_data:
                m.recording.gradient_reads.append(GradientRead(site, value.node if value.leaf is None else None, m.now()))
            return Tensor()
        known = facts(f"torch.Tensor.{name}")
        if known is not None and known.kind == "attribute":
            return view(Tensor(m.record(site, [value], False), is_data=value.is_data), value, name)
        return BoundMethod(value, name)
    node = value.node if facts(f"torch.Tensor.{name}") is not None else m.element(value, name, site)
    made = Unknown(("attribute", value.key, name), node, value.outside)
    value.attributes[name] = made
    return made


def parameters_of(layer: TorchModule) -> Mapping:
    """`layer._parameters`: the dict in which it keeps its own, and in which others may be put for them."""
    names = ("weight", "bias") if layer.leaf is not None and layer.kind not in WITH_FLAG else ()
    held = {name: layer.attributes.get(name, Tensor(leaf=layer.leaf)) for name in names}
    made = layer.attributes[PARAMETERS] = Mapping(held, open_=True)
    return made


def layer_attribute(value: TorchModule, name: str) -> Value:
    if name == MODULES:
        return modules_of(value)
    if name == "module" and value.kind == "DataParallel" and value.children:
        return value.children[0]
    if name == PARAMETERS:
        return parameters_of(value)
    kept = value.attributes.get(PARAMETERS)
    if isinstance(kept, Mapping) and name in kept.items:
        return kept.items[name]
    if PARAMETER.match(name) and not (name == "bias" and value.kind in WITH_FLAG) and value.leaf is not None:
        return Tensor(leaf=value.leaf)
    if name in ("running_mean", "running_var", "num_batches_tracked"):
        return Tensor()
    if value.children is not None and name.isdigit() and int(name) < len(value.children):
        return value.children[int(name)]
    if facts(f"torch.nn.{value.kind}.{name}") is None and not name.endswith(
        ("features", "size", "channels", "dim", "layers", "p", "stride")
    ):
        return BoundMethod(value, name)
    return NonTensor((name, value.serial))
