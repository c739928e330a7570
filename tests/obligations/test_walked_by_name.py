"""What has gone backward under its own name is a tensor, whatever it was made of."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

PROGRAM = """
from contextlib import suppress
import helper

def train(loader, log):
    total, average = 0, 0.0
    for x, y in loader:
        out = net(x)
        losses = {{"fit": (out - y).pow(2).mean(), "size": out.abs().mean()}}
        loss = sum(losses.values())
        opt.zero_grad()
        {walk}
        opt.step()
        {between}
        total += {added}
    print(total / len(loader))
"""


def titles(walk: str, between: str = "pass", added: str = "loss") -> list[str]:
    text = PROGRAM.format(walk=walk.replace("\n", "\n        "), between=between.replace("\n", "\n        "), added=added)
    return [title for _, title in safe_titles(SETUP + text)]


@pytest.mark.parametrize("walk", ["loss.backward()", "loss.backward(retain_graph=True)\nloss.backward()"])
@pytest.mark.parametrize("between", ["pass", "if helper.verbose:\n    print(x.shape)"])
def test_a_sum_that_went_backward_is_a_tensor(walk: str, between: str) -> None:
    assert "store `loss.item()`" in titles(walk, between)


@pytest.mark.parametrize(
    ("walk", "between"),
    [
        ("(loss / 4).backward()", "pass"),
        ("if helper.walks:\n    loss.backward()", "pass"),
        ("with suppress(AttributeError):\n    loss.backward()", "pass"),
        ("try:\n    loss.backward()\nexcept AttributeError:\n    pass", "pass"),
        ("loss.backward()", "loss = sum(losses.values())"),
        ("loss.backward()", "if helper.plain:\n    loss = sum([])"),
    ],
)
def test_what_did_not_surely_go_backward_may_be_a_number(walk: str, between: str) -> None:
    assert not [title for title in titles(walk, between) if "loss" in title]
