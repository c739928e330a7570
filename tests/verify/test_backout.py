"""Which fixes stay where some are bad: found by halving, and asked for no more often than needed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphfix.verify.backout import settle


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30), max_size=4))
def test_exactly_the_bad_ones_are_refused(fixes: set[int], bad: set[int]) -> None:
    settled = settle(sorted(fixes), lambda kept: f"bad: {sorted(bad & set(kept))}" if bad & set(kept) else "")
    assert settled.kept == sorted(fixes - bad)
    assert [fix for fix, _ in settled.refused] == sorted(fixes & bad)


def test_two_that_do_not_go_together() -> None:
    """The later one goes: with the earlier one alone the command runs."""
    settled = settle([1, 2, 3, 4], lambda kept: "both" if {2, 4} <= set(kept) else "")
    assert (settled.kept, settled.refused) == ([1, 2, 3], [(4, "both")])


def test_good_fixes_cost_one_run() -> None:
    assert settle(range(20), lambda kept: "").runs == 1


def test_one_bad_of_sixteen_costs_a_few() -> None:
    assert settle(range(16), lambda kept: "bad" if 11 in kept else "").runs <= 8
