"""One iteration of a loop: how it begins and ends, and what it reads of the one before."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.dataflow.between import arriving
from graphfix.dataflow.definitions import read_by, written_by
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Instruction, MakeClass, MakeFunction, Opaque, Return
from graphfix.ir.variables import Variable
from graphfix.source.subtree import subtree


def beginnings(ways: Ways, loop: ast.AST) -> list[Instruction]:
    """The jumps behind which an iteration of a loop begins, be it the first or a later one."""
    return [block.instructions[-1] for block in ways.code.blocks if any(each.loop is loop for each in ways.successors[block])]


def going_round(ways: Ways, loop: ast.AST) -> list[Instruction]:
    """The ends of an iteration behind which the next one begins."""
    return [each for each in beginnings(ways, loop) if loop in ways.position[each][0].loops]


def endings(ways: Ways, loop: ast.AST) -> list[Instruction]:
    """The ends of an iteration, but for errors: what goes round, leaves the loop or returns."""
    inside = [block for block in ways.code.blocks if loop in block.loops and block.loop is not loop]
    return [
        block.instructions[-1]
        for block in inside
        if block.instructions[-1].targets and any(loop not in each.loops or each.loop is loop for each in ways.successors[block])
        or isinstance(block.instructions[-1], Return)
    ]


def leaving(ways: Ways, inside: Iterable[Instruction]) -> Iterator[Instruction]:
    """The instructions of a region behind which something outside of it runs."""
    inside = list(inside)
    own = set(inside)
    for each in inside:
        block, index = ways.position[each]
        behind = block.instructions[index + 1 : index + 2] or [target.instructions[0] for target in ways.successors[block]]
        if any(later not in own for later in behind):
            yield each


def exposed_reads(ways: Ways, loop: ast.AST, name: str, stops: Iterable[Instruction] = ()) -> Iterator[Instruction]:
    """The reads of a name that may meet, within an iteration, what it held when that began.

    A function that is made in the loop and reads the name counts as a read. `stops`: no way goes on behind these.
    """
    inside, variable = within(ways, loop), ways.code.scope.variable(name)
    reads = [each for each in inside if variable in read_by(each) or is_read_inside(each, name)]
    return arriving(ways, beginnings(ways, loop), [*writing(inside, variable), *stops], reads)


def keeps_name(ways: Ways, loop: ast.AST, name: str) -> bool:
    """Whether an iteration may end without having bound a name anew."""
    writes = writing(within(ways, loop), ways.code.scope.variable(name))
    return any(True for _ in arriving(ways, beginnings(ways, loop), writes, going_round(ways, loop)))


def within(ways: Ways, loop: ast.AST) -> list[Instruction]:
    return [each for block in ways.code.blocks if loop in block.loops for each in block.instructions]


def writing(instructions: Iterable[Instruction], variable: Variable) -> list[Instruction]:
    """The instructions that surely bind a variable."""
    return [each for each in instructions if not isinstance(each, Opaque) and variable in written_by(each)]


def is_read_inside(instruction: Instruction, name: str) -> bool:
    """Whether a function or class that is made here reads the name."""
    if not isinstance(instruction, (MakeFunction, MakeClass)):
        return False
    named = (part for part in subtree(instruction.body) if isinstance(part, ast.Name))
    return any(part.id == name and isinstance(part.ctx, ast.Load) for part in named)
