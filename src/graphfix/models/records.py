"""Named tuples and dataclasses: what is made of one, and of its fields."""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.places import made_here
from graphfix.interpreter.values import Arguments, Class, Instance, Keywords, Mapping, Value
from graphfix.models.registry import models


@models("dataclasses.replace", "copy.replace")
def replaced(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """The same record but for the fields that are given."""
    if not arguments or not isinstance(arguments[0], Instance):
        return None
    made = Instance(arguments[0].cls, ("replaced", arguments[0].key, m.now()))
    made.context = m.context
    made.attributes = {**arguments[0].attributes, **keywords}
    return made


def named_tuple_method(
    m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """A method that Python gives to all named tuples; None where it is none of these.

    https://docs.python.org/3/library/collections.html#collections.somenamedtuple._replace
    """
    if isinstance(receiver, Class) and receiver.is_tuple() and name == "_make" and arguments:
        return m.call(receiver, iterate(m, arguments[0], site), {}, site)
    if not isinstance(receiver, Instance) or not receiver.cls.is_tuple():
        return None
    if name == "_replace":
        return replaced(m, [receiver], keywords, site)
    if name == "_asdict":
        fields = receiver.cls.fields or ()
        return made_here(m, Mapping({field: receiver.attributes[field] for field in fields if field in receiver.attributes}))
    return None
