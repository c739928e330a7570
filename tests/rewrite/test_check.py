"""What may replace a file."""

from __future__ import annotations

import pytest

from graphfix.rewrite.check import why_broken


@pytest.mark.parametrize("text", ["", "x = 1\n", "if x:\n    pass\nelse: y = 2; z = 3\n"])
def test_operations_that_cancel_out_break_nothing(text: str) -> None:
    assert why_broken(text, text) is None


def test_what_does_not_parse_is_refused() -> None:
    reason = why_broken("x = (1\n", "x = 1\n")
    assert reason is not None and reason.startswith("the result does not parse")
