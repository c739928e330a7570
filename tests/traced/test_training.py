"""What `graphfix trace` says of programs that run without an error and train nothing, or not all that they seem to."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from .programs import line_of, traced

pytestmark = pytest.mark.deep

HEAD = """import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
data = [(torch.randn(6, 4), torch.randint(0, 2, (6,))) for _ in range(4)]
"""
STEP = """\
    opt.zero_grad()
    loss.backward()  # walk
    opt.step()  # step
"""
NOTHING = {
    "the best class": (
        """
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    out = net(x).argmax(1).float()  # cut
    loss = (out - y).abs().mean().requires_grad_()
    STEP
""",
        ["argmax() has no gradient", "leave `requires_grad` out"],
    ),
    "nothing recorded": (
        """
opt = torch.optim.Adam(net.parameters())
for x, y in data:
    with torch.no_grad():
        out = net(x)  # cut
    loss = F.cross_entropy(out, y)
    loss.requires_grad = True
    STEP
""",
        ["runs without recording", "leave `requires_grad` out"],
    ),
    "another network has the optimizer": (
        """
def made(layers):
    return torch.optim.SGD(layers.parameters(), 0.1)  # given
opt = made(net)  # asked
net = nn.Linear(4, 2)
for x, y in data:
    loss = F.cross_entropy(net(x), y)
    STEP
""",
        ["`net.weight`", "which no optimizer has", "behind what replaces or wraps them", "gave an optimizer the parameters", "called from train.py:"],
    ),
    "numbers of a list": (
        """
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    losses = [F.cross_entropy(net(x), y) for _ in range(3)]
    values = torch.tensor(losses, requires_grad=True)
    loss = (2 * values).mean()
    STEP
""",
        ["tensor() makes a new tensor of the values alone"],
    ),
    "a variable of its own": (
        """
from torch.autograd import Variable
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = Variable(F.cross_entropy(net(x), y), requires_grad=True)
    STEP
""",
        ["leave `requires_grad` out"],
    ),
}
NEVER = {
    "a weight that is read without recording": (
        """
scale = nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([*net.parameters(), scale], 0.1)
for x, y in data:
    with torch.no_grad():
        scaled = x * scale  # cut
    loss = F.cross_entropy(net(scaled), y)
    STEP
""",
        ["never trained: `scale` had no gradient at any of 4 steps", "runs without recording (no_grad"],
    ),
    "an encoder that forward() does not record": (
        """
class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
    def forward(self, x):
        with torch.no_grad():
            h = self.enc(x).relu()  # cut
        return self.head(h)
net = Both()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x), y)
    STEP
""",
        ["never trained: `net.enc.weight` and `net.enc.bias`", "runs without recording (no_grad"],
    ),
    "an encoder in a mode": (
        """
enc = nn.Linear(4, 4)
opt = torch.optim.SGD([*enc.parameters(), *net.parameters()], 0.1)
for x, y in data:
    with torch.no_grad():  # off
        rows = enc.weight[:, :2]
        h = x * rows.clamp(0, 1).mean()  # cut
    loss = F.cross_entropy(net(h), y)
    STEP
""",
        ["`enc.weight`", "switches recording off", "clamp() runs without recording"],
    ),
    "what a hook detaches": (
        """
enc, kept = nn.Linear(4, 4), []
enc.register_forward_hook(lambda module, given, made: kept.append(made.clone().detach()))  # cut
opt = torch.optim.SGD([*enc.parameters(), *net.parameters()], 0.1)
for x, y in data:
    enc(x)
    best = net(kept[-1]).argmax(1)
    loss = F.cross_entropy(net(kept[-1]), y)
    STEP
""",
        ["`enc.weight`", "detach() has no gradient, or cuts the graph"],
    ),
    "what is weighed by zero": (
        """
aux = nn.Linear(4, 2)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x) + 0.0 * aux(x), y)
    STEP
""",
        ["had a gradient of zeros only at any of 4 steps"],
    ),
    "a part that no optimizer has": (
        """
aux = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x) + aux(x), y)
    STEP
""",
        ["no optimizer has", "`aux.weight`", "Give them to the optimizer"],
    ),
    "a part of a function's own": (
        """
def train():
    aux = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        loss = F.cross_entropy(net(x) + aux(x), y)

        opt.zero_grad()
        loss.backward()  # walk
        opt.step()  # step

train()
""",
        ["`aux.weight`", "Give them to the optimizer"],
    ),
}
RIGHT = {
    "as usual": """
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x), y)
    STEP
""",
    "a frozen backbone": """
net[0].requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x), y)
    STEP
""",
    "a closure": """
opt = torch.optim.LBFGS(net.parameters(), max_iter=2)
for x, y in data:
    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss
    opt.zero_grad()
    opt.step(closure)
