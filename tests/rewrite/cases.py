"""Small words for tests of operations: find code by its text, apply, and look at the result."""

from __future__ import annotations

from graphfix.model import Applicability, Fix, Operation, Span
from graphfix.rewrite import Applied, apply_fixes


def at(text: str, code: str, occurrence: int = 0) -> Span:
    """The span of the given occurrence of `code`."""
    data, wanted = text.encode(), code.encode()
    start = data.index(wanted)
    for _ in range(occurrence):
        start = data.index(wanted, start + 1)
    return Span(start, start + len(wanted))


def fix(*operations: Operation, title: str = "repair") -> Fix:
    return Fix(Applicability.SAFE, title, operations)


def applied(text: str, *operations: Operation) -> str:
    """The text after one fix that must go through."""
    outcome = apply_fixes(text, [fix(*operations)])
    assert not outcome.refused, outcome.refused[0][1]
    assert outcome.applied
    return outcome.text


def refusal(text: str, *operations: Operation) -> str:
    """The reason for which a fix is refused; the text must be as it was."""
    outcome = apply_fixes(text, [fix(*operations)])
    assert outcome.text == text
    assert not outcome.applied
    return outcome.refused[0][1]


def outcome(text: str, *fixes: Fix) -> Applied:
    return apply_fixes(text, fixes)
