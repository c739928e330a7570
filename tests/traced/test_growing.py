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


def test_four_batches_make_an_epoch() -> None:
    assert "memory grows: 4 backward() in a row leave" in epochs(3, 4, keeps=True)


def test_the_losses_of_one_step_make_no_tide() -> None:
    with graphfix.trace() as t:
        for _ in range(4):
            first = net(x).mean()
            first.backward()
            second = net(x).pow(2).mean()
            second.backward()
            third = net(x).abs().mean()
            third.backward()
            fourth = net(x).exp().mean()
            fourth.backward()
            del first, second, third, fourth
    assert "memory grows" not in t.report()


def gradients(*, cleared: bool) -> str:
    """What a run says whose gradients are given a graph."""
    with graphfix.trace() as t:
        for _ in range(8):
            leaf = torch.ones(3, requires_grad=True)
            leaf.pow(3).sum().backward(create_graph=True)
            slope = leaf.grad
            assert slope is not None
            slope.sum().backward()
            if cleared:
                leaf.grad = None
    return t.report()


def test_gradients_that_hold_their_own_graph_are_told() -> None:
    said = gradients(cleared=False)
    assert "memory grows" in said and "leaf.pow(3).sum()" in said
    assert "gives leaves a `.grad` that has a graph" in said


def test_gradients_that_are_let_go_hold_nothing() -> None:
    assert "`.grad`" not in gradients(cleared=True)


def retained(*, last: bool) -> str:
    """What a run says that retains the graph of several losses of each step, of the last one, too."""
    with graphfix.trace() as t:
        for _ in range(3):
            hidden = net(x)
            for number in range(3):
                (hidden * number).mean().backward(retain_graph=last or number < 2)
    return t.report()


def test_a_graph_that_is_retained_once_too_often_in_each_step_is_told() -> None:
    said = retained(last=True)
    assert "needless retain_graph=True" in said and "3 of 9 times" in said
    assert "needless retain_graph" not in retained(last=False)


def test_a_hook_that_keeps_outputs_is_named() -> None:
    layer = nn.Linear(4, 4)

    def watch() -> None:
        kept: list[torch.Tensor] = []
        layer.register_forward_hook(lambda module, given, made: kept.append(made))

    watch()
    with graphfix.trace() as t:
        for _ in range(8):
            layer(x).mean().backward()
    assert "`layer._forward_hooks" in t.report(), t.report()


def test_the_graph_of_a_whole_evaluation_is_told_by_its_lines() -> None:
    deep = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])
    with graphfix.trace() as t:
        for _ in range(4):
            deep(x).mean().backward()
        total = torch.zeros(())
        for _ in range(20):
            total = total + deep(x).mean()
        del total
    told = t.report()
    assert "graphs for nothing" in told and "deep(x).mean()" in told