""",
    "two sides of a game": """
d, g = nn.Linear(4, 1), nn.Linear(4, 4)
opt_d, opt_g = torch.optim.SGD(d.parameters(), 0.1), torch.optim.SGD(g.parameters(), 0.1)
for x, _ in data:
    opt_d.zero_grad()
    (d(g(x).detach()).mean() - d(x).mean()).backward()
    opt_d.step()
    opt_g.zero_grad()
    d(g(x)).mean().neg().backward()
    opt_g.step()
""",
    "an average of the weights": """
import copy
mean = copy.deepcopy(net)
nn.init.ones_(mean[2].weight)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    with torch.no_grad():
        goal = mean(x)
    loss = F.mse_loss(net(x), goal)
    STEP
    with torch.no_grad():
        for a, b in zip(mean.parameters(), net.parameters()):
            a.lerp_(b, 0.1)
""",
    "stepped by hand": """
aux = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x) + aux(x), y)
    STEP
    for p in aux.parameters():
        p.data -= 0.1 * p.grad
        p.grad = None
""",
    "trained every second step": """
aux = nn.Linear(4, 2)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for number, (x, y) in enumerate(data):
    loss = F.cross_entropy(net(x) + aux(x) if number % 2 else net(x), y)
    STEP
""",
    "an optimizer that comes later": """
aux = nn.Linear(4, 2)
for number, (x, y) in enumerate(data):
    loss = F.cross_entropy(net(x) + aux(x), y)
    if not number:
        loss.backward()
        opt, later = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(aux.parameters(), 0.1)
        continue
    STEP
""",
    "an adapter": """
net.requires_grad_(False)
lora = nn.Linear(4, 2, bias=False)
nn.init.zeros_(lora.weight)
opt = torch.optim.SGD(lora.parameters(), 0.1)
for x, y in data:
    loss = F.cross_entropy(net(x) + lora(x), y)
    STEP
""",
    "a sparse gradient": """
rows = nn.Embedding(9, 4, sparse=True)
opt = torch.optim.SGD(rows.parameters(), 0.1)
for x, y in data:
    loss = (rows(y) - x).pow(2).mean()
    STEP
""",
    "a gradient that is kept": """
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    h = net[0](x)
    h.retain_grad()
    loss = F.cross_entropy(net[2](h), y)
    STEP
    h.grad.norm()
""",
}


def whole(program: str) -> str:
    """A program whose line STEP stands for a training step with the `loss`."""
    return program.replace("    STEP\n", STEP)


@pytest.mark.parametrize(("program", "said"), NOTHING.values(), ids=NOTHING)
def test_a_run_that_trains_nothing_is_told(graphfix: Any, tmp_path: Path, program: str, said: list[str]) -> None:
    script = HEAD + whole(program)
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert done.returncode == 0 and "trains nothing: no gradient came to any of 4 parameters, in 4 steps" in told
    assert f"train.py:{line_of(script, 'step')}" in told
    assert all(words in told for words in said), told
    if "# cut" in script:
        assert f"train.py:{line_of(script, 'cut')}" in told and f"train.py:{line_of(script, 'walk')}" in told


@pytest.mark.parametrize(("program", "said"), NEVER.values(), ids=NEVER)
def test_what_is_never_trained_is_told(graphfix: Any, tmp_path: Path, program: str, said: list[str]) -> None:
    script = HEAD + whole(program)
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert done.returncode == 0 and "trains nothing" not in told
    assert all(words in told for words in said), told
    if "# cut" in script:
        assert f"train.py:{line_of(script, 'cut')}" in told


def test_what_is_trained_as_it_is_meant_is_not_told(graphfix: Any, tmp_path: Path) -> None:
    """All of them in one run, each as a function of its own."""
    imports, _, made = HEAD.partition("torch.manual_seed")
    texts = (f"torch.manual_seed{made}{whole(program)}" for program in RIGHT.values())
    programs = (f"def run():\n{indent(text, '    ')}\n\nrun()\n" for text in texts)
    done, kept = traced(graphfix, tmp_path, imports + "".join(programs))
    assert done.returncode == 0 and kept["walk_count"] > 3 * len(RIGHT), done.stderr
    assert b"nothing wrong" in done.stderr and b"trained" not in done.stderr and b"no optimizer" not in done.stderr, done.stderr


def test_a_gradient_that_torch_does_not_keep_is_told(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + "opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    h = net[0](x)\n"
    script += f"    loss = F.cross_entropy(net[2](h), y)\n{STEP}    print(h.grad)  # read\n"
    done, _ = traced(graphfix, tmp_path, script)
    told = done.stderr.decode()
    assert "no gradient is kept" in told and f"train.py:{line_of(script, 'read')}" in told and "retain_grad()" in told
