"""Reaching definitions: which instruction gave a variable the value that is read."""

from __future__ import annotations

from functools import cached_property

from graphfix.dataflow.solver import Direction, Over, Solution, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import DeleteName, Instruction, Opaque, Parameter, ReadName, WriteName
from graphfix.ir.variables import Home, Variable

FOLLOWED = (Home.LOCAL, Home.TEMPORARY)


class Definitions:
    """Asks which definitions reach a point. Variables that other code may write (cells, globals) are not followed."""

    def __init__(self, ways: Ways) -> None:
        self.ways = ways

    @cached_property
    def all(self) -> list[Instruction]:
        """The instructions that give a variable a value, or take it away; the number of each is its bit."""
        return [each for each in self.ways.code.instructions() if written_by(each)]

    def of(self, read: ReadName) -> list[Instruction] | None:
        """The definitions that may have given what is read; None where other code may have given it."""
        if read.variable.home not in FOLLOWED:
            return None
        return self.reaching(read, read.variable)

    def reaching(self, at: Instruction, variable: Variable) -> list[Instruction]:
        """The definitions of a variable of this code that may hold right before an instruction."""
        state = self.solution.before(at)
        return [each for bit, each in enumerate(self.all) if state >> bit & 1 and variable in written_by(each)]

    def behind(self, instruction: Instruction) -> list[Instruction]:
        """The definitions, of any variable, that may hold right behind an instruction."""
        state = self.solution.after(instruction)
        return [each for bit, each in enumerate(self.all) if state >> bit & 1]

    @cached_property
    def solution(self) -> Solution:
        of: dict[Variable, int] = {}
        for bit, each in enumerate(self.all):
            for variable in written_by(each):
                of[variable] = of.get(variable, 0) | 1 << bit
        gen = {each: 1 << bit for bit, each in enumerate(self.all)}
        # what is not lowered may write, or not
        kill = {each: of[written_by(each)[0]] for each in self.all if not isinstance(each, Opaque)}
        return solve(self.ways, gen, kill, Direction.FORWARD, Over.SOME)


def written_by(instruction: Instruction) -> tuple[Variable, ...]:
    """The variables that an instruction gives a value, or takes it from."""
    if isinstance(instruction, (WriteName, Parameter, DeleteName)):
        return (instruction.variable,)
    return instruction.writes if isinstance(instruction, Opaque) else ()


def read_by(instruction: Instruction) -> tuple[Variable, ...]:
    if isinstance(instruction, ReadName):
        return (instruction.variable,)
    return instruction.reads if isinstance(instruction, Opaque) else ()
