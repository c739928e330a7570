"""A function that is lowered, and its instructions by the line that they stand in."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Call, Instruction, ReadName, WriteName
from graphfix.ir.lowering import Lowered


class Function:
    """The first function of a text. A call `a()` stands for a point that is asked about by its name, `a`."""

    def __init__(self, text: str, swallows: bool = True) -> None:
        tree = ast.parse(textwrap.dedent(text))
        node = next(part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef))
        self.node = node
        self.code = Lowered(tree).code(node)
        self.ways = Ways(self.code, lambda leaving: swallows)

    def calls(self, name: str) -> list[Instruction]:
        """The calls of the function of this name."""
        found = (each for each in self.code.instructions() if isinstance(each, Call))
        return [each for each in found if isinstance(each.node, ast.Call) and ast.unparse(each.node.func) == name]

    def call(self, name: str) -> Instruction:
        return self.calls(name)[0]

    def reads(self, name: str) -> list[ReadName]:
        return [each for each in self.code.instructions() if isinstance(each, ReadName) and each.variable.name == name]

    def writes(self, name: str) -> list[WriteName]:
        return [each for each in self.code.instructions() if isinstance(each, WriteName) and each.variable.name == name]

    def loops(self) -> list[ast.AST]:
        """The loops, in the order of the text."""
        found = (part for part in ast.walk(self.node) if isinstance(part, (ast.For, ast.While)))
        return sorted(found, key=lambda part: part.lineno)


@pytest.fixture
def function() -> Callable[..., Function]:
    return Function
