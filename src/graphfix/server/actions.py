"""Code actions: one for each fix, one for all that are safe, and one for each finding that silences it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from lsprotocol import types as lsp

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding
from graphfix.report.view import legible
from graphfix.run.outcome import Elsewhere, Outcome
from graphfix.run.silencing import silenced
from graphfix.server.diagnostics import diagnostic
from graphfix.server.documents import Changes, Document, Module
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
                lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, self.versions.get(uri)), list(edits))
                for uri, edits in changes.items()
            ]
        )


# the module at a path as the editor holds it, or as it is on disk; None where that is not the text that a fix was worked out for
Opened = Callable[[Elsewhere], Module | None]


def nowhere(part: Elsewhere) -> Module | None:
    """No other module is edited."""
    return None


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for `only` these kinds wants actions of `kind`; a kind stands for those below it, too."""
    return not only or any(kind == asked or kind.startswith(f"{asked}.") or not asked for asked in only)


def quick_fixes(
    outcome: Outcome, document: Document, target: Target, where: lsp.Location, opened: Opened = nowhere
) -> Iterator[lsp.CodeAction]:
    """One action for each repair of the findings that touch `where`, with exactly its edits; what is only shown is none.

    `opened`: the further modules that a fix changes, too.
    """
    for number, (finding, edits) in enumerate(zip(outcome.findings, outcome.edits, strict=False)):
        if not _touches(document.places.place(finding.span), where):
            continue
        changes = document.edited(edits) if edits else _everywhere(outcome.elsewhere[number : number + 1], document, opened)
        yield from _quick_fix(finding, changes, document, target)
        if finding.another is not None and outcome.others:
            yield from _quick_fix(finding.otherwise, document.edited(outcome.others[number]), document, target)


def _quick_fix(finding: Finding, changes: Changes, document: Document, target: Target) -> Iterator[lsp.CodeAction]:
    """The action that makes these changes, which are those of the finding's fix."""
    fix = finding.fix
    if fix is None or not changes or fix.applicability is Applicability.DISPLAY:
        return
    safe = fix.applicability is Applicability.SAFE
    yield lsp.CodeAction(
        legible(fix.title) + ("" if safe else " (unsafe)"),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(finding, document.places)],
        is_preferred=safe or None,
        edit=target.edited(changes),
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


def _everywhere(parts: Sequence[Sequence[Elsewhere]], document: Document, opened: Opened) -> Changes:
    """The edits of a fix in all files that it changes; none where one of them is not as it was when the fix was worked out."""
    changes: dict[str, Sequence[lsp.TextEdit]] = {}
    for part in (each for own in parts for each in own):
        module = document if part.path == document.path else opened(part)
        if module is None:
            return {}
        changes.update(module.edited(part.edits))
    return changes


def _touches(place: lsp.Location, where: lsp.Location) -> bool:
    return place.uri == where.uri and place.range.start <= where.range.end and where.range.start <= place.range.end


def fix_all(after: str, document: Document, target: Target) -> lsp.CodeAction:
    """The action that makes `after` of the document: what `graphfix apply` does."""
    return lsp.CodeAction("Apply all safe fixes of graphfix", kind=FIX_ALL, edit=target.edited(document.repaired(after)))
