"""One iteration of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.iterations import beginnings, endings, exposed_reads, going_round, keeps_name, leaving

READS = {
    "before it is bound": ("use(h)\nh = g(x)", [3]),
    "behind it": ("h = g(x)\nuse(h)", []),
    "where it is bound": ("h = g(h)", [3]),
    "changed in place": ("h += g(x)", [3]),
    "bound on one way": ("if x:\n    h = g(x)\nuse(h)", [5]),
    "bound on both ways": ("if x:\n    h = g(x)\nelse:\n    h = 0\nuse(h)", []),
    "bound by an inner loop that may not run": ("for y in x:\n    h = g(y)\nuse(h)", [5]),
    "a comprehension's own name": ("k = [h for h in x]\nuse(h)\nh = k", [4]),
    "by a class that is made": ("class K:\n    def k(self):\n        return h\nh = g(x)", [3]),
    "by a function that is made": ("k = lambda: h\nh = g(x)", [3]),
    "bound where a pattern matches": ("match x:\n    case [h]:\n        use(h)\n    case _:\n        h = 0\nuse(h)", []),
}  # fmt: skip


@pytest.mark.parametrize("case", READS)
def test_what_meets_the_value_of_the_iteration_before(function: Callable[..., Any], case: str) -> None:
    body, lines = READS[case]
    made = function("def f(c, h):\n    for x in c:\n" + "".join(f"        {line}\n" for line in body.splitlines()))
    found = exposed_reads(made.ways, made.loops()[0], "h")
    assert [each.node.lineno for each in found] == lines


def test_no_way_goes_on_behind_a_stop(function: Callable[..., Any]) -> None:
    made = function("def f(c, h):\n    for x in c:\n        stop()\n        use(h)\n        h = x")
    loop = made.loops()[0]
    assert not list(exposed_reads(made.ways, loop, "h", made.calls("stop")))


@pytest.mark.parametrize(("body", "keeps"), [("h = x", False), ("if x:\n            h = x", True), ("a()", True)])
def test_whether_an_iteration_may_leave_a_name_alone(function: Callable[..., Any], body: str, keeps: bool) -> None:
    made = function(f"def f(c, h):\n    for x in c:\n        {body}\n    return h")
    assert keeps_name(made.ways, made.loops()[0], "h") is keeps


def test_how_an_iteration_begins_and_ends(function: Callable[..., Any]) -> None:
    ways_on = "if a():\n            continue\n        if b():\n            break\n        if d():\n            return"
    made = function(f"def f(c):\n    while c:\n        {ways_on}\n        e()")
    loop = made.loops()[0]
    assert len(beginnings(made.ways, loop)) == 3
    kinds = sorted(type(each.node).__name__ for each in going_round(made.ways, loop))
    assert kinds == ["Continue", "While"]
    assert sorted(type(each.node).__name__ for each in endings(made.ways, loop)) == ["Break", "Continue", "Return", "While"]


def test_where_a_statement_is_left(function: Callable[..., Any]) -> None:
    made = function("def f(c):\n    if c:\n        a()\n    else:\n        b()\n    d()")
    block = [each for each in made.code.instructions() if 2 <= getattr(each.node, "lineno", 0) <= 5]
    assert {each.node.lineno for each in leaving(made.ways, block)} == {2}
