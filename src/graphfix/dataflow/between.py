"""Questions about what lies between two points: on some way, on every way, within one iteration."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from graphfix.dataflow.solver import Direction, Over, solve
from graphfix.dataflow.ways import Ways, may_raise
from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Instruction

Instructions = Collection[Instruction]


def arrives(ways: Ways, begin: Instructions, at: Instruction, stops: Instructions, from_entry: bool = False) -> bool:
    """Whether a way leads from behind one of `begin`, or from the entry, to before `at` without passing one of `stops`."""
    return any(arriving(ways, begin, stops, [at], from_entry))


def arriving(
    ways: Ways,
    begin: Instructions,
    stops: Instructions,
    ends: Iterable[Instruction],
    from_entry: bool = False,
    after: bool = False,
) -> Iterator[Instruction]:
    """Those of `ends` to which a way leads from behind one of `begin` (or from the entry) without passing one of `stops`.

    `after`: to behind them, instead of to before them.
    """
    gen = dict.fromkeys(begin, 1)
    solution = solve(ways, gen, dict.fromkeys(stops, 1), Direction.FORWARD, Over.SOME, int(from_entry))
    for each in ends:
        if (solution.after(each) if after else solution.before(each)) & 1:
            yield each


def in_same_iteration(ways: Ways, begin: Instruction, at: Instruction) -> bool:
    """Whether `at` may run after `begin` before any loop around both of them goes round again."""
    block, index = ways.position[begin]
    other, end = ways.position[at]
    if block is other and index < end:
        return True
    shared = {loop for loop in block.loops if loop in other.loops}
    return other in leading(ways, [block], shared)


def leading(ways: Ways, begin: Iterable[Block], closed: set[ast.AST] = frozenset()) -> set[Block]:  # type: ignore[assignment]
    """The blocks that may run after those of `begin`, while the loops in `closed` do not go round again."""
    found: set[Block] = set()
    pending = list(begin)
    while pending:
        block = pending.pop()
        raising = [block.handler] if block.handler is not None and any(map(may_raise, block.instructions)) else []
        for target in (*ways.successors[block], *raising):
            if target not in found and not (target.loop in closed and target.loop in block.loops):
                found.add(target)
                pending.append(target)
    return found
