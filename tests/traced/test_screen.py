"""The story answers the error that the program ended in; what was seen in passing stands apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import graphfix

from .programs import HEAD, line_of, traced

pytestmark = pytest.mark.deep

net = nn.Linear(4, 4)
x = torch.ones(2, 4)


def _unrecorded() -> torch.Tensor:
    with torch.no_grad():
        out = net(x)
    return (out * 2).mean()


CUTS: dict[str, tuple[Callable[[], torch.Tensor], str, str]] = {
    "the largest": (lambda: net(x).argmax(dim=1).float().mean(), "argmax", "constant"),
    "in a list": (lambda: torch.stack([net(x).detach() for _ in range(2)]).sum(), "detach", "constant"),
    "an attribute": (lambda: (net(x).data * 2).sum(), "data", "constant"),
    "nothing recorded": (_unrecorded, "linear", "unrecorded"),
    "a number": (lambda: torch.tensor(net(x).sum().item()) * 2, "tensor", "numbers"),
}


@pytest.mark.parametrize(("loss", "name", "how"), CUTS.values(), ids=CUTS)
def test_the_operation_that_cut_the_graph(loss: Callable[[], torch.Tensor], name: str, how: str) -> None:
    with graphfix.trace() as t, pytest.raises(RuntimeError, match="does not require grad"):
        loss().backward()
    (failure,) = t.failures
    assert failure.cut is not None and (failure.cut.name, failure.cut.how) == (name, how)
    assert "finds no graph" in t.report()


def test_no_cut_is_told_where_no_parameter_came_in() -> None:
    with graphfix.trace() as t, pytest.raises(RuntimeError, match="does not require grad"):
        (x * 2).sum().backward()
    assert t.failures[0].cut is None


RETAINED = """
for _ in range(3):
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
"""


def test_what_was_seen_in_passing_stands_below(graphfix: Any, tmp_path: Path) -> None:
    """The repair of what was seen in passing would not cure the error: no command for it is given."""
    script = HEAD + RETAINED + "scores = net(x).argmax(dim=1)  # cut\n(scores * 1.0).mean().backward()  # hit\n"
    done, _ = traced(graphfix, tmp_path, script)
    text = done.stderr.decode().rpartition("Traceback")[2]
    answer, apart, passing = text.partition("also seen, but")
    answer = answer.rpartition("RuntimeError")[2]
    assert apart and f"train.py:{line_of(script, 'cut')}" in answer and "argmax()" in answer
    assert "needless retain_graph=True" in passing and "2 times" in passing
    assert "nothing wrong" not in text and "to apply" not in text
    assert answer.index("# cut") < answer.index("# hit")


@pytest.mark.parametrize(
    "end",
    ["x.index_fill_(0, torch.tensor([0]), 2)\nloss.backward()", "net(x).backward()"],
    ids=["it is on the way to the pass that failed", "the run did not come to what may need it"],
)
def test_nothing_is_needless_that_the_failed_run_did_not_come_to(graphfix: Any, tmp_path: Path, end: str) -> None:
    script = HEAD + "loss = net(x).pow(2).mean()\nloss.backward(retain_graph=True)\n" + end + "\n"
    done, kept = traced(graphfix, tmp_path, script, "--quiet")
    assert done.returncode == 1 and kept["trace"]["retained"]
    assert "needless retain_graph" not in done.stderr.decode()


def test_an_error_of_another_kind_is_not_judged(graphfix: Any, tmp_path: Path) -> None:
    done, _ = traced(graphfix, tmp_path, HEAD + RETAINED + "open('missing')\n")
    text = " ".join(done.stderr.decode().split())
    assert "it failed (FileNotFoundError: [Errno 2] No such file or directory: 'missing')" in text
    assert "nothing wrong" not in text and "to apply" not in text
