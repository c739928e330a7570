"""Forward passes that training and evaluation share: `if training: loss.backward()` at the end of one loop for both.

Each iteration records; those in evaluation mode record for nobody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.forwards import calls_module, module_called
from graphfix.autograd.graph import Node, history
from graphfix.interpreter.frames import Frame


def passes_in_both_modes(evidence: Evidence) -> Iterator[tuple[ast.stmt, ast.expr | None]]:
    """The statements that run such a forward pass, each with the module that it calls, where that has a name."""
    regions = evidence.regions
    handed = set(history(list(regions.uses.handed)))
    evaluated: dict[ast.stmt, tuple[Frame, Node]] = {}
    trained: set[ast.stmt] = set()
    wanted: set[ast.stmt] = set()
    for run in evidence.tape.runs:
        for node in run.recording.nodes:
            if node.context and regions.uses.is_forward(node):
                for frame, statement, _ in regions.chains(node)[-1:]:
                    if node.training is not False:
                        trained.update((statement,) if node.walks else ())
                    elif node.walks or node in handed:
                        wanted.add(statement)
                    elif calls_module(frame, node):
                        evaluated.setdefault(statement, (frame, node))
    for statement, (frame, node) in evaluated.items():
        if statement in trained and statement not in wanted and regions.is_sound(statement):
            if not any(region.holds(node.trace) for region in regions.found):
                yield statement, module_called(frame, statement, node)
