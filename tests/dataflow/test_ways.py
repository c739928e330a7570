"""The control flow graph of a code object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.ways import may_raise
from graphfix.ir.instructions import Exit

MANAGED = """
def f(x):
    with x:
        a()
    b()
"""


@pytest.mark.parametrize("swallows", [True, False])
def test_a_context_manager_that_swallows_nothing_ends_no_exception(function: Callable[..., Any], swallows: bool) -> None:
    made = function(MANAGED, swallows)
    leaving = next(each for each in made.code.instructions() if isinstance(each, Exit) and each.exception is not None)
    block = made.ways.position[leaving][0]
    assert len(made.ways.successors[block]) == (2 if swallows else 1)


def test_what_no_way_leads_to(function: Callable[..., Any]) -> None:
    made = function("def f():\n    while True:\n        a()\n    b()")
    reachable = {name for name in "ab" if made.ways.position[made.call(name)][0] in made.ways.reachable}
    assert reachable == {"a"}


def test_handlers_are_reached_by_what_may_raise(function: Callable[..., Any]) -> None:
    made = function("def f():\n    try:\n        a()\n    except E:\n        b()")
    assert made.ways.position[made.call("b")][0] in made.ways.reachable
    assert may_raise(made.call("a"))
