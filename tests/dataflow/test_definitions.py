"""Reaching definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.definitions import Definitions, read_by, written_by

CASES = {
    "straight": ("x = 1\nx = 2\nuse(x)", [3]),
    "one of two ways": ("x = 1\nif c:\n    x = 2\nuse(x)", [2, 4]),
    "both ways": ("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)", [3, 5]),
    "a loop": ("x = 1\nfor i in c:\n    use(x)\n    x = 2", [2, 5]),
    "left early": ("x = 1\nfor i in c:\n    x = 2\n    break\nelse:\n    x = 3\nuse(x)", [4, 7]),
    "an exception": ("x = 1\ntry:\n    a()\n    x = 2\n    b()\nexcept E:\n    pass\nuse(x)", [2, 5]),
    "a finally": ("x = 1\ntry:\n    x = 2\n    a()\nfinally:\n    use(x)", [2, 4]),
    "deleted": ("x = 1\ndel x\nx = 2\nuse(x)", [4]),
    "a parameter": ("use(c)", [1]),
    "a comprehension's own name": ("x = 1\n[x for x in c]\nuse(x)", [2]),
    "a walrus": ("x = 1\nif (x := c):\n    pass\nuse(x)", [3]),
    "a match": ("x = 1\nmatch c:\n    case [x]:\n        pass\nuse(x)", [2, 4]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_the_definitions(function: Callable[..., Any], case: str) -> None:
    body, lines = CASES[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    use = made.call("use")
    read = next(each for each in reversed(made.reads(use.node.args[0].id)) if each.node is use.node.args[0])
    found = Definitions(made.ways).of(read)
    assert sorted({each.node.lineno for each in found or ()}) == lines


def test_what_other_code_may_write_is_not_known(function: Callable[..., Any]) -> None:
    made = function("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    g()\n    return x")
    assert Definitions(made.ways).of(made.reads("x")[-1]) is None


def test_what_is_not_lowered_may_write_or_not(function: Callable[..., Any]) -> None:
    made = function("def f():\n    x = 1\n    try:\n        x = 2\n    except* E:\n        pass\n    return x")
    found = Definitions(made.ways).of(made.reads("x")[-1]) or []
    assert sorted(type(each).__name__ for each in found) == ["Opaque", "WriteName"]
    assert read_by(found[-1]) == () or written_by(found[-1])


def test_what_holds_behind_an_instruction(function: Callable[..., Any]) -> None:
    made = function("def f():\n    x = 1\n    a()\n    x = 2\n    b()")
    definitions = Definitions(made.ways)
    lines = [[each.node.lineno for each in definitions.behind(made.call(name))] for name in "ab"]
    assert lines == [[2], [4]]
