"""What the text of a function says of all of its calls."""

from __future__ import annotations

import ast

from graphfix.interpreter.values import Class, Constant, Function, Mapping, NonTensor, Sequence, Value
from graphfix.source.builtin_names import builtin_of
from graphfix.source.subtree import kept_with_node, subtree

SWITCHES = frozenset(("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"))


def is_abstract(definition: ast.AST, owner: Class | None) -> bool:
    """A method that only says that a subclass defines it, or that does nothing until one does; `__init__` and its kind just do nothing."""
    name = getattr(definition, "name", "")
    statements = definition.body if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)) else [definition]
    body = [s for s in statements if not isinstance(s, ast.Pass) and not is_constant(s)]
    if not body:
        return owner is not None and not name.startswith("__")
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplemented" in ast.unparse(body[0])


def is_constant(statement: ast.stmt) -> bool:
    """A docstring, or `...`."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def holds_no_graph(function: Function, given: list[Value]) -> bool:
    """Whether a function gets no tensor, module or object, and names nothing but Python itself: its loops need one iteration."""
    return all(is_plain(value) for value in given) and names_only_python(function.definition)


def is_plain(value: Value) -> bool:
    if isinstance(value, (Sequence, Mapping)):
        return all(is_plain(part) for part in value.parts())
    return isinstance(value, (Constant, NonTensor))


@kept_with_node
def names_only_python(definition: ast.AST) -> bool:
    """Whether all names that a function reads are its own, or Python's."""
    parts = list(subtree(definition))
    if any(isinstance(part, (ast.Global, ast.Nonlocal)) for part in parts):
        return False
    names = [part for part in parts if isinstance(part, ast.Name)]
    own = {part.arg for part in parts if isinstance(part, ast.arg)} | {getattr(definition, "name", "")}
    own |= {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    return all(name.id in own or builtin_of(name.id) is not None for name in names)


@kept_with_node
def switches_recording(tree: ast.Module) -> bool:
    """Whether code of a module may switch recording off or on: what its decorators do then is no formality."""
    return any(
        (part.attr if isinstance(part, ast.Attribute) else part.id) in SWITCHES
        for part in subtree(tree)
        if isinstance(part, (ast.Attribute, ast.Name))
    )
