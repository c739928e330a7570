"""Patterns become tests, and names are bound where the whole pattern matches."""

from __future__ import annotations

from graphfix.ir.instructions import Match, Part, Pattern, WriteName
from graphfix.ir.variables import Home

from .executor.modules import run_module
from .lowering_of import module, of_kind


def case(pattern: str) -> list[Match]:
    return of_kind(module(f"match a:\n    case {pattern}: b()"), Match)


def test_a_sequence_says_which_parts_nothing_reads() -> None:
    (match,) = case("[x, _, *_]")
    assert (match.pattern, match.count, match.star, match.unread) == (Pattern.SEQUENCE, 3, 2, (1, 2))
    assert len(of_kind(module("match a:\n    case [x, _, *_]: b()"), Part)) == 1


def test_a_class_says_what_it_asks_for_by_position_and_by_name() -> None:
    (match,) = case("C(1, x, k=y)")
    assert (match.pattern, match.count, match.names) == (Pattern.CLASS, 2, ("k",))


def test_keys_that_are_read_are_read_of_mappings_alone() -> None:
    first, second = case("{D.k: 1, **rest}")
    assert first.given == () and second.rest and len(second.given) == 1
    assert len(case("{'k': 1}")) == 1


def test_names_of_alternatives_come_through_temporaries() -> None:
    code = module("match a:\n    case [x] | {'k': x}: b()")
    written = [each.variable for each in of_kind(code, WriteName)]
    assert [each.home for each in written] == [Home.TEMPORARY, Home.TEMPORARY, Home.GLOBAL]
    assert written[0] is written[1]


def test_no_name_is_bound_where_a_pattern_fails() -> None:
    text = "x = 0\nmatch [1, 2]:\n    case [x, 3]: pass\n    case [_, y] if y > 5: pass\n    case _: z = 1"
    found = run_module(text)
    assert (found["x"], found["y"], found["z"]) == (0, 2, 1)
