"""Liveness: whether what a variable holds may still be read."""

from __future__ import annotations

from functools import cached_property

from graphfix.dataflow.definitions import read_by, written_by
from graphfix.dataflow.solver import Direction, Over, Solution, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Instruction, Opaque
from graphfix.ir.variables import Variable


class Liveness:
    """Asks which variables a code object may still read itself. Where it returns, none of them is live."""

    def __init__(self, ways: Ways) -> None:
        self.ways = ways

    @cached_property
    def bits(self) -> dict[Variable, int]:
        named = (v for each in self.ways.code.instructions() for v in (*read_by(each), *written_by(each)))
        return {variable: 1 << number for number, variable in enumerate(dict.fromkeys(named))}

    @cached_property
    def solution(self) -> Solution:
        code = self.ways.code
        gen = {each: self._set(read_by(each)) for each in code.instructions() if read_by(each)}
        kill = {each: self._set(written_by(each)) for each in code.instructions() if written_by(each) and not isinstance(each, Opaque)}
        return solve(self.ways, gen, kill, Direction.BACKWARD, Over.SOME)

    def _set(self, variables: tuple[Variable, ...]) -> int:
        return sum(self.bits[variable] for variable in dict.fromkeys(variables))

    def before(self, instruction: Instruction, variable: Variable) -> bool:
        """Whether the variable may be read from here on, before it is written."""
        return bool(self.solution.before(instruction) & self.bits.get(variable, 0))
