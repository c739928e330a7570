"""Tensors with a graph that a run of a program shows, and that the flow does not know of."""

from __future__ import annotations

import ast
import random
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from graphfix.analysis.flow.flow import flow_of
from graphfix.ir.instructions import Instruction
from graphfix.source.document import Document
from tests.ir.executor.frames import Frame
from tests.ir.executor.modules import known, run_tree


def unreached(document: Document) -> tuple[list[ast.expr], int]:
    """The expressions that have given a tensor with a `grad_fn`, to which no way of the flow leads; and how many have given one.

    The program is run by the executor, as a script; whatever error ends it ends the run alone. The flow is that of the file alone.
    """
    module = types.ModuleType("__main__")
    torch.manual_seed(0)
    random.seed(0)
    with noted() as seen, known("__main__", module):
        try:
            run_tree(document.tree, module.__dict__, document.path)
        except (Exception, SystemExit):
            pass  # a fault is shown by its error
    flow = flow_of(document, lambda name, importing: None)
    carrying = flow.carrying
    return sorted((node for node in seen if node not in carrying), key=lambda node: (node.lineno, node.col_offset)), len(seen)


@contextmanager
def noted() -> Iterator[dict[ast.expr, None]]:
    """Notes each expression that gives a tensor with a graph while programs are executed."""
    seen: dict[ast.expr, None] = {}
    keep = Frame.keep

    def kept(frame: Frame, instruction: Instruction, value: Any, *rest: Any) -> None:
        if isinstance(value, torch.Tensor) and value.grad_fn is not None and isinstance(instruction.node, ast.expr):
            seen[instruction.node] = None
        keep(frame, instruction, value, *rest)

    with mock.patch.object(Frame, "keep", kept):
        yield seen
