"""Objects that a program imports out of a file that cannot be read: what it does with them tells what they are."""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Arguments, Keywords, Unknown, Value
from graphfix.models.amp import acts_as_scaler
from graphfix.models.words import PROVES_MODULE


def call_imported(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """A call of an imported object or of a method of it, by qualified name; None where nothing tells that it is an object.

    A library has no function `parameters()` under the name of something that is imported from it: only a module has.
    """
    owner, _, word = name.rpartition(".")
    if "." in owner and (word in PROVES_MODULE and not arguments or acts_as_scaler(m, site)):
        m.imported.setdefault(owner, Unknown(("imported", owner)))
    parts: list[str] = []
    while name and name not in m.imported:
        name, _, word = name.rpartition(".")
        parts.insert(0, word)
    if not name:
        return None
    value: Value = m.imported[name]
    for part in parts[:-1]:
        value = m.get_attribute(value, part, site)
    return m.call_method(value, parts[-1], arguments, keywords, site) if parts else m.call(value, arguments, keywords, site)
