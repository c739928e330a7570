"""Liveness of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.liveness import Liveness

CASES = {
    "read later": ("a()\nuse(x)", True),
    "bound anew": ("a()\nx = 1\nuse(x)", False),
    "bound anew on one way": ("a()\nif c:\n    x = 1\nuse(x)", True),
    "read by the next iteration": ("for i in c:\n    use(x)\n    a()", True),
    "bound by the next iteration": ("for i in c:\n    x = i\n    use(x)\n    a()", False),
    "read where an exception is handled": ("try:\n    a()\n    x = 1\nexcept E:\n    use(x)", True),
    "never read": ("a()", False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_whether_a_parameter_may_still_be_read(function: Callable[..., Any], case: str) -> None:
    body, live = CASES[case]
    made = function("def f(c, x):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    assert Liveness(made.ways).before(made.call("a"), made.code.scope.variable("x")) is live
