"""The repair for layers in a plain list: a `ModuleList` of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.unregistered_layers import unregistered_layers
from graphfix.interpreter.recording import Unregistered
from graphfix.model import Ground, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.source.document import Document
from graphfix.source.quote import short

MEANT = "the layers are trained from now on, and become a part of `state_dict()`"


def as_module_list(evidence: Evidence, kept: Unregistered) -> Iterator[Candidate]:
    """`self.layers = nn.ModuleList([...])`, where the file names `torch.nn`."""
    plain = next((each for each in unregistered_layers(evidence) if each.optimizer.attribute == kept.attribute), None)
    if plain is None:
        return
    program, value = evidence.program, plain.statement.value
    name = named_nn(program.file_of(value))
    if name is not None:
        text = program.source(value)
        whole = f"{name}.ModuleList({text if isinstance(value, ast.ListComp) or text != '[]' else ''})"
        title = f"register the layers of `{short(program.source(plain.statement.targets[0]), 30)}`"
        yield Candidate(Effect.REGISTER, title, (Replace(program.span(value), whole),), Ground.UNUSED, MEANT)


def named_nn(document: Document) -> str | None:
    """How the file writes `torch.nn`."""
    for part in document.imports:
        for alias in part.names:
            own = isinstance(part, ast.ImportFrom) and part.module == "torch" and alias.name == "nn"
            if own or isinstance(part, ast.Import) and alias.name == "torch.nn" and alias.asname:
                return alias.asname or alias.name
    return f"{document.torch}.nn" if document.torch is not None else None
