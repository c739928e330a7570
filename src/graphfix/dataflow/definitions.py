"""Reaching definitions: which instruction gave a variable the value that is read, and whether an earlier iteration ran it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from graphfix.dataflow.solver import Direction, Facts, Over, Solution, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir.blocks import Block
from graphfix.ir.instructions import DeleteName, Instruction, Opaque, Parameter, ReadName, WriteName
from graphfix.ir.variables import Variable

LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Reaching(NamedTuple):
    """A definition that reaches a point.

    `carried`: it may be that of another iteration of a loop around that point, or reach several. `loops`: those that may have gone round
    since, the outermost of each way.
    """

    definition: Instruction
    carried: bool
    loops: tuple[ast.AST, ...] = ()


class Definitions:
    """Asks which definitions of a variable reach a point, and whether from an earlier iteration, as far as the code object itself writes it.

    Each definition has a bit in several planes: in the first one for what was made since all loops around have begun their iterations,
    and one for each depth of loops for what an earlier iteration of the loop there has left. Comprehensions count as no loops.
    """

    def __init__(self, ways: Ways) -> None:
        self.ways = ways

    @cached_property
    def all(self) -> list[Instruction]:
        return [each for each in self.ways.code.instructions() if written_by(each)]

    @cached_property
    def of(self) -> dict[Variable, Facts]:
        """The bits of each variable's definitions."""
        found: dict[Variable, Facts] = {}
        for bit, each in enumerate(self.all):
            for variable in written_by(each):
                found[variable] = found.get(variable, 0) | 1 << bit
        return found

    @cached_property
    def inside(self) -> dict[ast.AST, Facts]:
        """The bits of the definitions in each loop."""
        found: dict[ast.AST, Facts] = {}
        for bit, each in enumerate(self.all):
            for loop in self.loops(self.ways.position[each][0]):
                found[loop] = found.get(loop, 0) | 1 << bit
        return found

    def loops(self, block: Block) -> list[ast.AST]:
        return [loop for loop in block.loops if isinstance(loop, LOOPS)]

    def reaching(self, at: Instruction, variable: Variable) -> list[Reaching]:
        """The definitions that may hold right before an instruction, in the order of the text."""
        return self._holding(self.solution.before(at), at, variable)

    def behind(self, at: Instruction, variable: Variable) -> list[Reaching]:
        """The same right behind it."""
        return self._holding(self.solution.after(at), at, variable)

    def _holding(self, state: Facts, at: Instruction, variable: Variable) -> list[Reaching]:
        size, around = len(self.all), self.loops(self.ways.position[at][0])
        found: dict[Reaching, None] = {}
        present, plane = 0, (1 << size) - 1
        for depth in range(len(around) + 1):
            present |= state >> size * depth & plane
        for bit in bits_of(present & self.of.get(variable, 0)):
            own = self.loops(self.ways.position[self.all[bit]][0])
            outside = own[: len(around)] != around
            if isinstance(self.all[bit], DeleteName):
                continue
            if state >> bit & 1:
                found[Reaching(self.all[bit], outside)] = None
            gone_round = tuple(loop for depth, loop in enumerate(around, 1) if state >> bit + size * depth & 1)
            if gone_round:
                found[Reaching(self.all[bit], True, gone_round)] = None
        return sorted(found, key=_place) if len(found) > 1 else list(found)

    @cached_property
    def solution(self) -> Solution:
        size = len(self.all)
        deepest = max((len(self.loops(block)) for block in self.ways.code.blocks), default=0)
        everywhere = sum(1 << size * depth for depth in range(deepest + 1))
        gen = {each: 1 << bit for bit, each in enumerate(self.all)}
        kill = {
            each: sum(self.of[variable] for variable in written_by(each)) * everywhere
            for each in self.all
            if not isinstance(each, Opaque)
        }
        return solve(self.ways, gen, kill, Direction.FORWARD, Over.SOME, 0, self.along if deepest else _unchanged)

    def along(self, source: Block, target: Block, state: Facts) -> Facts:
        """A loop that is left makes its definitions those of this iteration again; one that goes round, those of an earlier one."""
        size = len(self.all)
        plane = (1 << size) - 1
        before, after = self.loops(source), self.loops(target)
        common = sum(1 for one, other in zip(before, after) if one is other)
        for depth in range(common + 1, len(before) + 1):
            state |= state >> size * depth & plane
        state &= (1 << size * (common + 1)) - 1
        if target.loop is not None and common and after[common - 1] is target.loop and len(after) == common:
            own = self.inside.get(target.loop, 0)
            earlier = state & own
            state = state & ~own & plane | state & ~plane | earlier << size * common
        return state


def bits_of(facts: Facts) -> Iterator[int]:
    while facts:
        lowest = facts & -facts
        yield lowest.bit_length() - 1
        facts ^= lowest


def _unchanged(source: Block, target: Block, state: Facts) -> Facts:
    return state


def _place(found: Reaching) -> tuple[int, int, bool]:
    node = found.definition.node
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0), found.carried


def written_by(instruction: Instruction) -> tuple[Variable, ...]:
    """The variables that an instruction gives a value, or takes it from."""
    if isinstance(instruction, (WriteName, Parameter, DeleteName)):
        return (instruction.variable,)
    return instruction.writes if isinstance(instruction, Opaque) else ()


def read_by(instruction: Instruction) -> tuple[Variable, ...]:
    if isinstance(instruction, ReadName):
        return (instruction.variable,)
    return instruction.reads if isinstance(instruction, Opaque) else ()
