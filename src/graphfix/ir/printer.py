"""Code objects as text."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import Argument, Instruction, Item
from graphfix.ir.variables import Variable
from graphfix.lazy_dataclass import fields


def shown(code: Code) -> Iterator[str]:
    """The lines that show a code object."""
    yield f"code {code.name or '<module>'}({', '.join(each.name for each in code.signature)})"
    for block in code.blocks:
        yield f"  {heading(block)}"
        for instruction in block.instructions:
            line = getattr(instruction.node, "lineno", None)
            where = f"{line:5}" if line is not None else "     "
            yield f"  {where}  {shown_instruction(instruction)}"


def heading(block: Block) -> str:
    loop = f" header of {type(block.loop).__name__}" if block.loop is not None else ""
    handler = f" errors to b{block.handler.number}" if block.handler is not None else ""
    handling = f" handling {', '.join(f'%{each}' for each in block.handling)}" if block.handling else ""
    return f"b{block.number}:{loop}{handling}{handler}"


def shown_instruction(instruction: Instruction) -> str:
    names = [field.name for field in fields(instruction)][2:]
    values = [(name, getattr(instruction, name)) for name in names]
    given = " ".join(text for name, value in values if (text := shown_field(name, value, name in instruction.uses)))
    result = f"%{instruction.result} = " if instruction.result is not None else ""
    return f"{result}{type(instruction).__name__} {given}".rstrip()


def shown_field(name: str, value: object, used: bool) -> str:
    """A field of an instruction; nothing where it says nothing. `used`: numbers in it are those of values."""
    if isinstance(value, Block):
        return f"{name}=b{value.number}"
    if isinstance(value, Variable):
        return f"{value.name}:{value.home.name.lower()}"
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, ast.AST):
        return f"{type(value).__name__}@{getattr(value, 'lineno', 0)}"
    if isinstance(value, (Item, Argument)):
        return shown_part(value)
    if isinstance(value, tuple):
        return f"({', '.join(shown_field(name, each, used) for each in value)})" if value else ""
    if type(value) is int and used:
        return f"%{value}"
    if name == "value":
        return repr(value)
    return "" if value is None or value is False or value == "" else f"{name}={value}"


def shown_part(part: Item | Argument) -> str:
    before = part.name if isinstance(part, Argument) else None
    if isinstance(part, Item) and part.key is not None:
        before = f"%{part.key}"
    sign = "=" if isinstance(part, Argument) else ": "
    return f"{before}{sign}%{part.value}" if before is not None else f"{'*' * part.stars}%{part.value}"
