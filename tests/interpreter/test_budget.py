"""A statement that explodes is abandoned: it costs itself, and what stands behind it is run."""

from __future__ import annotations

import pytest

from graphfix.interpreter import interpreter
from graphfix.interpreter.budget import MOST_TURNS
from graphfix.interpreter.interpreter import OutOfSteps
from graphfix.interpreter.values import Unknown
from tests.analysis.toys import OFFSET, explored

# more than the budget of these tests, in a form that no rule about loops shortens
LONG = "net(x)\n" * 400


def bomb(code: str) -> str:
    return "if True:\n" + "".join("    " + line + "\n" for line in code.splitlines())


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "MAX_STEPS", 600)


def test_what_stands_behind_is_run() -> None:
    tape = explored(bomb(LONG) + "net(x).sum().backward()\n")
    assert [len(run.recording.walks) for run in tape.runs] == [1]


def test_the_run_counts_as_cut_short() -> None:
    tape = explored(bomb(LONG) + "net(x).sum().backward()\n")
    assert tape.truncated and tape.runs[0].recording.ended_by is OutOfSteps


def test_a_run_that_has_room_for_all_is_not_cut_short() -> None:
    tape = explored(bomb("net(x)\n" * 20) + "net(x).sum().backward()\n")
    assert not tape.truncated and tape.runs[0].recording.ended_by is None


def test_what_it_binds_may_be_anything() -> None:
    tape = explored("h = net(x)\nk = 0\n" + bomb("h = h.detach()\n" + LONG + "k = h\n") + "print(h)\n")
    env = tape.runs[0].recording.env
    assert env is not None
    assert all(isinstance(env.variables[name], Unknown) for name in "hk")


def test_an_attribute_that_it_sets_may_be_anything() -> None:
    tape = explored("class A:\n    pass\na = A()\na.h = net(x)\n" + bomb(LONG + "a.h = None\n") + "print(a)\n")
    env = tape.runs[0].recording.env
    assert env is not None
    assert isinstance(env.variables["a"].attributes["h"], Unknown)


def test_what_it_reads_may_have_been_walked_there() -> None:
    tape = explored("h = net(x)\n" + bomb(LONG + "fit(h)\n") + "print(h)\n")
    recording = tape.runs[0].recording
    assert any(node in recording.escapes for node in recording.nodes if node.site.lineno == 1 + OFFSET)


def test_statements_in_blocks_leave_something_to_those_behind_them() -> None:
    body = "".join("    " + line + "\n" for line in (bomb(LONG) + "net(x).sum().backward()").splitlines())
    tape = explored(f"def f():\n{body}f()\nnet(x).sum().backward()\n")
    assert len(tape.runs[0].recording.walks) == 2


def test_loops_in_loops_do_not_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten in one another would run two times two times two ... iterations: of a loop that is entered so often, each entry runs one."""
    nest = "".join("    " * n + f"for i{n} in given.x{n}:\n" for n in range(10)) + "    " * 10 + "net(x)\n"
    monkeypatch.setattr(interpreter, "MAX_STEPS", 30_000)
    (run,) = explored("given = load()\n" + nest).runs
    made = [node for node in run.recording.nodes if node.site.lineno == OFFSET + 12]
    assert MOST_TURNS <= len(made) < 3 * MOST_TURNS
