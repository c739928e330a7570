"""Code actions: one for each fix, one for all that are safe, and one for each finding that silences it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lsprotocol import types as lsp

from graphfix.model import Applicability
from graphfix.report.view import plain
from graphfix.run.outcome import Outcome
from graphfix.run.silencing import silenced
from graphfix.server.diagnostics import diagnostic
from graphfix.server.documents import Changes, Document
from graphfix.source.errors import SourceError, Torn

FIX_ALL = "source.fixAll.graphfix"
KINDS = (lsp.CodeActionKind.QuickFix, FIX_ALL)


@dataclass(frozen=True)
class Target:
    """The text documents that are edited, with their versions. `versioned`: the client takes edits for one version, and refuses others."""

    versions: Mapping[str, int | None]
    versioned: bool

    def edited(self, changes: Changes) -> lsp.WorkspaceEdit:
        """The edits, each in its document."""
        if not self.versioned:
            return lsp.WorkspaceEdit(changes={uri: list(edits) for uri, edits in changes.items()})
        return lsp.WorkspaceEdit(
            document_changes=[
                lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, self.versions[uri]), list(edits))
                for uri, edits in changes.items()
            ]
        )


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for `only` these kinds wants actions of `kind`; a kind stands for those below it, too."""
    return not only or any(kind == asked or kind.startswith(f"{asked}.") or not asked for asked in only)


def quick_fixes(outcome: Outcome, document: Document, target: Target, where: lsp.Location) -> Iterator[lsp.CodeAction]:
    """One action for each fix of the findings that touch `where`, with exactly its edits; what is only shown is none."""
    places = document.places
    for finding, edits in zip(outcome.findings, outcome.edits, strict=False):
        fix = finding.fix
        if fix is None or not edits or fix.applicability is Applicability.DISPLAY:
            continue
        if _touches(places.place(finding.span), where):
            safe = fix.applicability is Applicability.SAFE
            yield lsp.CodeAction(
                plain(fix.title) + ("" if safe else " (unsafe)"),
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(finding, places)],
                is_preferred=safe or None,
                edit=target.edited(document.edited(edits)),
            )


def silencers(outcome: Outcome, document: Document, target: Target, where: lsp.Location) -> Iterator[lsp.CodeAction]:
    """One action for each finding that touches `where`: the comment that silences it, where one can stand on its lines."""
    places = document.places
    text = outcome.source.text if outcome.source is not None else ""
    for finding in outcome.findings:
        if not _touches(places.place(finding.span), where):
            continue
        comments = silenced(text, [finding])
        with suppress(SourceError, Torn):  # a command of IPython is no line for a comment
            for edit in comments.edits:
                yield lsp.CodeAction(
                    f"Disable {finding.code} for this line",
                    kind=lsp.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic(finding, places)],
                    edit=target.edited(document.edited([edit])),
                )


def _touches(place: lsp.Location, where: lsp.Location) -> bool:
    return place.uri == where.uri and place.range.start <= where.range.end and where.range.start <= place.range.end


def fix_all(after: str, document: Document, target: Target) -> lsp.CodeAction:
    """The action that makes `after` of the document: what `graphfix apply` does."""
    return lsp.CodeAction("Apply all safe fixes of graphfix", kind=FIX_ALL, edit=target.edited(document.repaired(after)))
