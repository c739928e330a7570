"""A piece of code in which no gradient is wanted."""

from __future__ import annotations

import ast
import math
from collections.abc import Container
from dataclasses import field
from functools import cached_property

from graphfix.autograd.graph import Node
from graphfix.interpreter.frames import CallStack
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree

BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")  # where statements hold others


@dataclass(frozen=True, eq=False)
class Doubt:
    """Why something may want a gradient, and the code that does so, where a single place does."""

    reason: str
    site: ast.AST | None = None


@dataclass(eq=False)
class Region:
    """A function, a loop, or adjacent statements (`parts`) in which no gradient is wanted.

    `forwards`: the forward passes in it, each with the statement of the region's own frame that runs it. `evaluates`: a
    module in evaluation mode runs there. `grows`: an iteration's forward pass is made of an earlier one's, or is put away, so that
    the graphs of all are kept. `doubt`: why something in it may want gradients, where something may. `within`: functions in which all of
    them happen; `complete`: functions that are evaluations themselves, by one of them. `recording`: the statements that
    record all of it, where they may be fewer than `parts`. `once`: it runs a single time.
    """

    parts: tuple[ast.stmt, ...]
    forwards: list[tuple[Node, ast.stmt]] = field(default_factory=list)
    within: list[ast.FunctionDef] | None = None
    complete: set[ast.FunctionDef] = field(default_factory=set)
    evaluates: bool = False
    grows: bool = False
    once: bool = False
    doubt: Doubt | None = None
    recording: tuple[ast.stmt, ...] = ()

    @property
    def repaired(self) -> tuple[ast.stmt, ...]:
        """What has to run without recording: those statements of a loop that record, where they are known, else all parts."""
        return self.recording or self.parts

    @property
    def sure(self) -> bool:
        """Whether everything that is called there is analysed, and can want no gradient."""
        return self.doubt is None

    @property
    def function(self) -> ast.FunctionDef | None:
        """The function that is the region, None where it is a loop or statements."""
        return self.parts[0] if isinstance(self.parts[0], ast.FunctionDef) else None

    @property
    def first(self) -> ast.stmt:
        """The first statement that runs a forward pass."""
        return min((statement for _, statement in self.forwards), key=lambda statement: statement.lineno)

    @cached_property
    def statements(self) -> set[ast.AST]:
        """All statements of the region; of a function those of its body."""
        within = {inner for part in self.parts for inner in subtree(part) if isinstance(inner, ast.stmt)}
        return within - {self.function}

    def contains(self, other: Region) -> bool:
        return other is not self and self.statements >= set(other.parts)

    def calls(self, other: Region) -> bool:
        """Whether all that happens in the other region does so in calls out of this one."""
        return other is not self and all(self.depth_in(node.trace) < other.depth_in(node.trace) for node, _ in other.forwards)

    def happens_in(self, other: Region) -> bool:
        """Whether each of its forward passes is run by the other region."""
        return all(other.holds(node.trace) for node, _ in self.forwards)

    def depth_in(self, trace: CallStack) -> float:
        """How many calls lead to the region on this way; infinity where the way does not lead there."""
        return next((depth for depth, (_, statement) in enumerate(trace) if statement in self.statements), math.inf)

    def holds(self, trace: CallStack) -> bool:
        return any(statement in self.statements for _, statement in trace)


def told_once(found: list[Region]) -> list[Region]:
    """The regions that tell all: two runs may see a loop by itself and within its function, or what it calls beside it.

    The wider one stays, unless only the narrower is sure; of a loop and the function that runs all of its forward passes the
    function does, where the loop keeps no graphs besides.
    """
    found = [r for r in found if not any(o.contains(r) and o.sure >= r.sure for o in found)]
    found = [r for r in found if not any(r.contains(o) for o in found)]
    for region in list(found):
        for other in [each for each in found if each.calls(region)]:
            alone = region.function is not None and other.function is None and not other.grows and other.happens_in(region)
            if alone and region.sure >= other.sure:
                found.remove(other)
            elif not alone and other.sure >= region.sure:
                found.remove(region)
                break
    told = [region for region in found if region.function is not None]
    return [r for r in found if not any(r is not o and r.sure <= o.sure and r.happens_in(o) for o in told)]


def fewest_in(loop: ast.stmt, recording: Container[ast.AST], makers: Container[ast.AST]) -> tuple[ast.stmt, ...]:
    """The fewest adjacent statements that record all that `loop` does: a loop itself, where its whole body does.

    `recording`: the statements that record, and all around them; `makers`: those that do so themselves.
    """
    part: ast.AST = loop
    fewest = (loop,)
    while part not in makers:
        blocks = [block for block in (getattr(part, name, []) for name in BLOCKS) if any(each in recording for each in block)]
        if len(blocks) != 1:
            break
        at = [index for index, each in enumerate(blocks[0]) if each in recording]
        inner = tuple(blocks[0][at[0] : at[-1] + 1])
        if len(inner) > 1 and (len(inner) == len(blocks[0]) or not isinstance(inner[0], ast.stmt)):
            break
        part = inner[0]
        fewest = inner if isinstance(part, ast.stmt) else fewest
        if len(inner) > 1:
            break
    return fewest
