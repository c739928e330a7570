"""Methods of objects of which nothing is known, by what the rows of all classes say that have one of the name."""

from __future__ import annotations

import ast

from graphfix.effects.methods import is_of_tensor, rows_of_method
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Puts
from graphfix.effects.table import facts
from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.networks import PARTS
from graphfix.interpreter.values import Arguments, Constant, Keywords, Mapping, NonTensor, Unknown, Value


def is_strange(receiver: Unknown) -> bool:
    """Whether a library has made an object of which nothing is known: its methods are none that have rows."""
    key: object = receiver.key
    while isinstance(key, Key) and key.parts and key.parts[0] in PARTS:
        key = key.parts[1]
    made_by = kind_of(key)
    return isinstance(made_by, str) and ("." in made_by or made_by == "imported") and row_of(made_by) is None and facts(made_by) is None


def given_to(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """A method that gives no part of a graph in any class that is known to have one of its name; None where one may."""
    rows = rows_of_method(name)
    if any(map(is_of_tensor, rows)):
        rows = tuple(row for row in rows if not is_of_tensor(row)) if any(map(is_for_no_tensor, arguments)) else ()
    if not all(isinstance(value, (Constant, NonTensor)) for value in (*arguments, *keywords.values())):
        rows = tuple(row for row in rows if not row.of_texts)
    if not rows or not all(row.gives_no_graph for row in rows):
        return None
    kept = any(row.puts is not Puts.NOTHING or row.keeps or row.calls for row in rows)
    for value in (*arguments, *keywords.values()):
        if kept:
            m.escape(value, site, "argument")
        if kept or not all(row.takes_numbers for row in rows):
            m.note_reader(value, site)
    return NonTensor((name, site, m.now()))


def is_for_no_tensor(value: Value) -> bool:
    """Whether no method of a tensor takes such a thing: a text, or a mapping."""
    return isinstance(value, Mapping) or isinstance(value, Constant) and isinstance(value.value, str)
