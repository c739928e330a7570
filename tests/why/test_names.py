"""Patterns speak of the user's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.source.text import Source
from graphfix.why.errors import Frame
from graphfix.why.names import fitting, receiver_at, with_names
from graphfix.why.places import Place
from graphfix.why.tensor_kinds import NOT_SCALAR, UNUSED

TEXT = """\
for x in data:
    criterion(net(x), y).backward(
        retain_graph=True)
    a.backward(); b.backward()
"""


def at(row: int) -> Place:
    return Place(Frame("train.py", row, "f"), Source(Path("train.py"), TEXT), row)


@pytest.mark.parametrize(("row", "found"), [(2, "criterion(net(x), y)"), (3, "criterion(net(x), y)"), (1, ""), (4, "")])
def test_what_a_line_goes_backward_from(row: int, found: str) -> None:
    assert receiver_at(TEXT, row, "backward") == found


def test_a_file_of_another_python_has_no_names() -> None:
    assert receiver_at("print loss.backward()\n", 1, "backward") == ""


def test_the_pattern_has_the_expression_of_the_user() -> None:
    change = NOT_SCALAR.ways[0].change
    assert with_names(change, NOT_SCALAR, at(2)) == "-criterion(net(x), y).backward()\n+criterion(net(x), y).mean().backward()"
    assert with_names(change, NOT_SCALAR, at(1)) == change
    assert with_names(UNUSED.ways[0].change, UNUSED, at(2)) == UNUSED.ways[0].change


@pytest.mark.parametrize(("line", "count"), [("total.backward()", 2), ("g = torch.autograd.grad(out, x)", 3), ("step(out)", 3)])
def test_the_causes_are_those_that_the_line_can_have(line: str, count: int) -> None:
    """A line that goes backward from a loss does not ask for the gradient of an output."""
    place = Place(Frame("train.py", 1), Source(Path("train.py"), line + "\n"), 1)
    assert len(fitting(NOT_SCALAR.ways, NOT_SCALAR, place)) == count
