"""What `graphfix trace` says of programs that run without an error and train nothing, or not all that they seem to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .programs import line_of, traced

HEAD = """import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
data = [(torch.randn(6, 4), torch.randint(0, 2, (6,))) for _ in range(4)]
"""
STEP = """
    opt.zero_grad()
    loss.backward()  # walk
    opt.step()  # step
"""
NOTHING = {
    "the best class": (
        f"opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    out = net(x).argmax(1).float()  # cut\n"
        f"    loss = (out - y).abs().mean().requires_grad_(){STEP}",
        ["argmax() has no gradient", "leave `requires_grad` out"],
    ),
    "nothing recorded": (
        f"opt = torch.optim.Adam(net.parameters())\nfor x, y in data:\n    with torch.no_grad():\n        out = net(x)  # cut\n"
        f"    loss = F.cross_entropy(out, y)\n    loss.requires_grad = True{STEP}",
        ["ran without recording", "leave `requires_grad` out"],
    ),
    "another network has the optimizer": (
        f"opt = torch.optim.SGD(net.parameters(), 0.1)\nnet = nn.Linear(4, 2)\nfor x, y in data:\n    loss = F.cross_entropy(net(x), y){STEP}",
        ["`net.weight`", "which no optimizer has", "behind what replaces or wraps them"],
    ),
    "a variable of its own": (
        f"from torch.autograd import Variable\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n"
        f"    loss = Variable(F.cross_entropy(net(x), y), requires_grad=True){STEP}",
        ["leave `requires_grad` out"],
    ),
}
NEVER = {
    "a weight that is read without recording": (
        f"scale = nn.Parameter(torch.ones(1))\nopt = torch.optim.SGD([*net.parameters(), scale], 0.1)\nfor x, y in data:\n    with torch.no_grad():\n"
        f"        scaled = x * scale  # cut\n    loss = F.cross_entropy(net(scaled), y){STEP}",
        ["never trained: `scale` had no gradient at any of 4 steps", "reads them without recording"],
    ),
    "an encoder that forward() does not record": (
        f"class Both(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.enc, self.head = nn.Linear(4, 8), nn.Linear(8, 2)\n"
        f"    def forward(self, x):\n        with torch.no_grad():\n            h = self.enc(x).relu()  # cut\n        return self.head(h)\n"
        f"net = Both()\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.cross_entropy(net(x), y){STEP}",
        ["never trained: `net.enc.weight` and `net.enc.bias`", "reads them without recording"],
    ),
    "what is weighed by zero": (
        f"aux = nn.Linear(4, 2)\nopt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)\nfor x, y in data:\n"
        f"    loss = F.cross_entropy(net(x) + 0.0 * aux(x), y){STEP}",
        ["had a gradient of zeros only at any of 4 steps"],
    ),
    "a part that no optimizer has": (
        f"aux = nn.Linear(4, 2)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.cross_entropy(net(x) + aux(x), y){STEP}",
        ["no optimizer has", "`aux.weight`", "Give them to the optimizer"],
    ),
    "a part of a function's own": (
        f"def train():\n    aux = nn.Linear(4, 2)\n    opt = torch.optim.SGD(net.parameters(), 0.1)\n    for x, y in data:\n        loss = F.cross_entropy(net(x) + aux(x), y)\n"
        f"{STEP.replace('    ', '        ')}\ntrain()\n",
        ["`aux.weight`", "Give them to the optimizer"],
    ),
}
RIGHT = {
    "as usual": f"opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.cross_entropy(net(x), y){STEP}",
    "a frozen backbone": f"net[0].requires_grad_(False)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.cross_entropy(net(x), y){STEP}",
    "a closure": (
        "opt = torch.optim.LBFGS(net.parameters(), max_iter=2)\nfor x, y in data:\n    def closure():\n        opt.zero_grad()\n"
        "        loss = F.cross_entropy(net(x), y)\n        loss.backward()\n        return loss\n    opt.zero_grad()\n    opt.step(closure)\n"
    ),
    "two sides of a game": (
        "d, g = nn.Linear(4, 1), nn.Linear(4, 4)\nopt_d, opt_g = torch.optim.SGD(d.parameters(), 0.1), torch.optim.SGD(g.parameters(), 0.1)\n"
        "for x, _ in data:\n    opt_d.zero_grad()\n    (d(g(x).detach()).mean() - d(x).mean()).backward()\n    opt_d.step()\n"
        "    opt_g.zero_grad()\n    d(g(x)).mean().neg().backward()\n    opt_g.step()\n"
    ),
    "an average of the weights": (
        "import copy\nmean = copy.deepcopy(net)\nnn.init.ones_(mean[2].weight)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    with torch.no_grad():\n        goal = mean(x)\n"
        f"    loss = F.mse_loss(net(x), goal){STEP}    with torch.no_grad():\n        for a, b in zip(mean.parameters(), net.parameters()):\n            a.lerp_(b, 0.1)\n"
    ),
    "stepped by hand": (
        f"aux = nn.Linear(4, 2)\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.cross_entropy(net(x) + aux(x), y){STEP}"
        "    for p in aux.parameters():\n        p.data -= 0.1 * p.grad\n        p.grad = None\n"
    ),
    "trained every second step": (
        "aux = nn.Linear(4, 2)\nopt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)\nfor number, (x, y) in enumerate(data):\n"
        f"    loss = F.cross_entropy(net(x) + aux(x) if number % 2 else net(x), y){STEP}"
    ),
    "an adapter": (
        "net.requires_grad_(False)\nlora = nn.Linear(4, 2, bias=False)\nnn.init.zeros_(lora.weight)\nopt = torch.optim.SGD(lora.parameters(), 0.1)\n"
        f"for x, y in data:\n    loss = F.cross_entropy(net(x) + lora(x), y){STEP}"
    ),
    "a sparse gradient": (
        f"rows = nn.Embedding(9, 4, sparse=True)\nopt = torch.optim.SGD(rows.parameters(), 0.1)\nfor x, y in data:\n    loss = (rows(y) - x).pow(2).mean(){STEP}"
    ),
    "a gradient that is kept": (
        f"opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    h = net[0](x)\n    h.retain_grad()\n    loss = F.cross_entropy(net[2](h), y){STEP}    h.grad.norm()\n"
    ),
}


@pytest.mark.parametrize(("program", "said"), NOTHING.values(), ids=NOTHING)
def test_a_run_that_trains_nothing_is_told(graphfix: Any, tmp_path: Path, program: str, said: list[str]) -> None:
    script = HEAD + program
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert done.returncode == 0 and "trains nothing: no gradient came to any of 4 parameters, in 4 steps" in told
    assert f"train.py:{line_of(script, 'step')}" in told
    assert all(words in told for words in said), told
    if "# cut" in script:
        assert f"train.py:{line_of(script, 'cut')}" in told and f"train.py:{line_of(script, 'walk')}" in told


@pytest.mark.parametrize(("program", "said"), NEVER.values(), ids=NEVER)
def test_what_is_never_trained_is_told(graphfix: Any, tmp_path: Path, program: str, said: list[str]) -> None:
    script = HEAD + program
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert done.returncode == 0 and "trains nothing" not in told
    assert all(words in told for words in said), told
    if "# cut" in script:
        assert f"train.py:{line_of(script, 'cut')}" in told


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_what_is_trained_as_it_is_meant_is_not_told(graphfix: Any, tmp_path: Path, program: str) -> None:
    done, _ = traced(graphfix, tmp_path, HEAD + program)
    assert done.returncode == 0, done.stderr
    assert all(words not in done.stderr.decode() for words in ("train", "no optimizer has", "no gradient")) or b"nothing wrong" in done.stderr


def test_a_gradient_that_torch_does_not_keep_is_told(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + "opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    h = net[0](x)\n"
    script += f"    loss = F.cross_entropy(net[2](h), y){STEP}    print(h.grad)  # read\n"
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert "no gradient is kept" in told and f"train.py:{line_of(script, 'read')}" in told and "retain_grad()" in told
