"""Forward passes that training and evaluation share: `if training: loss.backward()` at the end of one loop for both.

Each iteration records; those in evaluation mode record for nobody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evaluations import regions
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.forwards import calls_module, context_of_call, module_called
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import Context
from graphfix.interpreter.frames import Frame

Call = tuple[Frame, ast.stmt, Context]


def passes_in_both_modes(evidence: Evidence) -> Iterator[tuple[ast.stmt, ast.expr | None]]:
    """The statements that run such a forward pass, each with the module that it calls, where that has a name.

    A call that also records in training mode is no evaluation: the module that it calls trains, and has a part that does not, as a teacher.
    """
    if not any(node.training is False for run in evidence.tape.runs for node in run.recording.nodes):
        return
    held = regions(evidence)
    handed = set(history(list(held.uses.handed)))
    evaluated: dict[Call, Node] = {}
    trained: set[ast.stmt] = set()
    mixed: set[Call] = set()
    wanted: set[ast.stmt] = set()
    for run in evidence.tape.runs:
        for node in run.recording.nodes:
            if node.context and held.uses.is_forward(node):
                for frame, statement, _ in held.chains(node)[-1:]:
                    call = (frame, statement, context_of_call(node))
                    if node.training is not False:
                        trained.update((statement,) if node.walks else ())
                        mixed.update((call,) if node.training or node.walks else ())
                    elif node.walks or node in handed:
                        wanted.add(statement)
                    elif calls_module(frame, node):
                        evaluated.setdefault(call, node)
    apart = {call[1]: (call[0], node) for call, node in reversed(evaluated.items()) if call not in mixed}
    for statement, (frame, node) in apart.items():
        if statement in trained and statement not in wanted and held.is_sound(statement):
            if not any(region.holds(node.trace) for region in held.found):
                yield statement, module_called(frame, statement, node)
