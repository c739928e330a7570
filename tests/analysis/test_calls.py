"""Calls that are entered, grad modes, and every coat in which a backward pass comes."""

# ruff: noqa: E501  one toy program a line

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import analyse

from .toys import hits, walks

ENTERED = {
    "returned": ("def f():\n    return net(x).exp().sum()\nl = f()\nl.backward()\nl.backward()", {(5, "REPEATED")}),
    "a fresh one each call": ("def f():\n    return net(x).exp().sum()\nf().backward()\nf().backward()", set()),
    "walked by the callee": ("def f(l):\n    l.backward()\nl = net(x).exp().sum()\nf(l)\nl.backward()", {(5, "REPEATED")}),
    "lambda": ("f = lambda: net(x).exp().sum()\nf().backward()\nf().backward()", set()),
    "default argument": ("def f(l=net(x).exp().sum()):\n    l.backward()\nf()\nf()", {(2, "REPEATED")}),
    "star arguments": ("def f(*a, **k):\n    a[0].backward()\n    k['b'].backward()\nl = net(x).exp().sum()\nf(l, b=l)", {(3, "REPEATED")}),
    "recursion": ("def f(h, n):\n    return h if n == 0 else f(net(h), n - 1)\nl = f(x, 1).exp().sum()\nl.backward()\nl.backward()", {(5, "REPEATED")}),
    "generator": ("def f():\n    for i in range(2):\n        yield net(x).exp().sum()\nfor l in f():\n    l.backward()", set()),
    "generator over one graph": ("def f():\n    h = net(x).exp()\n    yield h.sum()\n    yield h.mean()\nfor l in f():\n    l.backward()", {(6, "SEQUENTIAL")}),
    "decorator that passes on": ("def deco(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n@deco\ndef f(l):\n    l.backward()\nl = net(x).exp().sum()\nf(l)\nf(l)", {(7, "REPEATED")}),
    "partial": ("import functools\ndef f(l, n):\n    l.backward()\ng = functools.partial(f, net(x).exp().sum())\ng(1)\ng(2)", {(3, "REPEATED")}),
    "async": ("async def f(l):\n    l.backward()\nasync def main():\n    l = net(x).exp().sum()\n    await f(l)\n    await f(l)\nimport asyncio\nasyncio.run(main())", {(2, "REPEATED")}),
}  # fmt: skip

MODEL = "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 4)\n        self.h = x\n"
LOOP = "m = M()\nfor i in range(3):\n    m(x).sum().backward()\n"
OBJECTS = {
    "modules added by name": ("m = nn.ModuleList()\nfor i in range(2):\n    m.add_module('part%d' % i, nn.Linear(4, 4))\nh = net(x)\nl = sum(part(h).exp().sum() for part in m)\nl.backward()\nh.sum().backward()", {(7, "SEQUENTIAL")}),
    "state that forward leaves": (MODEL + "    def forward(self, x):\n        self.h = self.l(x + self.h)\n        return self.h\n" + LOOP, {(11, "CARRIED")}),
    "state that forward detaches": (MODEL + "    def forward(self, x):\n        y = self.l(x + self.h)\n        self.h = y.detach()\n        return y\n" + LOOP, set()),
    "property": (MODEL + "    @property\n    def s(self):\n        return self.l(x).exp()\nm = M()\nl = m.s\nm.s.sum().backward()\nl.sum().backward()", set()),
    "inherited forward": (MODEL + "    def forward(self, x):\n        return self.l(x).exp()\nclass N(M):\n    def forward(self, x):\n        self.o = super().forward(x)\n        return self.o\nm = N()\nm(x).sum().backward()\nm.o.sum().backward()", {(14, "SEQUENTIAL")}),
    "classmethod": ("class A:\n    @classmethod\n    def make(cls):\n        return net(x).exp().sum()\nl = A.make()\nl.backward()\nl.backward()", {(7, "REPEATED")}),
    "staticmethod": ("class A:\n    @staticmethod\n    def walk(l):\n        l.backward()\nl = net(x).exp().sum()\nA.walk(l)\nA.walk(l)", {(4, "REPEATED")}),
    "dataclass": ("import dataclasses\n@dataclasses.dataclass\nclass A:\n    l: object\na = A(net(x).exp().sum())\na.l.backward()\na.l.backward()", {(7, "REPEATED")}),
    "namedtuple": ("from typing import NamedTuple\nclass A(NamedTuple):\n    l: object\n    k: object\na, b = A(net(x).exp().sum(), 0)\na.backward()\na.backward()", {(7, "REPEATED")}),
    "contextmanager": ("import contextlib\n@contextlib.contextmanager\ndef made():\n    yield net(x).exp().sum()\nwith made() as l:\n    l.backward()\n    l.backward()", {(7, "REPEATED")}),
    "an item that a method keeps": ("class A:\n    def __setitem__(self, k, v):\n        self.l = v\na = A()\na[0] = net(x).exp().sum()\na.l.backward()\na.l.backward()", {(7, "REPEATED")}),
    "an item that a method detaches": ("class A:\n    l = 0\n    def __setitem__(self, k, v):\n        self.l = self.l + v.detach()\na = A()\nfor i in range(3):\n    l = net(x).exp().sum() + a.l\n    l.backward()\n    a[0] = l", set()),
    "two objects of one class": ("class A:\n    def __init__(self):\n        self.l = net(x).exp().sum()\nA().l.backward()\nA().l.backward()", set()),
}  # fmt: skip

