"""When a value is used for the last time: the executor then forgets it, as the stack of CPython does."""

from __future__ import annotations

from dataclasses import dataclass

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import Instruction, Value


@dataclass(slots=True, eq=False)
class Plan:
    """The instructions of a block, each with the values that nothing uses behind it; `entering`: those that are used from here on."""

    steps: list[tuple[Instruction, tuple[Value, ...]]]
    entering: frozenset[Value]


def plans(code: Code) -> dict[Block, Plan]:
    """The plan of each block."""
    entering: dict[Block, frozenset[Value]] = dict.fromkeys(code.blocks, frozenset())
    changed = True
    while changed:
        changed = False
        for block in reversed(code.blocks):
            found = _plan(block, entering).entering
            if found != entering[block]:
                entering[block] = found
                changed = True
    return {block: _plan(block, entering) for block in code.blocks}


def _plan(block: Block, entering: dict[Block, frozenset[Value]]) -> Plan:
    in_handler = entering[block.handler] if block.handler is not None else frozenset()
    live = set(in_handler).union(*(entering[target] for target in block.successors))
    steps: list[tuple[Instruction, tuple[Value, ...]]] = []
    for instruction in reversed(block.instructions):
        touched = set(instruction.operands)
        result = {instruction.result} if instruction.result is not None else set()
        steps.append((instruction, tuple((touched | result) - live)))
        live = (live - result) | touched | in_handler
    return Plan(steps[::-1], frozenset(live))
