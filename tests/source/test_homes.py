"""The file in which a finding is told, and those that its fix changes."""

from __future__ import annotations

from graphfix.model import Append, Applicability, Finding, Fix, Move, Span, Wrap
from graphfix.source.homes import at_home, changed_by, changes_others

MAIN, METER = "main.py", "meters.py"


def finding(span: Span, *operations: object, yields_to: tuple[tuple[str, Span], ...] = ()) -> Finding:
    fix = Fix(Applicability.SAFE, "cut", operations)  # type: ignore[arg-type]
    return Finding("GF101", "name", "message", span.path or MAIN, span, fix=fix, yields_to=yields_to)


def test_a_finding_of_another_file_speaks_of_that_file() -> None:
    told = at_home(
        finding(
            Span(5, 9, METER),
            Append(Span(5, 6, METER), ".item()"),
            Append(Span(1, 2), ".detach()"),
            yields_to=(("GF103", Span(0, 3)), ("GF102", Span(7, 8, METER))),
        ),
        MAIN,
    )
    assert told.span == Span(5, 9)
    assert told.fix is not None and [each.span for each in told.fix.operations] == [Span(5, 6), Span(1, 2, MAIN)]  # type: ignore[union-attr]
    assert told.yields_to == (("GF103", Span(0, 3, MAIN)), ("GF102", Span(7, 8)))
    assert changes_others(told.fix)
    assert changed_by(told) == {METER: (Append(Span(5, 6), ".item()"),), MAIN: (Append(Span(1, 2), ".detach()"),)}


def test_one_of_the_file_that_runs_begin_in_stays_as_it_is() -> None:
    made = finding(Span(5, 9), Append(Span(5, 6), ".item()"))
    assert at_home(made, MAIN) is made
    assert made.fix is not None and not changes_others(made.fix)


def test_every_span_of_an_operation_goes_along() -> None:
    move, wrap = Move(Span(1, 2, METER), Span(3, 4, METER)), Wrap((Span(5, 6, METER), Span(7, 8, METER)), "with a:")
    told = at_home(finding(Span(1, 9, METER), move, wrap), MAIN)
    assert told.fix is not None
    assert told.fix.operations == (Move(Span(1, 2), Span(3, 4)), Wrap((Span(5, 6), Span(7, 8)), "with a:"))
