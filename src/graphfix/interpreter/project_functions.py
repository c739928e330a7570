"""Calls of functions and methods of which the project itself says what they do: rows in its settings."""

from __future__ import annotations

import ast

from graphfix.effects.project_rows import added_methods, added_row
from graphfix.effects.rows import shipped_methods_named
from graphfix.effects.schema import Returns, Row
from graphfix.effects.table import facts
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import (
    Arguments,
    BoundMethod,
    External,
    Function,
    Instance,
    Keywords,
    NonTensor,
    Tensor,
    Unknown,
    Value,
)


def row_of_callee(callee: Value, spelled: str) -> Row | None:
    """The row of a function that is called by a name; `spelled`: the name, where nothing is known of the function.

    Code in sight says itself what it does: a row is asked only where it holds for that, too.
    """
    row = added_row(qualified(callee) or spelled)
    return row if row is not None and (isinstance(callee, External) or row.even_in_sight) else None


def row_of_method(receiver: Value, method: Value | None, name: str) -> Row | None:
    """The row of a method, or of a function of a module (`receiver.name`). `method`: what code in sight defines it as."""
    row = added_row((qualified(method) if method is not None else f"{qualified(receiver)}.{name}").lstrip("."))
    if row is not None and (row.even_in_sight or isinstance(receiver, External)):
        return row
    return row_on(receiver, name) if method is None else None


def row_on(receiver: Value, name: str) -> Row | None:
    """The row of a method of an object: of its class where that is known, else the only one that a method of this name can mean."""
    rows = {row.of_class: row for row in added_methods(name)}
    if isinstance(receiver, Instance):
        return next((rows[base] for base in receiver.cls.external_bases() if base in rows), None)
    if not isinstance(receiver, Unknown):
        return None
    made_by = kind_of(receiver.key)
    if isinstance(made_by, str) and made_by in rows:
        return rows[made_by]
    is_theirs = len(rows) == 1 and not shipped_methods_named(name) and facts(f"torch.Tensor.{name}") is None
    return next(iter(rows.values())) if is_theirs else None


def by_row(
    m: Interpreter, row: Row, receiver: Value | None, arguments: Arguments, keywords: Keywords, site: ast.Call
) -> Value | None:
    """What a call gives by a row; None where that does not say enough, so that the call is one of unknown code."""
    if row.backward:
        return m.models.launched(m, arguments, keywords, site)
    if row.keeps or row.writes or row.calls or row.attribute:
        return None  # what becomes of what it is given is not followed
    of_method = receiver is not None and bool(row.of_class)
    own = [receiver] if receiver is not None and of_method and not row.of_arguments else []
    values = [*own, *arguments, *keywords.values()]
    if row.returns is Returns.ITSELF and receiver is not None:
        return receiver
    if row.returns is Returns.MADE:
        return Tensor(m.record(site, values, True))
    if row.returns is Returns.NUMBER:
        return NonTensor((row.name, site, m.now()))
    return Unknown((row.name, site, m.now()), m.record(site, values, True))


def qualified(callee: Value) -> str:
    """The name under which a function or class would be imported; empty for what has none."""
    if isinstance(callee, External):
        return callee.name
    if isinstance(callee, BoundMethod) and callee.function is not None:
        return qualified(callee.function)
    if isinstance(callee, Function) and not isinstance(callee.definition, ast.Lambda):
        return f"{callee.env.document.name}.{callee.definition.name}"
    return ""
