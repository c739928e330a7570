"""What is computed once and kept (`cached_property`, `lru_cache`), records that are replaced, and loops that are comprehensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.run.engine import findings_of

KEPT = """
import functools
from functools import cached_property, lru_cache
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.layer = nn.Linear(3, 1)

    {decorator}
    def scale(self{more}):
        return torch.tanh(self.w)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 4, 3):
    {before}
    loss = net.layer(x * net.scale{call}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""


def told(text: str) -> list[tuple[str, bool]]:
    return [(finding.code, finding.fix is not None) for finding in findings_of(Path("train.py"), text)]


@pytest.mark.parametrize(
    ("decorator", "more", "call", "code"),
    [
        ("@cached_property", "", "", "GF202"),
        ("@functools.cached_property", "", "", "GF202"),
        ("@lru_cache", "", "()", "GF201"),
        ("@functools.lru_cache(maxsize=None)", ", n", "(3)", "GF201"),
        ("@functools.cache", ", n=3", "(n=3)", "GF201"),
    ],
)
def test_a_graph_that_is_made_once_and_kept(decorator: str, more: str, call: str, code: str) -> None:
    assert told(KEPT.format(decorator=decorator, more=more, call=call, before="pass", after="pass")) == [(code, False)]


@pytest.mark.parametrize(
    ("decorator", "more", "call", "before", "after"),
    [
        ("@property", "", "", "pass", "pass"),
        ("@cached_property", "", "", "pass", "del net.scale"),
        ("@cached_property", "", "", "net.__dict__.pop('scale', None)", "pass"),
        ("@lru_cache", "", "()", "pass", "net.scale.cache_clear()"),
        ("@lru_cache", "", "()", "Net.scale.cache_clear()", "pass"),
        ("@lru_cache", ", x", "(x)", "pass", "pass"),
        ("@cached_property", "", ".detach()", "pass", "pass"),
    ],
)
def test_what_is_made_anew_or_cut(decorator: str, more: str, call: str, before: str, after: str) -> None:
    assert told(KEPT.format(decorator=decorator, more=more, call=call, before=before, after=after)) == []


LOCAL = """
import functools, torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 4, 3):
    @functools.lru_cache(maxsize=None)
    def made(row):
        return net(x[row]).pow(2).sum()

    loss = made(0) + made(1) + made(0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_function_that_each_iteration_defines_keeps_nothing_for_the_next() -> None:
    assert told(LOCAL) == []


STATE = """
import copy
from dataclasses import dataclass, replace
import torch
from torch import nn

cell = nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)

@dataclass
class State:
    h: torch.Tensor
    n: int = 0

state = State(torch.zeros(2, 4))
for x in torch.randn(5, 2, 3):
    h = cell(x, state.h)
    state = {made}
    optimizer.zero_grad()
    h.pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        ("replace(state, h=h)", ["GF202"]),
        ("replace(state, h=h.detach(), n=1)", []),
        ("replace(state, n=1)", []),
        ("State(h)", ["GF202"]),
    ],
)
def test_a_record_that_is_replaced(made: str, codes: list[str]) -> None:
    assert [code for code, _ in told(STATE.format(made=made))] == codes


LOOP = """
import torch
from torch import nn

cell = nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)

class Fitter:
    def __init__(self):
        self.h = torch.zeros(2, 4)

    def step(self, x):
        self.h = cell(x, self.h{cut})
        loss = self.h.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

fitter = Fitter()
losses = {loop}
"""


@pytest.mark.parametrize(
    "loop", ["[fitter.step(x) for x in torch.randn(5, 2, 3)]", "list(fitter.step(x) for x in torch.randn(5, 2, 3))"]
)
@pytest.mark.parametrize(("cut", "codes"), [("", ["GF202"]), (".detach()", [])])
def test_a_comprehension_that_trains(loop: str, cut: str, codes: list[str]) -> None:
    assert [code for code, _ in told(LOOP.format(cut=cut, loop=loop))] == codes


BY_HAND = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
for x in torch.randn(5, 4, 3):
    out = net(x)
    out.pow(2).mean().backward(retain_graph=True)
    with torch.no_grad():
        for p in net.parameters():
            {step}
    out.pow(2).mean().backward()
"""


@pytest.mark.parametrize(
    ("step", "codes"),
    [
        ("p.add_(p.grad, alpha=-0.1)", ["GF304"]),
        ("p.sub_(0.1 * p.grad)", ["GF304"]),
        ("p.data.add_(p.grad, alpha=-0.1)", []),
        ("print(p.grad)", []),
    ],
)
def test_a_step_by_hand_between_two_walks(step: str, codes: list[str]) -> None:
    assert [code for code, _ in told(BY_HAND.format(step=step))] == codes


CACHED = """
import functools
import torch
from torch import nn

def memoize(function):
    memo = {{}}

    def wrapper(*given):
        {body}

    return wrapper

embed = nn.Linear(4, 4)
head = nn.Linear(4, 1)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], 0.1)

@{decorator}
def encode(number):
    return torch.tanh(embed(torch.eye(4)[number]))

for _ in range(3):
    for number in range(4):
        loss = head(encode(number)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
"""
STORE = "memo[given] = function(*given)"
CACHES = {
    "lru_cache": ("functools.lru_cache(maxsize=None)", "return function(*given)", "GF201", "return torch.tanh(embed(torch.eye(4)[number]))"),
    "a check": ("memoize", f"if given not in memo:\n            {STORE}\n        return memo[given]", "GF102", STORE),
    "an early return": ("memoize", f"if given in memo:\n            return memo[given]\n        {STORE}\n        return memo[given]", "GF102", STORE),
    "a key of identities": (
        "memoize",
        f"key = (id(function), *given)\n        if key not in memo:\n            {STORE.replace('[given]', '[key]')}\n        return memo[key]",
        "GF102",
        STORE.replace("[given]", "[key]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("decorator", "body", "code", "place"), CACHES.values(), ids=CACHES)
def test_a_cache_whose_graph_goes_backward_again_is_told_with_its_store(decorator: str, body: str, code: str, place: str) -> None:
    pytest.importorskip("torch")
    text = CACHED.format(decorator=decorator, body=body, after="pass")
    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(text, "train.py", "exec"), {})
    (finding,) = findings_of(Path("train.py"), text)
    assert finding.code == code and finding.symptoms[0] is SECOND_WALK
    assert text.encode()[finding.span.start : finding.span.end].decode() == place
    backward = text.index("loss.backward()")
    assert sum(label.span.start == backward for label in finding.story) == 2, "the one that frees, and the one that raises"


def test_a_cache_that_is_cleared_after_each_step_is_fine() -> None:
    pytest.importorskip("torch")
    text = CACHED.format(decorator="functools.lru_cache(maxsize=None)", body="return 0", after="pass")
    text = text.replace("        optimizer.step()", "        optimizer.step()\n        encode.cache_clear()")
    exec(compile(text, "train.py", "exec"), {})
    assert told(text) == []


def test_two_keys_of_one_dict_are_two_places() -> None:
    text = CACHED.format(decorator="memoize", body=CACHES["a check"][1], after="pass")
    text = text.replace("range(4)", "range(1)").replace("range(3)", "range(4)").replace("encode(number)).mean", "encode(_)).mean")
    pytest.importorskip("torch")
    exec(compile(text, "train.py", "exec"), {})
    assert "second backward" not in [
        each.name for finding in findings_of(Path("train.py"), text) for each in finding.symptoms[:1]
    ]
