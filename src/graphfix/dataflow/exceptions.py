"""Where an exception arrives that an instruction raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphfix.dataflow.ways import Ways
from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Branch, Catch, Exit, Instruction, Match, Operator, Pattern, Raise

Catches = Callable[[Match], bool]


def ending_of(ways: Ways, instruction: Instruction, catches: Catches) -> Iterator[Instruction]:
    """What may keep an exception that `instruction` raises from leaving the code object.

    It is the `Match` of a handler or the `Exit` of a context manager behind which the program goes on; a `Catch` where a `finally`
    leaves in another way. `catches` says of a `Match` whether it may take the exception.
    """
    pending = [ways.position[instruction][0].handler]
    seen: set[Block | None] = {None}
    while pending:
        handler = pending.pop()
        if handler in seen or handler is None:
            continue
        seen.add(handler)
        ended, further = _handled(ways, handler, catches)
        yield from ended
        pending += further


def _handled(ways: Ways, handler: Block, catches: Catches) -> tuple[list[Instruction], list[Block | None]]:
    """What ends an exception that comes to `handler`, and the handlers to which it, or another one, goes from there."""
    caught = handler.instructions[0]
    assert isinstance(caught, Catch)
    ended: dict[Instruction, None] = {}
    further: list[Block | None] = []
    pending: list[tuple[Block, Instruction]] = [(handler, caught)]
    seen: set[tuple[Block, Instruction]] = set()
    while pending:
        block, by = pending.pop()
        if (block, by) in seen:
            continue
        seen.add((block, by))
        if caught.result not in block.handling:
            ended[by] = None
            continue
        last = block.instructions[-1]
        if isinstance(last, Raise):
            further.append(block.handler)
        elif not last.targets:
            ended[by] = None
        pending += _onwards(ways, block, by, catches)
    return list(ended), further


def _onwards(ways: Ways, block: Block, by: Instruction, catches: Catches) -> list[tuple[Block, Instruction]]:
    """Where a handler goes on, and what has taken the exception by then."""
    last = block.instructions[-1]
    if not isinstance(last, Branch):
        return [(target, by) for target in ways.successors[block]]
    tested = ways.code.givers[last.condition]
    if isinstance(tested, Exit):
        return [(target, tested if target is last.yes else by) for target in ways.successors[block]]
    match = ways.code.givers[tested.values[0]] if isinstance(tested, Operator) and tested.operator == "is not" else None
    if isinstance(match, Match) and match.pattern is Pattern.EXCEPTION:
        return [(last.yes, match), (last.no, by)] if catches(match) else [(last.no, by)]
    return [(target, by) for target in ways.successors[block]]
