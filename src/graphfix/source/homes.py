"""The file in which a finding is told, and those that its fix changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphfix.model import Finding, Fix, Move, Operation, Span, Wrap


def at_home(finding: Finding, main: str) -> Finding:
    """The finding, whose spans are those of an analysis of the file at `main`, with spans that speak of the finding's own file.

    Those in other files carry the paths of these.
    """
    home = finding.span.path
    if not home:
        return finding

    def seen_from_home(span: Span) -> Span:
        path = span.path or main
        return replace(span, path="" if path == home else path)

    fixes = [moved(each, seen_from_home) for each in (finding.fix, finding.another)]
    better = tuple((code, seen_from_home(span)) for code, span in finding.yields_to)
    ending = tuple((code, seen_from_home(span)) for code, span in finding.ended_by)
    span = seen_from_home(finding.span)
    return replace(finding, span=span, fix=fixes[0], another=fixes[1], yields_to=better, ended_by=ending)


def moved(fix: Fix | None, move: Callable[[Span], Span]) -> Fix | None:
    """A fix at the spans that `move` gives for its own."""
    return replace(fix, operations=tuple(placed(each, move) for each in fix.operations)) if fix is not None else None


def told_at_repair(finding: Finding, path: str) -> Finding:
    """The finding as one of the file at `path`, which its fix changes: it blames the first place there that is changed."""

    def seen_from_there(span: Span) -> Span:
        home = span.path or finding.path
        return replace(span, path="" if home == path else home)

    assert finding.fix is not None
    operations = tuple(placed(each, seen_from_there) for each in finding.fix.operations)
    first = min(span for each in operations for span in spans_of(each) if not span.path)
    return replace(finding, path=path, span=first, fix=replace(finding.fix, operations=operations), another=None, yields_to=(), ended_by=())


def spans_of(operation: Operation) -> tuple[Span, ...]:
    """The spans that an operation names."""
    if isinstance(operation, Wrap):
        return operation.spans
    return (operation.span, operation.before) if isinstance(operation, Move) else (operation.span,)


def placed(operation: Operation, moved: Callable[[Span], Span]) -> Operation:
    """The operation at the spans that `moved` gives for its own."""
    if isinstance(operation, Wrap):
        return replace(operation, spans=tuple(map(moved, operation.spans)))
    if isinstance(operation, Move):
        return replace(operation, span=moved(operation.span), before=moved(operation.before))
    return replace(operation, span=moved(operation.span))


def file_of(operation: Operation, home: str) -> str:
    """The path of the file that an operation of a finding told at `home` changes."""
    span = operation.spans[0] if isinstance(operation, Wrap) else operation.span
    return span.path or home


def changed_by(finding: Finding) -> dict[str, tuple[Operation, ...]]:
    """What the fix of a finding does to each file that it changes, by paths, at spans without paths."""
    found: dict[str, list[Operation]] = {}
    for operation in finding.fix.operations if finding.fix is not None else ():
        found.setdefault(file_of(operation, finding.path), []).append(placed(operation, lambda span: replace(span, path="")))
    return {path: tuple(operations) for path, operations in found.items()}


def lies_in(finding: Finding, path: str) -> bool:
    """Whether a finding is told in the file at `path`, or its fix changes that file."""
    return finding.path == path or path in changed_by(finding)


def changes_others(fix: Fix) -> bool:
    """Whether a fix changes another file than that of its finding."""
    return any(file_of(operation, "") for operation in fix.operations)
