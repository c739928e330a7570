"""How a tensor loses its graph."""

from __future__ import annotations

import ast
import enum

from graphfix.autograd.graph import Leaf, Node
from graphfix.autograd.iteration import CallStack
from graphfix.lazy_dataclass import dataclass


class How(enum.Enum):
    """How a graph is lost: by an operation whose result is a constant to autograd, by code that records nothing, in a tensor made anew.

    Or none begins: recording was switched off for all that follows, the parameters were told to need no gradient, or a reentrant checkpoint
    was given nothing that needs one.
    """

    CONSTANT = enum.auto()
    UNRECORDED = enum.auto()
    COPIED = enum.auto()
    SWITCHED_OFF = enum.auto()
    FROZEN = enum.auto()
    CHECKPOINTED = enum.auto()


@dataclass(frozen=True, eq=False)
class Severed:
    """The expression whose result has no graph, although what it is made of has one: `nodes`, or is a parameter: `leaves`.

    `leaf`: what is frozen, the parameter itself or that of which a checkpoint's input is made. `trace`: the calls that lead to it.
    """

    site: ast.AST
    how: How
    nodes: tuple[Node, ...] = ()
    leaf: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    trace: CallStack = ()
