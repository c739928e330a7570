"""Findings as diagnostics, and the page of the rule behind one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from graphfix.codemods import RULES
from graphfix.model import Finding, Severity
from graphfix.report.remedy import reasons
from graphfix.report.view import legible
from graphfix.server.places import Places

SOURCE = "graphfix"
_RULES = {rule.code: rule for rule in RULES}
_SEVERITIES = {Severity.ERROR: lsp.DiagnosticSeverity.Error, Severity.WARNING: lsp.DiagnosticSeverity.Warning}


def diagnostic(finding: Finding, places: Places) -> lsp.Diagnostic:
    """The finding at its place, with the story, and why its fix is unsafe or missing, as related information."""
    rule = _RULES.get(finding.code)
    return lsp.Diagnostic(
        places.range(finding.span),
        legible(finding.message),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=lsp.CodeDescription(rule.url) if rule is not None else None,
        source=SOURCE,
        related_information=list(_story(finding, places)) or None,
    )


def _story(finding: Finding, places: Places) -> Iterator[lsp.DiagnosticRelatedInformation]:
    """Each step with its number, where the story has an order of time."""
    for label in finding.story:
        location = places.location(label.path, label.span)
        if location is not None:
            message = f"({label.step}) {label.message}" if label.step else label.message
            yield lsp.DiagnosticRelatedInformation(location, legible(message))
    own = places.location(finding.path, finding.span)
    if own is not None:
        yield from (lsp.DiagnosticRelatedInformation(own, legible(reason)) for reason in reasons(finding))


def hover(findings: Sequence[Finding], places: Places, uri: str, position: lsp.Position) -> lsp.Hover | None:
    """The pages of the rules of the findings at `position` of a document, each once; None where there are none."""
    there = [finding for finding in findings if covers(places.place(finding.span), uri, position)]
    pages = [_RULES[code].page.rstrip() for code in dict.fromkeys(finding.code for finding in there) if code in _RULES]
    if not pages:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(pages)), places.range(there[0].span))


def covers(place: lsp.Location, uri: str, position: lsp.Position) -> bool:
    """Whether `position` of the document is in the place or at one of its ends."""
    return place.uri == uri and place.range.start <= position <= place.range.end
