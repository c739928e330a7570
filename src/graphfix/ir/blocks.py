"""Blocks and code objects: instructions in the order in which they run, and the ways between them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.ir.instructions import Instruction
    from graphfix.ir.variables import Scope, Variable


@dataclass(slots=True, eq=False)
class Block:
    """Instructions that run one after the other; the last one says where it goes on.

    `handler`: where an exception in this block goes; None: out of the code object.
    `loop`: the loop whose header this is, a statement or the `for` of a comprehension. `loops`: all that it lies in, the outermost
    first; a header lies in its loop. `handling`: the exceptions (results of `Catch`) that are being handled here.
    """

    number: int
    handler: Block | None
    loops: tuple[ast.AST, ...]
    handling: tuple[int, ...] = ()
    loop: ast.AST | None = None
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def successors(self) -> tuple[Block, ...]:
        """Where it goes on when nothing is raised; empty where the code object ends."""
        return self.instructions[-1].targets if self.instructions else ()


@dataclass(slots=True, eq=False)
class Signature:
    """The parameters of a function, as they may be given."""

    positional_only: tuple[Variable, ...] = ()
    positional: tuple[Variable, ...] = ()
    rest: Variable | None = None
    keyword_only: tuple[Variable, ...] = ()
    keywords: Variable | None = None

    def __iter__(self) -> Iterator[Variable]:
        """All of them in order, those with stars at the end."""
        yield from (*self.positional_only, *self.positional, *self.keyword_only)
        yield from (each for each in (self.rest, self.keywords) if each is not None)


@dataclass(slots=True, eq=False)
class Code:
    """A module, function, lambda, class body or generator expression, lowered.

    `node`: its syntax. `blocks`: the first one is the entry. `givers`: the instruction that gives each value.
    """

    node: ast.AST
    scope: Scope
    name: str
    signature: Signature
    is_generator: bool
    is_coroutine: bool
    blocks: list[Block]
    givers: list[Instruction]
    opaque: list[ast.AST] = field(default_factory=list)

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    def instructions(self) -> Iterator[Instruction]:
        """All instructions, block by block."""
        for block in self.blocks:
            yield from block.instructions
