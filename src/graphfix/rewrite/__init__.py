"""Stand-in for the rewriting stage: appends and replaces by splicing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphfix.model import Append, Edit, Fix, Replace, Span


@dataclass(frozen=True)
class Applied:
    """What became of each fix."""

    text: str
    applied: tuple[Fix, ...]
    deferred: tuple[Fix, ...]
    refused: tuple[tuple[Fix, str], ...]


def edits_of(text: str, fix: Fix) -> tuple[Edit, ...]:
    """The text edits of one fix."""
    edits = []
    for operation in fix.operations:
        if isinstance(operation, Append):
            edits.append(Edit(Span(operation.span.end, operation.span.end), operation.text))
        elif isinstance(operation, Replace):
            edits.append(Edit(operation.span, operation.text))
    return tuple(edits)


def apply_fixes(text: str, fixes: Sequence[Fix]) -> Applied:
    """Apply all fixes."""
    data = text.encode()
    edits = sorted((edit for fix in fixes for edit in edits_of(text, fix)), key=lambda edit: edit.span, reverse=True)
    for edit in edits:
        data = data[: edit.span.start] + edit.content.encode() + data[edit.span.end :]
    return Applied(data.decode(), tuple(fixes), (), ())
