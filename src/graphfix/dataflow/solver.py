"""The solver: sets of facts that instructions make true or end, carried along all ways until nothing changes.

The classic framework of gen and kill sets over a lattice of bit sets (Kildall, https://doi.org/10.1145/512927.512945; Aho et al.,
Compilers, 2nd ed., section 9.3). A set is an integer, a fact a bit of it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import field

from graphfix.dataflow.ways import Ways, may_raise
from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Instruction, Return
from graphfix.lazy_dataclass import dataclass

Facts = int
Along = Callable[[Block, Block, Facts], Facts]
ALL: Facts = -1


class Direction(enum.Enum):
    """Along the ways of the program, or against them."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Over(enum.Enum):
    """Which ways count: a fact holds at a point if it comes there by one of them, or by all."""

    SOME = "may"
    EVERY = "must"

    def join(self, one: Facts, other: Facts) -> Facts:
        return one | other if self is Over.SOME else one & other

    @property
    def nothing_known(self) -> Facts:
        """What holds where no way comes from: it changes nothing at a join."""
        return 0 if self is Over.SOME else ALL


@dataclass(eq=False)
class Solution:
    """What holds before and after each instruction, in the order in which the program runs."""

    ways: Ways
    gen: Mapping[Instruction, Facts]
    kill: Mapping[Instruction, Facts]
    direction: Direction
    over: Over
    entering: dict[Block, Facts] = field(default_factory=dict)
    raised: dict[Block, Facts] = field(default_factory=dict)
    _latest: tuple[Block | None, int, Facts] = (None, 0, 0)

    def before(self, instruction: Instruction) -> Facts:
        return self._around(instruction)[0]

    def after(self, instruction: Instruction) -> Facts:
        return self._around(instruction)[1]

    def _around(self, instruction: Instruction) -> tuple[Facts, Facts]:
        block, index = self.ways.position[instruction]
        if self.direction is Direction.FORWARD:
            # most questions come in the order of the code
            known, begin, state = self._latest if self._latest[0] is block and self._latest[1] <= index else (block, 0, self.entering[block])
            for each in block.instructions[begin:index]:
                state = self.through(each, state)
            self._latest = known, index, state
            return state, self.through(instruction, state)
        state = self.entering[block]
        for each in reversed(block.instructions[index + 1 :]):
            state = self.against(each, state, block)
        return self.against(instruction, state, block), state

    def through(self, instruction: Instruction, state: Facts) -> Facts:
        return state & ~self.kill.get(instruction, 0) | self.gen.get(instruction, 0)

    def against(self, instruction: Instruction, state: Facts, block: Block) -> Facts:
        """What holds before an instruction, by what holds behind it, or in the handler if it raises."""
        state = self.through(instruction, state)
        if block.handler is not None and may_raise(instruction):
            return self.over.join(state, self.raised.get(block.handler, self.over.nothing_known))
        return state


def solve(
    ways: Ways,
    gen: Mapping[Instruction, Facts],
    kill: Mapping[Instruction, Facts],
    direction: Direction,
    over: Over,
    begin: Facts = 0,
    along: Along = lambda source, target, state: state,
) -> Solution:
    """What holds at each point of a code object.

    `gen`, `kill`: the facts that an instruction makes true, and ends; where it does both, it ends those from before.
    `begin`: what holds at the entry (`FORWARD`), or where the code object returns (`BACKWARD`). Where no way leads, and where an
    exception leaves the code object, a fact holds by `EVERY` way and by `SOME` none.
    `along`: what becomes of the facts on the way from one block to another (`FORWARD` only).
    """
    solution = Solution(ways, gen, kill, direction, over)
    if direction is Direction.FORWARD:
        _forward(solution, begin, along)
    else:
        _backward(solution, begin)
    return solution


def _forward(solution: Solution, begin: Facts, along: Along) -> None:
    ways, over = solution.ways, solution.over
    blocks = ways.code.blocks
    entering = solution.entering
    entering.update((block, over.nothing_known) for block in blocks)
    entering[ways.code.entry] = over.join(entering[ways.code.entry], begin) if over is Over.SOME else begin
    pending = dict.fromkeys(block for block in blocks if block in ways.reachable)
    while pending:
        block = next(iter(pending))
        del pending[block]
        state = entering[block]
        raised = over.nothing_known
        for instruction in block.instructions:
            if block.handler is not None and may_raise(instruction):
                raised = over.join(raised, state)
            state = solution.through(instruction, state)
        targets = [(target, state) for target in ways.successors[block]]
        if block.handler is not None:
            targets.append((block.handler, raised))
        for target, arriving in targets:
            joined = over.join(entering[target], along(block, target, arriving))
            if joined != entering[target]:
                entering[target] = joined
                pending[target] = None


def _backward(solution: Solution, begin: Facts) -> None:
    """`entering` is what holds behind the last instruction of a block, `raised` what holds where a handler begins."""
    ways, over = solution.ways, solution.over
    blocks = ways.code.blocks
    before: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for target in ways.successors[block]:
            before[target].append(block)
        if block.handler is not None:
            before[block.handler].append(block)
    starts: dict[Block, Facts] = solution.raised
    starts.update((block, over.nothing_known) for block in blocks)
    pending = dict.fromkeys(reversed(blocks))
    while pending:
        block = next(iter(pending))
        del pending[block]
        state = over.nothing_known
        for target in ways.successors[block]:
            state = over.join(state, starts[target])
        if not block.instructions[-1].targets:
            state = begin if _returns(block) else over.nothing_known
        solution.entering[block] = state
        for instruction in reversed(block.instructions):
            state = solution.against(instruction, state, block)
        if state != starts[block]:
            starts[block] = state
            pending.update(dict.fromkeys(before[block]))


def _returns(block: Block) -> bool:
    return isinstance(block.instructions[-1], Return)
