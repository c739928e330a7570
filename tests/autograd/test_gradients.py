"""What becomes of gradients, on graphs built by hand."""

from __future__ import annotations

from graphfix.autograd.gradients import Fate, Fates, severable
from graphfix.autograd.graph import Leaf

from .graphs import backward, clear, node, step


def test_a_gradient_that_a_step_reads_is_used() -> None:
    weight = Leaf("w")
    walk = backward(node(weight))
    fates = Fates([walk], [step(weight), clear(weight)])
    assert fates.fate(walk, weight) is Fate.USED
    assert fates.is_used(walk, weight) and not fates.is_dropped(walk, weight)


def test_a_gradient_that_is_cleared_before_any_step_is_dropped() -> None:
    weight = Leaf("w")
    walk = backward(node(weight))
    assert Fates([walk], [clear(weight), step(weight)]).is_dropped(walk, weight)


def test_what_happened_before_the_walk_says_nothing() -> None:
    weight = Leaf("w")
    before = clear(weight)
    walk = backward(node(weight))
    assert Fates([walk], [before]).fate(walk, weight) is Fate.UNKNOWN


def test_a_step_over_nobody_knows_what_leaves_it_open() -> None:
    weight = Leaf("w")
    walk = backward(node(weight))
    assert Fates([walk], [step(known=False), clear(weight)]).fate(walk, weight) is Fate.UNKNOWN


def test_a_call_that_is_used_once_is_not_dropped() -> None:
    weight = Leaf("w")
    first = backward(node(weight))
    after = clear(weight)
    second = backward(node(weight), site=first.site)
    assert not Fates([first, second], [after, step(weight)]).is_dropped(first, weight)


def test_a_module_that_no_step_is_over_is_idle_unless_gradients_are_read() -> None:
    trained, frozen = Leaf("trained", module=True), Leaf("frozen", module=True)
    walk = backward(node(trained, frozen))
    updates = [step(trained)]
    assert Fates([walk], updates, lambda: False).is_idle(frozen)
    assert not Fates([walk], updates, lambda: False).is_idle(trained)
    assert not Fates([walk], updates, lambda: True).is_idle(frozen)
    assert not Fates([walk], [], lambda: False).is_idle(frozen)


def test_a_cut_parts_what_is_dropped_from_what_is_used() -> None:
    maker, judge = Leaf("maker"), Leaf("judge")
    made = node(maker)
    judged = node(made, judge)
    walk = backward(judged)
    fates = Fates([walk], [clear(maker), step(judge)])
    assert severable(fates, walk, [made]) == [(judged, made)]


def test_no_cut_where_a_used_gradient_passes() -> None:
    maker, judge = Leaf("maker"), Leaf("judge")
    made = node(maker)
    walk = backward(node(made, judge))
    assert severable(Fates([walk], [step(maker), step(judge)]), walk, [made]) is None