UNKNOWN = {
    "two calls of what is not in sight": ("def f(model, z):\n    model(z).exp().sum().backward()\n    model(z).exp().sum().backward()", set()),
}  # fmt: skip

THREADS = {
    "a pool over one graph": ("from concurrent.futures import ThreadPoolExecutor\nh = net(x).exp()\ndef work(i):\n    (h * i).sum().backward()\nwith ThreadPoolExecutor(2) as pool:\n    list(pool.map(work, range(3)))", {(4, "THREADS")}),
    "a pool, a graph for each": ("from concurrent.futures import ThreadPoolExecutor\ndef work(i):\n    net(x).exp().sum().backward()\nwith ThreadPoolExecutor(2) as pool:\n    list(pool.map(work, range(3)))", set()),
    "threads over one graph": ("from threading import Thread\nh = net(x).exp()\ndef work():\n    h.sum().backward()\nts = [Thread(target=work) for _ in range(2)]\nfor t in ts:\n    t.start()\nfor t in ts:\n    t.join()", {(4, "THREADS")}),
    "threads that are never started": ("from threading import Thread\nh = net(x).exp()\ndef work():\n    h.sum().backward()\nts = [Thread(target=work) for _ in range(2)]", set()),
}  # fmt: skip

STRUCTURES = {
    "LSTM state": ("r = nn.LSTM(4, 4)\ns = None\nfor i in range(3):\n    o, s = r(x.view(1, 1, 4), s)\n    o.sum().backward()", {(5, "CARRIED")}),
    "LSTM state, detached": ("r = nn.LSTM(4, 4)\ns = None\nfor i in range(3):\n    o, s = r(x.view(1, 1, 4), s)\n    o.sum().backward()\n    s = tuple(t.detach() for t in s)", set()),
    "GRU state": ("r = nn.GRU(4, 4)\nh = torch.zeros(1, 1, 4)\nfor i in range(3):\n    o, h = r(x.view(1, 1, 4), h)\n    o.sum().backward()", {(5, "CARRIED")}),
    "GRU state, detached": ("r = nn.GRU(4, 4)\nh = torch.zeros(1, 1, 4)\nfor i in range(3):\n    o, h = r(x.view(1, 1, 4), h)\n    o.sum().backward()\n    h = h.detach()", set()),
    "cell": ("r = nn.LSTMCell(4, 4)\nh = c = torch.zeros(1, 4)\nfor i in range(3):\n    h, c = r(x.view(1, 4), (h, c))\n    h.sum().backward()", {(5, "CARRIED")}),
}  # fmt: skip

