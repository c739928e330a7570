"""Fixes as code actions: one for each fix, and one for all that are safe."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from graphfix.model import Applicability
from graphfix.report.view import plain
from graphfix.run.outcome import Outcome
from graphfix.server.diagnostics import diagnostic
from graphfix.server.places import Places, length
from graphfix.source.lines import NEWLINE

FIX_ALL = "source.fixAll.graphfix"
KINDS = (lsp.CodeActionKind.QuickFix, FIX_ALL)


@dataclass(frozen=True)
class Target:
    """The document that is edited. `versioned`: the client takes edits for one version of it, and refuses them for another."""

    uri: str
    version: int | None
    versioned: bool

    def edited(self, edits: Sequence[lsp.TextEdit]) -> lsp.WorkspaceEdit:
        """The edits, all of them in this document."""
        if not self.versioned:
            return lsp.WorkspaceEdit(changes={self.uri: list(edits)})
        document = lsp.OptionalVersionedTextDocumentIdentifier(self.uri, self.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, list(edits))])


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for `only` these kinds wants actions of `kind`; a kind stands for those below it, too."""
    return not only or any(kind == asked or kind.startswith(f"{asked}.") or not asked for asked in only)


def quick_fixes(outcome: Outcome, places: Places, target: Target, where: lsp.Range) -> Iterator[lsp.CodeAction]:
    """One action for each fix of the findings that touch `where`, with exactly its edits; what is only shown is none."""
    for finding, edits in zip(outcome.findings, outcome.edits, strict=False):
        fix, place = finding.fix, places.range(finding.span)
        if fix is None or not edits or fix.applicability is Applicability.DISPLAY:
            continue
        if place.start <= where.end and where.start <= place.end:
            safe = fix.applicability is Applicability.SAFE
            yield lsp.CodeAction(
                plain(fix.title) + ("" if safe else " (unsafe)"),
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(finding, places)],
                is_preferred=safe or None,
                edit=target.edited([lsp.TextEdit(places.range(edit.span), edit.content) for edit in edits]),
            )


def fix_all(before: str, after: str, target: Target, encoding: str) -> lsp.CodeAction:
    """The action that makes `after` of the text `before`: what `graphfix apply` does."""
    return lsp.CodeAction(
        "Apply the fixes that graphfix apply makes", kind=FIX_ALL, edit=target.edited(list(_edits(before, after, encoding)))
    )


def _edits(before: str, after: str, encoding: str) -> Iterator[lsp.TextEdit]:
    """The lines that differ, so that marks and cursors elsewhere stay."""
    old, new = _lines(before), _lines(after)
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield lsp.TextEdit(
                lsp.Range(_start(old, start, encoding), _start(old, end, encoding)), "".join(new[new_start:new_end])
            )


def _lines(text: str) -> list[str]:
    """The lines with their newlines, as clients count them: what is behind the last newline is one, too."""
    ends = [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]
    return [text[start:end] for start, end in zip(ends, ends[1:])]


def _start(lines: list[str], row: int, encoding: str) -> lsp.Position:
    """Where the line `row` begins; behind the last one, where that ends."""
    if row < len(lines):
        return lsp.Position(row, 0)
    return lsp.Position(len(lines) - 1, length(lines[-1], encoding))
