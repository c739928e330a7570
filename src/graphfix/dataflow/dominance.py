"""Dominance: what has surely run whenever an instruction runs (Aho et al., Compilers, 2nd ed., section 9.6.1)."""

from __future__ import annotations

from collections.abc import Collection

from graphfix.dataflow.solver import Direction, Over, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Instruction


def dominated(ways: Ways, ones: Collection[Instruction], at: Instruction, ended_by: Collection[Instruction] = ()) -> bool:
    """Whether every way from the entry to `at` has run one of `ones`, and none of `ended_by` since. Where no way leads, it is true."""
    solution = solve(ways, dict.fromkeys(ones, 1), dict.fromkeys(ended_by, 1), Direction.FORWARD, Over.EVERY)
    return bool(solution.before(at) & 1)