MODES = {
    "no_grad block": ("with torch.no_grad():\n    s = w.exp()\nfor i in range(2):\n    (s * w).sum().backward()", set()),
    "enable_grad inside": ("with torch.no_grad():\n    with torch.enable_grad():\n        l = w.exp().sum()\nl.backward()\nl.backward()", {(5, "REPEATED")}),
    "no_grad decorator": ("@torch.no_grad()\ndef f():\n    return w.exp()\ns = f()\nfor i in range(2):\n    (s * w).sum().backward()", set()),
    "set_grad_enabled as a statement": ("torch.set_grad_enabled(False)\ns = w.exp()\ntorch.set_grad_enabled(True)\nfor i in range(2):\n    (s * w).sum().backward()", set()),
    "set_grad_enabled block": ("with torch.set_grad_enabled(False):\n    s = w.exp()\nfor i in range(2):\n    (s * w).sum().backward()", set()),
}  # fmt: skip

ALL = [
    pytest.param(*case, id=name)
    for table in (ENTERED, OBJECTS, UNKNOWN, THREADS, STRUCTURES, MODES)
    for name, case in table.items()
]


@pytest.mark.parametrize(("body", "expected"), ALL)
def test_hits(body: str, expected: set[tuple[int, str]]) -> None:
    assert hits(body) == expected


COATS = {
    "chained": ("(w * x).mean().backward()", [1]),
    "autograd.backward": ("torch.autograd.backward([w.exp().sum(), w.sin().sum()])", [1]),
    "autograd.grad": ("g, = torch.autograd.grad(w.exp().sum(), [w])", [1]),
    "scaler": ("scaler = torch.amp.GradScaler()\nscaler.scale(w.exp().sum()).backward()", [2]),
    "apex": ("from apex import amp\nopt = torch.optim.SGD([w], 0.1)\nwith amp.scale_loss(w.exp().sum(), opt) as scaled:\n    scaled.backward()", [4]),
    "accelerator": ("from accelerate import Accelerator\na = Accelerator()\na.backward(w.exp().sum())", [3]),
    "fabric": ("from lightning.fabric import Fabric\nf = Fabric()\nf.backward(w.exp().sum())", [3]),
    "deepspeed": ("import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=net)\nengine.backward(w.exp().sum())", [3]),
    "manual_backward": ("import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, b, i):\n        self.manual_backward(w.exp().sum())\nM().training_step(0, 0)", [4]),
    "closure of LBFGS": ("opt = torch.optim.LBFGS([w])\ndef closure():\n    l = w.exp().sum()\n    l.backward()\n    return l\nopt.step(closure)", [4, 4]),
    "a layer written with numpy": ("import numpy as np\nclass Dense:\n    def backward(self, g):\n        return g * 2\nDense().backward(np.ones(3))", []),
    "without a graph": ("with torch.no_grad():\n    s = w.exp().sum()\nprint(s)", []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case, id=name) for name, case in COATS.items()])
def test_every_coat_of_a_backward_pass_is_seen(body: str, expected: list[int]) -> None:
    assert walks(body) == expected


@pytest.mark.parametrize(
    "walk",
    ["{}.backward()", "torch.autograd.backward([{}])", "torch.autograd.grad({}, [w])", "scaler.scale({}).backward()"],
)
def test_every_coat_frees_and_meets_what_is_freed(walk: str) -> None:
    body = "scaler = torch.amp.GradScaler()\nh = w.exp()\n" + walk.format("h.sum()") + "\n" + walk.format("h.mean()")
    assert hits(body) == {(4, "SEQUENTIAL")}
    assert hits(body.replace("h.mean()", "w.exp().mean()")) == set()


BY_THEIR_NAMES = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def endless(batches):
    iterator = batches.__iter__()
    while True:
        try:
            yield iterator.__next__()
        except StopIteration:
            iterator = batches.__iter__()

loader = endless(DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=2))
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for step in range(9):
    (x,) = loader.__next__()
    loss = net.__call__(x).pow(2).mean().__abs__()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total.__float__())
"""


def test_special_methods_that_are_called_by_their_names() -> None:
    exec(compile(BY_THEIR_NAMES, "train.py", "exec"), {})
    assert "GF101" in {finding.code for finding in analyse(Path("train.py"), BY_THEIR_NAMES).findings}
