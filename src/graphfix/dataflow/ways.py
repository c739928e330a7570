"""The ways through a code object, also those that an exception takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import SILENT, Branch, Exit, Instruction

Swallows = Callable[[Exit], bool]


class Ways:
    """The control flow graph of a code object.

    An exception leaves right before the instruction that raises it. `swallows` says of an `Exit` whether its context manager may keep
    an exception from going further; where it may not, that way is none.
    """

    def __init__(self, code: Code, swallows: Swallows = lambda exit: True) -> None:
        self.code = code
        self.swallows = swallows

    @cached_property
    def position(self) -> dict[Instruction, tuple[Block, int]]:
        """The block of each instruction, and its number in there."""
        return {each: (block, index) for block in self.code.blocks for index, each in enumerate(block.instructions)}

    @cached_property
    def successors(self) -> dict[Block, tuple[Block, ...]]:
        """Where a block goes on when its last instruction raises nothing."""
        return {block: self._targets(block) for block in self.code.blocks}

    def _targets(self, block: Block) -> tuple[Block, ...]:
        last = block.instructions[-1]
        if isinstance(last, Branch):
            tested = self.code.givers[last.condition]
            if isinstance(tested, Exit) and tested.exception is not None and not self.swallows(tested):
                return (last.no,)
        return block.successors

    @cached_property
    def reachable(self) -> frozenset[Block]:
        """The blocks to which a way leads from the entry."""
        return frozenset(self._below(self.code.entry))

    def _below(self, begin: Block) -> Iterator[Block]:
        seen = {begin}
        pending = [begin]
        while pending:
            block = pending.pop()
            yield block
            raising = [block.handler] if block.handler is not None and any(map(may_raise, block.instructions)) else []
            for each in (*self.successors[block], *raising):
                if each not in seen:
                    seen.add(each)
                    pending.append(each)


def may_raise(instruction: Instruction) -> bool:
    return not isinstance(instruction, SILENT)
