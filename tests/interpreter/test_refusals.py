"""A run begins anew where it has gone a way on which the code would raise."""

from __future__ import annotations

import pytest

from tests.analysis.toys import explored

PROGRAM = """\
given = load()
def made(flag):
    h = net(x)
    if flag:
        return h, h
    return h
{call}
net(x).sum().backward()
"""


def returned(call: str) -> set[bool]:
    """Which sides of the branch the runs have taken."""
    tape = explored(PROGRAM.format(call=call))
    return {side for run in tape.runs for (site, side) in run.recording.covered if hasattr(site, "test")}


@pytest.mark.parametrize("call", ("out = made(given.flag).detach()", "out = made(given.flag)\nout.sum().backward()"))
def test_a_tuple_has_no_method_of_tensors(call: str) -> None:
    assert returned(call) == {False}


@pytest.mark.parametrize(
    "call", ("out = made(given.flag)", "out = made(given.flag).count(1)"), ids=("nothing is called", "one of tuples")
)
def test_both_sides_are_run_where_both_may_work(call: str) -> None:
    assert returned(call) == {False, True}


def test_an_error_that_is_caught_is_no_refusal() -> None:
    caught = "try:\n    out = made(given.flag).detach()\nexcept AttributeError:\n    out = None"
    assert True in returned(caught)
