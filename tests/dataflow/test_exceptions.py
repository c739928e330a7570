"""Where an exception arrives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.exceptions import ending_of

CASES = {
    "nowhere": ("a()", []),
    "a handler": ("try:\n    a()\nexcept RuntimeError:\n    pass", ["ExceptHandler"]),
    "a handler of all": ("try:\n    a()\nexcept:\n    pass", ["Try"]),
    "a handler of other errors": ("try:\n    a()\nexcept KeyError:\n    pass", []),
    "raised again": ("try:\n    a()\nexcept RuntimeError:\n    b()\n    raise", []),
    "raised as another": ("try:\n    a()\nexcept RuntimeError as e:\n    raise ValueError from e", []),
    "raised again on one way": ("try:\n    a()\nexcept RuntimeError:\n    if b():\n        raise", ["ExceptHandler"]),
    "raised again, and handled outside": (
        "try:\n    try:\n        a()\n    except RuntimeError:\n        raise\nexcept RuntimeError:\n    pass", ["ExceptHandler"],
    ),
    "a finally": ("try:\n    a()\nfinally:\n    b()", []),
    "a finally that returns": ("try:\n    a()\nfinally:\n    return 1", ["Try"]),
    "a finally that goes on": ("for x in y:\n    try:\n        a()\n    finally:\n        continue", ["Try"]),
    "a context manager": ("with m():\n    a()", ["withitem"]),
    "the second handler": ("try:\n    a()\nexcept KeyError:\n    raise\nexcept RuntimeError:\n    return 2", ["ExceptHandler"]),
    "outside of the try": ("try:\n    b()\nexcept RuntimeError:\n    pass\na()", []),
    "in the else of a try": ("try:\n    b()\nexcept RuntimeError:\n    pass\nelse:\n    a()", []),
}  # fmt: skip


def may_catch(match: Any) -> bool:
    return not (isinstance(match.node, ast.ExceptHandler) and "KeyError" in ast.unparse(match.node))


@pytest.mark.parametrize("case", CASES)
def test_what_may_end_it(function: Callable[..., Any], case: str) -> None:
    body, kinds = CASES[case]
    made = function("def f(y):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    found = {type(each.node).__name__ for call in made.calls("a") for each in ending_of(made.ways, call, may_catch)}
    assert sorted(found) == kinds


def test_a_context_manager_that_swallows_nothing(function: Callable[..., Any]) -> None:
    made = function("def f(y):\n    with m():\n        a()", swallows=False)
    assert not list(ending_of(made.ways, made.call("a"), may_catch))
