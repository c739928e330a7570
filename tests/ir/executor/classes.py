"""Classes: the body runs in the namespace that the metaclass has prepared."""

from __future__ import annotations

import ast
import types
from collections.abc import MutableMapping
from typing import Any

from graphfix.ir.instructions import MakeClass

from .calls import spread
from .frames import Frame
from .outcomes import finish


def made_class(frame: Frame, instruction: MakeClass) -> Any:
    given, keywords = spread(frame, instruction.bases)
    bases = types.resolve_bases(given)
    kind, names, keywords = types.prepare_class(instruction.body.name, bases, keywords)
    if not hasattr(type(names), "__getitem__"):
        maker = kind.__name__ if isinstance(kind, type) else "<metaclass>"
        raise TypeError(f"{maker}.__prepare__() must return a mapping, not {type(names).__name__}")
    inner = run_body(frame, instruction.body, names)
    if bases is not given:
        names["__orig_bases__"] = given
    made = frame.program.call(kind, (instruction.body.name, bases, names), keywords)
    if inner is not None and isinstance(made, type):
        check(inner, instruction.body.name, made)
    return made


def run_body(frame: Frame, node: ast.ClassDef, names: MutableMapping[str, Any]) -> types.CellType | None:
    """Run the body of a class; the cell of `__class__`, if a method reads it."""
    program = frame.program
    code = program.lowered.code(node)
    inner = Frame(program, code, {variable: frame.cell(variable) for variable in program.captured(node)}, [])
    inner.names = names
    names["__module__"] = program.namespace["__name__"] if "__name__" not in names else names["__name__"]
    names["__qualname__"] = code.name
    text = ast.get_docstring(node, clean=False)
    if text is not None:
        names["__doc__"] = text
    finish(program.start(inner))
    if "__class__ of methods" not in code.scope.own:
        return None
    cell = inner.cell(code.scope.class_cell())
    names["__classcell__"] = cell
    return cell


def check(cell: types.CellType, name: str, made: type) -> None:
    try:
        held = cell.cell_contents
    except ValueError:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {made!r}. Was __classcell__ propagated to type.__new__?"
        ) from None
    if held is not made:
        raise TypeError(f"__class__ set to {held!r} defining {name!r} as {made!r}")
