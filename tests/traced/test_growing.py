"""What a traced run says of graphs that are kept over iterations."""

from __future__ import annotations

import torch
from torch import nn

import graphfix

net, x = nn.Linear(4, 4), torch.ones(2, 4)


def epochs(count: int, batches: int, *, keeps: bool) -> str:
    """What a run says that keeps its losses until an epoch ends."""
    with graphfix.trace() as t:
        for _ in range(count):
            history = []
            for _ in range(batches):
                loss = net(x).pow(2).mean()
                loss.backward()
                history.append(loss if keeps else loss.item())
            del history
    return t.report()


def test_what_is_let_go_at_the_end_of_an_epoch_is_told() -> None:
    said = epochs(3, 12, keeps=True)
    assert "memory grows: 12 backward() in a row leave" in said and "which are let go then" in said
    assert "`history` (variable, in epochs())" in said


def test_numbers_make_no_tide() -> None:
    assert "memory grows" not in epochs(3, 12, keeps=False)


def test_a_few_losses_of_one_step_make_no_tide() -> None:
    assert "memory grows" not in epochs(6, 3, keeps=True)
