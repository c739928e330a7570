"""What a program asks of its own values, and sets on them: `isinstance`, `type`, `getattr`, `setattr`, `MethodType` and their kind."""

from __future__ import annotations

import ast

from graphfix.effects.table import facts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.lookup import find_method
from graphfix.interpreter.places import set_flag
from graphfix.interpreter.values import (
    NONE,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    identities,
)
from graphfix.models.modules import register
from graphfix.models.registry import models
from graphfix.models.submodules import is_module
from graphfix.models.tensor_attributes import PARAMETER


@models("builtins.isinstance")
def is_instance(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    if len(arguments) != 2:
        return NonTensor(("isinstance", site))
    value, wanted = arguments
    kinds = wanted.items if isinstance(wanted, Sequence) else [wanted]
    answers = [is_a(value, kind) for kind in kinds]
    if any(answer is True for answer in answers):
        return Constant(True)
    if all(answer is False for answer in answers):
        return Constant(False)
    return NonTensor(("isinstance", value.identity, *identities(kinds)))


def is_a(value: Value, kind: Value) -> bool | None:
    """Whether `value` is an instance of `kind`; None where that is not known."""
    if isinstance(value, Unknown):
        return None
    if isinstance(kind, Class):
        return isinstance(value, Instance) and kind in list(value.cls.linearised())
    return value.is_a(kind.name.rsplit(".", 1)[-1]) if isinstance(kind, External) else None


@models("builtins.getattr")
def get_named(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    if len(arguments) >= 2 and isinstance(arguments[1], Constant) and isinstance(arguments[1].value, str):
        if len(arguments) == 3 and isinstance(arguments[0], Instance) and find_method(arguments[0], arguments[1].value) is None:
            return arguments[2]
        return m.get_attribute(arguments[0], arguments[1].value, site)
    if arguments and isinstance(arguments[0], External):
        return External(f"{arguments[0].name}.<attribute>")
    if len(arguments) >= 2 and isinstance(arguments[0], TorchModule) and isinstance(site, ast.Call) and len(site.args) > 1:
        beginning = beginning_of(site.args[1])
        if beginning is not None and PARAMETER.match(beginning):
            return m.get_attribute(arguments[0], beginning, site)
    made = Unknown(("getattr", *identities(arguments)))
    if arguments and in_forward(m, arguments[0]):
        m.recording.modules.add(made.key)  # a name that is put together there is that of a layer
    return made


def beginning_of(name: ast.expr) -> str | None:
    """The constant text that a name begins with which is put together: `f"bias_hh_l{i}"`, `"weight_ih_l" + str(i)`."""
    match name:
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod() | ast.Add()):
            return text.partition("%")[0]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return text.partition("{")[0]
    return None


def in_forward(m: Interpreter, value: Value) -> bool:
    """Whether a module looks at itself in its forward pass."""
    frame = m.frames[-1] if m.frames else None
    if frame is None or frame.receiver is not value or not isinstance(value, Instance):
        return False
    return value.is_module() and getattr(frame.definition, "name", "") == "forward"


@models("builtins.callable")
def is_callable(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    value = arguments[0] if arguments else NONE
    if isinstance(value, (Function, Class)) or isinstance(value, BoundMethod) and value.function is not None:
        return Constant(True)
    return Constant(False) if isinstance(value, (Constant, Tensor, Sequence, Mapping)) else None


@models("builtins.setattr")
def set_named(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    m.recording.kept.extend(arguments[2:3])
    if len(arguments) == 3 and isinstance(arguments[1], Constant):
        attributes = arguments[0].namespace
        if arguments[1].value == "requires_grad":
            set_flag(m, arguments[0], arguments[2], site)
        if attributes is not None:
            attributes[arguments[1].value] = arguments[2]
    elif len(arguments) == 3:
        set_somewhere(m, *arguments, site)
    return NONE


def set_somewhere(m: Interpreter, holder: Value, name: Value, value: Value, site: ast.AST) -> None:
    """An attribute is set whose name is not known: whoever reads any of an object's attributes may get the value."""
    if isinstance(holder, Instance) and holder.is_module() and is_module(value):
        register(m, holder, "add_module", name, value)
    elif isinstance(holder, (Instance, TorchModule)):
        m.escape(value, site, "argument")


@models("builtins.hasattr")
def has_named(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    if len(arguments) != 2 or not isinstance(arguments[1], Constant):
        return None
    if isinstance(arguments[0], Tensor) and facts(f"torch.Tensor.{arguments[1].value}") is not None:
        return Constant(True)
    if isinstance(arguments[0], Instance):
        if find_method(arguments[0], arguments[1].value) is not None:
            return Constant(True)
        return None if arguments[0].cls.is_open() else Constant(False)
    return None


@models("builtins.type")
def type_of(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    if len(arguments) == 1 and isinstance(arguments[0], Instance):
        return arguments[0].cls
    if len(arguments) == 1 and isinstance(arguments[0], Sequence):
        return External(f"builtins.{arguments[0].kind}")
    if len(arguments) == 1 and isinstance(arguments[0], Mapping):
        return External(f"{'builtins' if arguments[0].kind == 'dict' else 'collections'}.{arguments[0].kind}")
    return NonTensor(("type", *identities(arguments)), source=arguments[0] if len(arguments) == 1 else None)


@models("types.MethodType")
def method_of(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """`layer.forward = MethodType(function, layer)`: a method that one object has of its own."""
    if len(arguments) < 2 or not isinstance(arguments[0], Function):
        return None
    return BoundMethod(arguments[1], getattr(arguments[0].definition, "name", ""), arguments[0])
