"""When two runs computed the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.verify.compare import close, compare, numbers_in
from graphfix.verify.record import Ending, Failure, Parameter, Run, Walk
from graphfix.verify.shown import grows, longest_rise

ERROR = Failure("RuntimeError", "Trying to backward", "train.py", 3)


def run(losses: list[float], printed: str = "", values: tuple[float, ...] = (1.0,), **more: Any) -> Run:
    parameter = Parameter((len(values),), sum(value * value for value in values) ** 0.5, values)
    more.setdefault("ending", Ending.FAILED if "failure" in more else Ending.FINISHED)
    return Run(
        losses=tuple(enumerate(losses)), walk_count=len(losses), stdout=printed, parameters=(parameter,), torch="2", **more
    )


def walk(index: int, gradients: dict[int, float]) -> Walk:
    return Walk(index, "backward", "train.py", 3, 2, 2, 2, False, {}, 0, 0, 0, gradients, 0.1)


def test_numbers_are_the_same_within_the_tolerance() -> None:
    assert close(1.0, 1.00005) and not close(1.0, 1.001)
    assert close(0.0, 5e-7) and not close(0.0, 5e-6)
    assert close(float("nan"), float("nan")) and close(float("inf"), float("inf")) and not close(1.0, float("nan"))
    assert numbers_in("a 1.25 b") == ("1.25",)


def test_losses_output_and_parameters_count() -> None:
    whole = run([1.0, 0.5], "loss 0.5", (1.0, 2.0))
    assert compare(whole, run([1.0, 0.5], "loss tensor(0.5)", (1.0, 2.0))).compared == 2 + 1 + 2
    for other, word in (
        (run([1.0, 0.6], "loss 0.5", (1.0, 2.0)), "loss of backward pass 2"),
        (run([1.0, 0.5], "loss 0.6", (1.0, 2.0)), "prints 0.5 as number 1"),
        (run([1.0, 0.5], "loss 0.5 0.5", (1.0, 2.0)), "prints 1 numbers before, 2 after"),
        (run([1.0, 0.5], "loss 0.5", (1.0, 2.1)), "parameter 1 of 1"),
        (run([1.0, 0.5], "loss 0.5", (1.0,)), "of other shapes"),
        (run([1.0], "loss 0.5", (1.0, 2.0)), "2 backward passes before, 1 after"),
    ):
        comparison = compare(whole, other)
        assert not comparison.equal
        assert word in comparison.reason
    assert compare(whole, run([1.0], "loss 0.5", (1.0, 2.0)), walks=False).equal


def test_a_run_that_died_is_compared_up_to_its_end() -> None:
    dead = run([1.0], "0.5", (3.0,), failure=ERROR)
    same = compare(dead, run([1.0, 0.5], "0.5 0.25", (1.0,)))
    assert (same.equal, same.steps, same.compared) == (True, 1, 2)
    assert not compare(dead, run([2.0, 0.5], "0.5 0.25")).equal
    nothing = compare(run([], "", failure=ERROR), run([1.0]))
    assert (nothing.equal, nothing.compared) == (False, 0)
    assert "nothing to compare" in nothing.reason


def test_gradients_stand_for_the_parameters_of_a_run_that_died() -> None:
    def pair(ours: dict[int, float], theirs: dict[int, float], strict: bool = False) -> bool:
        dead = run([1.0], failure=ERROR, walks=(walk(0, ours),))
        return compare(dead, run([1.0, 0.5], walks=(walk(0, theirs), walk(1, {}))), strict=strict).equal

    assert pair({0: 1.0}, {0: 1.0})
    assert not pair({0: 1.0}, {0: 1.1})
    assert pair({0: 1.0, 1: 2.0}, {0: 1.0})
    assert not pair({0: 1.0, 1: 2.0}, {0: 1.0}, strict=True)


def test_a_run_that_was_ended_proves_nothing() -> None:
    late = Run(Ending.LATE, -15)
    assert not compare(late, run([1.0])).equal


def test_a_rise_is_counted_in_walks() -> None:
    assert longest_rise(()) == 1
    assert longest_rise((1, 1, 2, 3, 1, 2)) == 3


@pytest.mark.parametrize(
    ("before", "after", "alike"),
    [
        ("tensor(0.1235, grad_fn=<AddBackward0>)", "0.12345678", True),
        ("tensor(0.1235, device='cuda:0', dtype=torch.float64)", "0.1235", True),
        ("tensor(0.1235)", "0.1237123", False),
        ("0.12", "0.13", False),
        ("1.5e-3", "0.0015", True),
        ("loss 4", "loss 4.3", False),
    ],
)
def test_a_tensor_shows_less_of_a_number_than_a_float(before: str, after: str, alike: bool) -> None:
    runs = (Run(Ending.FINISHED, 0, stdout=before), Run(Ending.FINISHED, 0, stdout=after))
    assert compare(*runs).equal is alike


def test_each_call_of_a_step_has_a_level_of_its_own() -> None:
    """Three passes of each step leave 22, 28 and 33 nodes, step after step: nothing grows there, though each has more than the one before."""
    flat = [(line, live) for _ in range(4) for line, live in ((1, 22), (2, 28), (3, 33))]
    assert not grows(run_of(flat))
    assert grows(run_of([(line, live + 5 * number) for number, (line, live) in enumerate(flat)]))


def run_of(levels: list[tuple[int, int]]) -> Any:
    return SimpleNamespace(walks=[SimpleNamespace(file="train.py", line=line, live=live) for line, live in levels])
