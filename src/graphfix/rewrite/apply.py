"""Apply fixes to a text: each as a whole, or deferred to the next pass, or refused with a reason.

Which fixes go together is decided on the bytes that they change, before anything is
changed. Two fixes whose changes meet are not merged blindly: the later one waits. What
two fixes ask for in the same words is done once.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Decorate, Edit, Fix, Operation, Span, Wrap
from graphfix.rewrite.changes import Change, splice, touch
from graphfix.rewrite.layout import UNPARSABLE, Layout, RefusedError, layout_of, parse


@dataclass(frozen=True)
class Applied:
    """The new text and the fate of each fix, in the order of the file."""

    text: str
    applied: tuple[Fix, ...] = ()
    deferred: tuple[Fix, ...] = ()
    refused: tuple[tuple[Fix, str], ...] = ()


@dataclass
class _Plan:
    """Fixes that go together, and the others."""

    layout: Layout
    accepted: list[Fix] = field(default_factory=list)
    deferred: list[Fix] = field(default_factory=list)
    refused: list[tuple[Fix, str]] = field(default_factory=list)
    parts: dict[tuple[Operation, ...], tuple[Change, ...]] = field(default_factory=dict)
    removed: list[ast.stmt] = field(default_factory=list)

    def add(self, fix: Fix) -> None:
        from graphfix.rewrite.compile_fix import compile_fix

        try:
            compiled = compile_fix(self.layout, fix)
        except RefusedError as reason:
            self.refused.append((fix, str(reason)))
            return
        new = {part.operations: part.changes for part in compiled.parts if self.parts.get(part.operations) != part.changes}
        if self._nests(fix) or self._collides([change for changes in new.values() for change in changes], compiled.removed):
            self.deferred.append(fix)
            return
        self.accepted.append(fix)
        self.parts |= new
        self.removed += compiled.removed

    def _nests(self, fix: Fix) -> bool:
        """Whether it would run code under a context that an accepted fix brings already: the next look knows better."""
        taken = [context for other in self.accepted for context in _contexts(other)]
        return any(
            text == other and start < end_of_other and start_of_other < end and (start, end) != (start_of_other, end_of_other)
            for text, start, end in _contexts(fix)
            for other, start_of_other, end_of_other in taken
        )

    def _collides(self, changes: Sequence[Change], removed: Sequence[ast.stmt]) -> bool:
        taken = [change for part in self.parts.values() for change in part]
        if any(touch(mine, theirs) for mine in changes for theirs in taken):
            return True
        # Each leaves something in the block, but both together nothing
        gone = [*self.removed, *removed]
        fresh = [node for node in removed if node not in self.removed]
        return bool(self.removed) and any(
            all(other in gone for other in self.layout.blocks[node])
            and any(other in self.removed for other in self.layout.blocks[node])
            for node in fresh
        )

    def text(self) -> str:
        changes = [change for part in self.parts.values() for change in part]
        return splice(self.layout.data, changes).decode("utf-8", "surrogatepass")


def _key(fix: Fix) -> tuple[object, ...]:
    spans = [repr(operation) for operation in fix.operations]
    return (_start(fix), spans, fix.applicability.value, fix.title)


def _contexts(fix: Fix) -> list[tuple[str, int, int]]:
    """The contexts under which a fix puts code, and from where to where."""
    found = []
    for operation in fix.operations:
        if isinstance(operation, Decorate):
            found.append((operation.text, operation.span.start, operation.span.end))
        elif isinstance(operation, Wrap):
            text = operation.header.removeprefix("with ").removesuffix(":")
            found.append((text, operation.spans[0].start, operation.spans[-1].end))
    return found


def _start(fix: Fix) -> int:
    return min((_first(operation).start for operation in fix.operations), default=0)


def _first(operation: object) -> Span:
    spans = getattr(operation, "spans", None)
    return min(spans) if spans else getattr(operation, "span", Span(0, 0))


def _plan(layout: Layout, fixes: Sequence[Fix]) -> _Plan:
    plan = _Plan(layout)
    for fix in fixes:
        plan.add(fix)
    return plan


def apply_fixes(text: str, fixes: Sequence[Fix]) -> Applied:
    """Apply what goes together in one pass. The order of `fixes` does not matter."""
    if not fixes:
        return Applied(text)
    ordered = sorted(fixes, key=_key)
    try:
        layout = layout_of(text)
    except UNPARSABLE as error:
        return Applied(text, refused=tuple((fix, f"the file cannot be read: {type(error).__name__}") for fix in ordered))
    broken: list[tuple[Fix, str]] = []
    while True:
        plan = _plan(layout, [fix for fix in ordered if all(fix is not bad for bad, _ in broken)])
        made = plan.text()
        culprit = _culprit(layout, plan.accepted, made, text)
        if culprit is None:
            refused = sorted([*plan.refused, *broken], key=lambda pair: _key(pair[0]))
            return Applied(made, tuple(plan.accepted), tuple(plan.deferred), tuple(refused))
        broken.append(culprit)


def _culprit(layout: Layout, accepted: Sequence[Fix], made: str, original: str) -> tuple[Fix, str] | None:
    """The fix with which the text stops to parse, and why; None where it parses."""
    from graphfix.rewrite.check import why_broken

    reason = None if made == original else why_broken(made, original)
    if reason is None:
        return None

    def broken(count: int) -> str | None:
        return why_broken(_plan(layout, accepted[:count]).text(), original)

    low, high = 0, len(accepted)  # parses with `low` of them, not with `high`
    while high - low > 1:
        middle = (low + high) // 2
        found = broken(middle)
        low, high, reason = (middle, high, reason) if found is None else (low, middle, found)
    return accepted[high - 1], reason


def edits_of(text: str, fix: Fix) -> tuple[Edit, ...]:
    """The smallest text edits that the fix comes down to, in order; none where it is refused."""
    from graphfix.rewrite.compile_fix import compile_fix

    try:
        layout = layout_of(text)
        changes = sorted(compile_fix(layout, fix).changes)
        parse(splice(layout.data, changes).decode("utf-8", "surrogatepass"))
    except (RefusedError, *UNPARSABLE):
        return ()
    edits: list[Edit] = []
    for change in changes:
        content = change.content.decode("utf-8", "surrogatepass")
        last = edits[-1] if edits else None
        if last is not None and last.span.end == change.start:
            edits[-1] = Edit(Span(last.span.start, change.end), last.content + content)
        else:
            edits.append(Edit(Span(change.start, change.end), content))
    return tuple(edits)
