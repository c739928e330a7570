"""What has surely run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.dominance import dominated

CASES = {
    "straight": ("a()\nb()", True),
    "on one way": ("if c:\n    a()\nb()", False),
    "on both ways": ("if c:\n    a()\nelse:\n    a()\nb()", True),
    "in a loop that may not run": ("for i in c:\n    a()\nb()", False),
    "in a loop that runs until it breaks": ("while True:\n    a()\n    if c:\n        break\nb()", True),
    "in front of a loop": ("a()\nfor i in c:\n    b()", True),
    "later in the iteration": ("for i in c:\n    b()\n    a()", False),
    "it may raise": ("try:\n    a()\nexcept E:\n    pass\nb()", False),
    "the other way returns": ("if c:\n    return\na()\nb()", True),
    "ended since": ("a()\nend()\nb()", False),
    "ended, and run again": ("a()\nend()\na()\nb()", True),
    "in a finally": ("try:\n    c()\nfinally:\n    a()\nb()", True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_whether_each_way_has_run_it(function: Callable[..., Any], case: str) -> None:
    body, answer = CASES[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    assert dominated(made.ways, made.calls("a"), made.call("b"), made.calls("end")) is answer
