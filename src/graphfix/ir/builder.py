"""What lowering writes with: the block that is open, the exits that are pending, and steps that never recurse.

A step of lowering is a generator: it yields the syntax below it, or another step, and is sent what that gives. `Builder.run`
keeps the steps that wait on a stack of its own, so that the depth of a program costs no stack of Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Sequence
from types import GeneratorType
from typing import Any

from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Instruction, Jump, Opaque, ReadName, Value, WriteName
from graphfix.ir.variables import Home, Scope, Variable, names_bound, within
from graphfix.lazy_dataclass import dataclass

Steps = Generator[Any, Any, Any]
Handler = Callable[["Builder", Any], Any]
# instructions of copied `finally` bodies, after which one is opaque: each exit has a copy, so that nesting would double them
MOST_COPIED = 5000


@dataclass(slots=True, eq=False)
class Loop:
    """A loop that is being lowered: where `continue` and `break` go."""

    node: ast.AST
    again: Block
    behind: Block


@dataclass(slots=True, eq=False)
class Finally:
    """Steps that run on each way out of a region; `handler`, `loops` and `caught` are those around it."""

    steps: Callable[[], Steps]
    handler: Block | None
    loops: tuple[ast.AST, ...]
    caught: list[Value]


class Builder:
    """Writes one code object.

    `exits`: the loops and `finally`s around the place that is lowered, the innermost last. `caught`: the exceptions that handlers
    around it handle.
    """

    def __init__(self, scope: Scope, scopes: dict[ast.AST, Scope], future: bool) -> None:
        self.code = scope
        self.scope = scope
        self.scopes = scopes
        self.future = future
        self.blocks: list[Block] = []
        self.givers: list[Instruction] = []
        self.exits: list[Loop | Finally] = []
        self.caught: list[Value] = []
        self.handler: Block | None = None
        self.loops: tuple[ast.AST, ...] = ()
        self.opaque: list[ast.AST] = []
        self.yields = self.awaits = False
        self.copied = 0
        self.temporaries = 0
        self.block = self.begin(self.new())

    # -- blocks -------------------------------------------------------------------------------------------------------

    def new(self, loop: ast.AST | None = None) -> Block:
        """A block of the region that is lowered now, which begins later."""
        return Block(-1, self.handler, self.loops, tuple(self.caught), loop)

    def begin(self, block: Block) -> Block:
        """What is written from now on is in `block`."""
        block.number = len(self.blocks)
        self.blocks.append(block)
        self.block = block
        return block

    def jump(self, target: Block, node: ast.AST) -> None:
        self.end(Jump(node, None, target))

    def end(self, instruction: Instruction) -> None:
        """Write the end of the block; what follows is reached by no way until a block begins."""
        self.write(instruction)
        self.begin(self.new())  # dropped if nothing is written there

    def flow_into(self, block: Block, node: ast.AST) -> None:
        """The open block goes on in `block`, which begins here."""
        self.write(Jump(node, None, block))
        self.begin(block)

    # -- instructions -------------------------------------------------------------------------------------------------

    def write(self, instruction: Instruction) -> None:
        """Write an instruction that gives nothing."""
        self.block.instructions.append(instruction)

    def give(self, kind: Callable[..., Instruction], node: ast.AST, *fields: object) -> Value:
        """Write an instruction that gives a value, and return its number."""
        number = len(self.givers)
        instruction = kind(node, number, *fields)
        self.givers.append(instruction)
        self.block.instructions.append(instruction)
        return number

    def temporary(self) -> Variable:
        """A variable of the lowering's own, for a value that comes by several ways."""
        self.temporaries += 1
        return Variable(f".{self.temporaries}", Home.TEMPORARY, self.code.node)

    def keep(self, variable: Variable, value: Value, node: ast.AST) -> None:
        self.write(WriteName(node, None, variable, value))

    def read(self, variable: Variable, node: ast.AST) -> Value:
        return self.give(ReadName, node, variable)

    def hide(self, node: ast.AST, parts: Iterable[ast.AST]) -> Value:
        """Write an `Opaque` for all that `parts` read and write."""
        parts = list(parts)
        inside = [part for each in parts for part in ast.walk(each)]
        names = [part for part in inside if isinstance(part, ast.Name)]
        bound = [name for part in inside for name in names_bound(part)]
        read = dict.fromkeys(self.scope.variable(each.id) for each in names if isinstance(each.ctx, ast.Load))
        written = dict.fromkeys(self.scope.variable(each.id) for each in names if not isinstance(each.ctx, ast.Load))
        written.update(dict.fromkeys(map(self.scope.variable, bound)))
        self.yields |= any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in within(parts))
        self.opaque.append(node)
        return self.give(Opaque, node, tuple(read), tuple(written))

    # -- steps --------------------------------------------------------------------------------------------------------

    def run(self, first: Steps, handlers: dict[type[ast.AST], Handler]) -> Any:
        """Run a step and all that it asks for."""
        waiting = [first]
        send = first.send
        given: Any = None
        while True:
            try:
                wanted = send(given)
            except StopIteration as stop:
                given = stop.value
                waiting.pop()
                if not waiting:
                    return given
                send = waiting[-1].send
                continue
            handler = handlers.get(type(wanted))
            if handler is not None:
                wanted = handler(self, wanted)
            elif isinstance(wanted, ast.AST):
                wanted = self.hide(wanted, [wanted])
            if type(wanted) is GeneratorType:
                waiting.append(wanted)
                send = wanted.send
                given = None
            else:
                given = wanted

    def leave(self, inside: int, node: ast.AST) -> Steps:
        """Run the `finally`s on the way out, as far as the exits from `inside` on, the innermost first. `node`: what leaves."""
        kept, around = self.exits, (self.handler, self.loops, self.caught)
        for position in range(len(kept) - 1, inside - 1, -1):
            pending = kept[position]
            if isinstance(pending, Finally):
                self.exits = kept[:position]
                self.handler, self.loops, self.caught = pending.handler, pending.loops, list(pending.caught)
                self.flow_into(self.new(), node)
                yield pending.steps()
        self.exits = kept
        self.handler, self.loops, self.caught = around


def body_of(statements: Sequence[ast.stmt]) -> Steps:
    for statement in statements:
        _ = yield statement  # it is sent what the statement gives
