"""What a text becomes: its code objects and their instructions."""

from __future__ import annotations

import ast
from typing import TypeVar

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import Instruction
from graphfix.ir.lowering import Lowered

Kind = TypeVar("Kind", bound=Instruction)


def codes(text: str) -> list[Code]:
    """All code objects, the outer ones first."""
    return Lowered(ast.parse(text)).codes()


def module(text: str) -> Code:
    return codes(text)[0]


def of_kind(code: Code, kind: type[Kind]) -> list[Kind]:
    return [each for each in code.instructions() if isinstance(each, kind)]


def reachable(code: Code) -> list[Block]:
    """The blocks that some way leads to, also by an exception."""
    found = {code.entry: None}
    pending = [code.entry]
    while pending:
        block = pending.pop()
        for target in (*block.successors, *([block.handler] if block.handler is not None else [])):
            if target not in found:
                found[target] = None
                pending.append(target)
    return list(found)


def names(code: Code) -> list[str]:
    """The kinds of all instructions, in order."""
    return [type(each).__name__ for each in code.instructions()]
