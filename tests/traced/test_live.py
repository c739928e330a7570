"""The probe inside of a process that goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

import graphfix
from graphfix.traced.live import GraphsGrow

net = nn.Linear(4, 1)


def steps(count: int, kept: list[torch.Tensor] | None = None) -> None:
    for _ in range(count):
        loss = net(torch.ones(2, 4)).pow(2).mean()
        loss.backward()
        if kept is not None:
            kept.append(loss)


def test_a_clean_loop() -> None:
    before = (torch.autograd.backward, torch.autograd.grad, torch.compile, threading.Thread.start)
    with graphfix.trace() as t:
        steps(8)
    assert t.growth == 0 and not t.failures and not t.retained and "8 backward passes" in t.report()
    assert before == (torch.autograd.backward, torch.autograd.grad, torch.compile, threading.Thread.start)
    assert torch._C._len_torch_function_stack() == 0


def test_a_loop_that_keeps_its_graphs() -> None:
    kept: list[torch.Tensor] = []
    with graphfix.trace() as t:
        steps(8, kept)
        assert t.growth == 4
    assert t.growth == 4 and "memory grows" in repr(t)


def test_an_error_is_told_and_goes_on_to_the_program() -> None:
    with graphfix.trace() as t, pytest.raises(RuntimeError, match="second time"):
        loss = net(torch.ones(2, 4)).exp().sum()
        loss.backward()
        loss.backward()
    (failure,) = t.failures
    assert failure.carrier is not None and failure.carrier.name == "loss"


def test_one_at_a_time() -> None:
    with graphfix.trace(), pytest.raises(RuntimeError, match="already"):
        graphfix.trace().start()


def test_a_watch_warns_once() -> None:
    kept: list[torch.Tensor] = []
    watch = graphfix.watch(every=2)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            steps(40, kept)
    finally:
        watch.stop()
    (warning,) = [each for each in seen if each.category is GraphsGrow]
    assert "`kept`" in str(warning.message) and warning.filename == __file__
    with pytest.raises(ValueError, match="every 0"):
        graphfix.watch(every=0)


TESTS = """
import torch
from torch import nn
net = nn.Linear(4, 1)
kept = []

def step(keep):
    loss = net(torch.ones(2, 4)).pow(2).mean()
    loss.backward()
    if keep:
        kept.append(loss)

def test_clean(autograd_probe):
    for _ in range(8):
        step(False)
    assert autograd_probe.growth == 0

def test_leak(autograd_probe):
    for _ in range(8):
        step(True)
    assert autograd_probe.growth == 0
"""


def test_the_fixture_of_the_pytest_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_steps.py").write_text(TESTS)
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_steps.py"]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout
