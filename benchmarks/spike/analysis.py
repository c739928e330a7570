"""The summaries of one program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from benchmarks.spike.domain import OFF, ON, Summary
from benchmarks.spike.kinds import Kinds, decorators
from graphfix.ir import instructions as ir
from graphfix.ir.variables import Variable
from graphfix.models.words import PROVES_MODULE

if TYPE_CHECKING:
    from benchmarks.spike.frames import Frame

MOST_WORK = 150_000  # instructions, and atoms that are looked at, of one program


class TooLong(Exception):
    """A program is larger than its budget."""


class Analysis:
    """The summaries of one program."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.summaries: dict[tuple[ast.AST, int], Summary | None] = {}
        self.frames: dict[ast.AST, Frame] = {}
        self.work = 0
        self.recursive: set[tuple[ast.AST, int]] = set()
        self.trained: set[str] = set()  # names of what was called and walked
        self.evaluates = False  # something is set to evaluation
        self.proved = self._proved()
        self.read_elsewhere = self._read_elsewhere()

    def summary(self, node: ast.AST, mode: int) -> Summary | None:
        """The summary of a code object; None while it is being made."""
        words = decorators(node)
        if words & {"no_grad", "inference_mode"}:
            mode = OFF
        elif "enable_grad" in words:
            mode = ON
        key = node, mode
        if key not in self.summaries:
            self.summaries[key] = None
            from benchmarks.spike.frames import Frame

            frame = Frame(self, self.kinds.codes[node], mode)
            frame.run()
            self.summaries[key] = made = frame.summary()
            if key in self.recursive and (
                made.walked or made.env or made.stepped or any(made.heap.get(a) for a in made.heap if a[0] != "O")
            ):
                made.issues["recursion", getattr(node, "name", "lambda")] = None
        elif self.summaries[key] is None:
            self.recursive.add(key)
        return self.summaries[key]

    def spend(self, amount: int) -> None:
        self.work += amount
        if self.work > MOST_WORK:
            raise TooLong

    def module(self, tree: ast.AST) -> Frame:
        """The frame of a file, run as a script."""
        if tree not in self.frames:
            from benchmarks.spike.frames import Frame

            self.frames[tree] = frame = Frame(self, self.kinds.codes[tree], ON)
            frame.run()
        return self.frames[tree]

    def _proved(self) -> set[str]:
        """The names on which something is called that only modules have."""
        found: set[str] = set()
        for code in self.kinds.codes.values():
            for each in code.instructions():
                if isinstance(each, ir.ReadAttribute) and each.name in PROVES_MODULE:
                    found.add(name_of(code.givers[each.object]))
                    self.evaluates = self.evaluates or each.name == "eval"
        return found - {""}

    def _read_elsewhere(self) -> set[Variable]:
        """The variables that code objects read which do not own them."""
        found: set[Variable] = set()
        for code in self.kinds.codes.values():
            for each in code.instructions():
                if isinstance(each, ir.ReadName) and each.variable.owner is not code.node:
                    found.add(each.variable)
        return found


def name_of(instruction: ir.Instruction) -> str:
    """The word by which an instruction comes to its value."""
    if isinstance(instruction, ir.ReadName):
        return instruction.variable.name
    return instruction.name if isinstance(instruction, ir.ReadAttribute) else ""
