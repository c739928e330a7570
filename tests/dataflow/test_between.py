"""What lies between two points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.between import arrives, arriving, in_same_iteration

STOPPED = {
    "straight": ("a()\nstop()\nb()", True),
    "past it on one way": ("a()\nif c:\n    stop()\nb()", False),
    "by the next iteration": ("for i in c:\n    b()\n    a()\n    stop()", True),
    "continued before it": ("for i in c:\n    b()\n    a()\n    if i:\n        continue\n    stop()", False),
    "an error takes another way": ("a()\ntry:\n    stop()\nexcept E:\n    pass\nb()", False),
    "an error leaves": ("a()\ntry:\n    stop()\nfinally:\n    c()\nb()", True),
}  # fmt: skip


@pytest.mark.parametrize("case", STOPPED)
def test_whether_each_way_passes_it(function: Callable[..., Any], case: str) -> None:
    body, answer = STOPPED[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    assert arrives(made.ways, made.calls("a"), made.call("b"), made.calls("stop")) is not answer


def test_from_the_entry_and_to_several_ends(function: Callable[..., Any]) -> None:
    made = function("def f(c):\n    if c:\n        stop()\n        a()\n    else:\n        b()")
    assert not arrives(made.ways, (), made.call("a"), made.calls("stop"), from_entry=True)
    ends = [made.call("a"), made.call("b")]
    assert list(arriving(made.ways, (), made.calls("stop"), ends, from_entry=True)) == [made.call("b")]
    assert list(arriving(made.ways, made.calls("b"), (), ends, after=True)) == [made.call("b")]


SAME = {
    "straight": ("a()\nb()", True),
    "in one iteration": ("for i in c:\n    a()\n    b()", True),
    "in the next iteration": ("for i in c:\n    b()\n    a()", False),
    "in the next iteration of the inner loop": ("for i in c:\n    for j in i:\n        b()\n        a()", False),
    "of the outer loop alone": ("for i in c:\n    b()\n    for j in i:\n        a()", False),
    "behind an inner loop": ("for i in c:\n    for j in i:\n        a()\n    b()", True),
    "never": ("b()\na()", False),
    "where an exception is handled": ("for i in c:\n    try:\n        a()\n        d()\n    except E:\n        b()", True),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_whether_it_runs_before_a_loop_goes_round(function: Callable[..., Any], case: str) -> None:
    body, same = SAME[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    assert in_same_iteration(made.ways, made.call("a"), made.call("b")) is same
