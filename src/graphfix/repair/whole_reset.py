"""The repair for a reset that leaves out nested modules: it goes through all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, keeps_walks, walks_as_often
from graphfix.analysis.second_backward import SecondBackward
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Instance, TorchModule, Value
from graphfix.model import Ground, Replace
from graphfix.models.submodules import MODULES, listed
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


def reset_everywhere(evidence: Evidence, carrier: str, walk: SecondBackward) -> Candidate | None:
    """Let a loop over the modules right inside of a module, which resets the attribute `carrier` of some, go through nested ones, too.

    None where no loop does so, or where that does not end the fault.
    """
    _, _, attribute = carrier.rpartition(".")
    for loop, owner in resets(evidence, attribute):
        trial = evidence.tape.replay({loop.iter: all_modules})
        raises = any(event.hits for run in trial.runs for event in run.recording.walks if event.site is walk.walk.site)
        if not raises and keeps_walks(evidence.tape, trial) and walks_as_often(evidence.tape, trial):
            text = f"{evidence.program.source(owner)}.modules()"
            return reasoned(
                Effect.WIDEN,
                f"reset all modules: `{short(text, 30)}`",
                Replace(evidence.program.span(loop.iter), text),
                ground=Ground.RAISES,
                doubt="it then also resets modules that may be meant to keep their state",
            )
    return None


def resets(evidence: Evidence, attribute: str) -> Iterator[tuple[ast.For, ast.expr]]:
    """The loops that runs have come to and that set the attribute of children of a module, each with that module."""
    executed = evidence.tape.executed
    for document in evidence.program.files:
        if attribute not in document.words:
            continue
        for loop in (part for part in subtree(document.tree) if isinstance(part, ast.For) and part in executed):
            owner = whose_children(loop.iter)
            # a test tells which modules have what is reset
            if owner is not None and isinstance(loop.body[0], ast.If) and sets(evidence, loop, attribute):
                yield loop, owner


def whose_children(items: ast.expr) -> ast.expr | None:
    """The module of which `items` are the children: `net.children()`, `net._modules.values()`."""
    if not isinstance(items, ast.Call) or items.args or not isinstance(items.func, ast.Attribute):
        return None
    held = items.func.value
    if items.func.attr == "children":
        return held
    is_dict = items.func.attr == "values" and isinstance(held, ast.Attribute) and held.attr == MODULES
    return held.value if is_dict and isinstance(held, ast.Attribute) else None


def sets(evidence: Evidence, loop: ast.For, attribute: str) -> bool:
    """Whether the loop sets an attribute of its items, or calls a method that does."""
    target = loop.target.id if isinstance(loop.target, ast.Name) else None
    own = [part for part in subtree(loop) if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)]
    used = [part for part in own if part.value.id == target]  # type: ignore[attr-defined]
    if any(part.attr == attribute and isinstance(part.ctx, ast.Store) for part in used):
        return True
    methods = {part.attr for part in used if isinstance(part.ctx, ast.Load)}
    return any(
        isinstance(part, ast.FunctionDef) and part.name in methods and assigns(part, attribute)
        for document in evidence.program.files
        for part in subtree(document.tree)
    )


def assigns(function: ast.FunctionDef, attribute: str) -> bool:
    return any(
        isinstance(part, ast.Attribute) and part.attr == attribute and isinstance(part.ctx, ast.Store)
        for part in subtree(function)
    )


def all_modules(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """The children of a module as its `modules()`."""
    owner = whose_children(node) if isinstance(node, ast.expr) else None
    module = m.evaluate(owner) if owner is not None else None
    return listed(module, "modules") if isinstance(module, (TorchModule, Instance)) else value
