"""Faults of ten kinds, each with the lines that its repair makes; the program runs with them."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

torch = pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]
"""
# for each kind: a program, and the lines that are new in it once it is repaired
FAULTS: dict[str, list[tuple[str, list[str]]]] = {
    "totals": [
        (
            """\
running = 0.0
for x, y in data:
    loss = F.mse_loss(net(x), y)
    running = running + loss
    opt.zero_grad(); running.backward(); opt.step()
print("mean", running.item() / len(data))
""",
            ["running = running + loss.detach()", "opt.zero_grad(); loss.backward(); opt.step()"],
        ),
        (
            """\
class T:
    def __init__(self):
        self.total = 0.0
    def fit(self):
        for x, y in data:
            self.total = self.total + F.mse_loss(net(x), y)
            opt.zero_grad()
            self.total.backward()
            opt.step()
T().fit()
""",
            ["loss = F.mse_loss(net(x), y)", "self.total = self.total + loss.detach()", "loss.backward()"],
        ),
        (
            """\
acc = 0.0
for i, (x, y) in enumerate(data * 2):
    acc = acc + F.mse_loss(net(x), y)
    if i % 4 == 3:
        opt.zero_grad()
        acc.backward()
        opt.step()
""",
            ["acc = 0.0"],
        ),
    ],
    "carried state": [
        (
            """\
cell = nn.GRUCell(4, 4); head = nn.Linear(4, 1)
o = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
state = {"h": torch.zeros(8, 4)}
for x, y in data:
    state["h"] = cell(x, state["h"])
    loss = F.mse_loss(head(state["h"]), y)
    o.zero_grad(); loss.backward(); o.step()
""",
            ['state["h"] = state["h"].detach()'],
        ),
        (
            """\
cells = nn.ModuleList([nn.GRUCell(4, 4), nn.GRUCell(4, 4)]); head = nn.Linear(4, 1)
o = torch.optim.SGD([*cells.parameters(), *head.parameters()], lr=0.1)
hs = [torch.zeros(8, 4) for _ in cells]
for x, y in data:
    inp = x
    for i, c in enumerate(cells):
        hs[i] = c(inp, hs[i])
        inp = hs[i]
    loss = F.mse_loss(head(inp), y)
    o.zero_grad(); loss.backward(); o.step()
""",
            ["hs = [s.detach() for s in hs]"],
        ),
        (
            """\
center = torch.zeros(1)
for x, y in data:
    out = net(x)
    center = 0.9 * center + 0.1 * out.mean()
    loss = F.mse_loss(out, y) + (out - center).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
            ["center = center.detach()"],
        ),
    ],
    "logs": [
        (
            """\
log = []
for x, y in data:
    out = net(x)
    loss = F.mse_loss(out, y)
    opt.zero_grad(); loss.backward(); opt.step()
    log.append((loss, out))
print(sum(a for a, _ in log))
""",
            ["log.append((loss.detach(), out.detach()))"],
        ),
        (
            """\
from dataclasses import dataclass
@dataclass
class Rec:
    loss: torch.Tensor
    out: torch.Tensor
log = []
for x, y in data:
    out = net(x)
    rec = Rec(F.mse_loss(out, y), out)
    opt.zero_grad(); rec.loss.backward(); opt.step()
    log.append(rec)
print(sum(r.loss for r in log))
""",
            ["log.append(type(rec)(loss=rec.loss.detach(), out=rec.out.detach()))"],
        ),
        (
            """\
best = None
for x, y in data:
    loss = F.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if best is None or loss < best:
        best = loss
print(best)
""",
            ["best = loss.item()"],
        ),
        (
            """\
class Meter:
    def __init__(self):
        self.vals = {}
    def add(self, **kw):
        for k, v in kw.items():
            self.vals.setdefault(k, []).append(v)
m = Meter()
for x, y in data:
    loss = F.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    m.add(loss=loss)
print({k: sum(v) / len(v) for k, v in m.vals.items()})
""",
            ["self.vals.setdefault(k, []).append(v.item())"],
        ),
    ],
    "several losses": [
        (
            """\
h1, h2 = nn.Linear(1, 1), nn.Linear(1, 1)
for x, y in data:
    f = net(x)
    l1 = F.mse_loss(h1(f), y)
    l2 = F.l1_loss(h2(f), y)
    opt.zero_grad()
    l1.backward()
    l2.backward()
    opt.step()
""",
            ["(l1 + l2).backward()"],
        ),
        (
            """\
for x, y in data:
    f = net(x)
    losses = [F.mse_loss(f, y), F.l1_loss(f, y), f.pow(2).mean()]
    norms = []
    for i, l in enumerate(losses):
        opt.zero_grad()
        l.backward()
        norms.append(net[0].weight.grad.norm().item())
    opt.step()
""",
            ["l.backward(retain_graph=i < len(losses) - 1)"],
        ),
    ],
    "several steps": [
        (
            """\
other = torch.optim.Adam(net.parameters(), lr=0.01)
for x, y in data:
    out = net(x)
    first = F.mse_loss(out, y)
    second = F.l1_loss(out, y)
    opt.zero_grad()
    first.backward()
    opt.step()
    other.zero_grad()
    second.backward()
    other.step()
""",
            ["out = net(x)", "second = F.l1_loss(out, y)"],
        ),
    ],
    "several players": [
        (
            """\
G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for x, _ in data:
    fake = G(torch.randn(8, 2))
    dl = D(fake).mean() - D(x).mean()
    od.zero_grad(); dl.backward(); od.step()
    gl = -D(fake).mean()
    og.zero_grad(); gl.backward(); og.step()
""",
            ["dl = D(fake.detach()).mean() - D(x).mean()"],
        ),
        (
            """\
G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for x, _ in data:
    fake = G(torch.randn(8, 2))
    score = D(fake)
    dl = D(fake.detach()).mean() - D(x).mean()
    od.zero_grad(); dl.backward(); od.step()
    gl = -score.mean()
    og.zero_grad(); gl.backward(); og.step()
""",
            [
                "od.zero_grad(); dl.backward()",
                "og.zero_grad()",
                "gl.backward(inputs=list(G.parameters()))",
                "od.step()",
                "og.step()",
            ],
        ),
        (
            """\
V = nn.Linear(4, 1); ov = torch.optim.Adam(V.parameters())
for x, r in data:
    dist = torch.distributions.Normal(net(x), 1.0)
    a = dist.sample()
    adv = r - V(x)
    pl = -(dist.log_prob(a) * adv).mean()
    vl = adv.pow(2).mean()
    opt.zero_grad(); pl.backward(); opt.step()
    ov.zero_grad(); vl.backward(); ov.step()
""",
            ["pl = -(dist.log_prob(a) * adv.detach()).mean()"],
        ),
        (
            """\
V = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)); ov = torch.optim.Adam(V.parameters())
prev = None
for x, r in data:
    v = V(x)
    if prev is not None:
        loss = F.mse_loss(prev, r + 0.9 * v)
        ov.zero_grad(); loss.backward(); ov.step()
    prev = v
""",
            ["prev = V(x)"],
        ),
    ],
    "graphs from outside": [
        (
            """\
enc = nn.Linear(4, 4)
o = torch.optim.SGD([*enc.parameters(), *net.parameters()], lr=0.1)
X = torch.randn(8, 4); Y = torch.randn(8, 1)
z = enc(X)
for _ in range(5):
    loss = F.mse_loss(net(z), Y)
    o.zero_grad(); loss.backward(); o.step()
""",
            ["z = enc(X)"],
        ),
        (
            """\
w = torch.randn(4, requires_grad=True)
o = torch.optim.SGD([w], lr=0.1)
prior = w.exp().sum()
for x, y in data:
    loss = (x * w).pow(2).mean() + prior
    o.zero_grad(); loss.backward(); o.step()
""",
            ["prior = w.exp().sum()"],
        ),
        (
            """\
enc = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
img = torch.randn(8, 4, requires_grad=True)
o = torch.optim.Adam([img])
target = enc(torch.randn(8, 4))
for _ in range(4):
    loss = F.mse_loss(enc(img), target)
    o.zero_grad(); loss.backward(); o.step()
""",
            ["target = enc(torch.randn(8, 4)).detach()"],
        ),
    ],
    "memories": [
        (
            """\
gathered = []
for i, (x, y) in enumerate(data * 2):
    gathered.append(F.mse_loss(net(x), y))
    if i % 4 == 3:
        opt.zero_grad()
        sum(gathered).backward()
        opt.step()
""",
            ["gathered = []"],
        ),
        (
            """\
buf = []
for ep in range(3):
    for x, y in data:
        buf.append(F.mse_loss(net(x), y))
    loss = torch.stack(buf).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
            ["buf = []"],
        ),
        (
            """\
from collections import deque
bank = deque(maxlen=3)
for x, y in data:
    z = net(x)
    loss = F.mse_loss(z, y)
    for old in bank:
        loss = loss + (z - old).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    bank.append(z)
""",
            ["bank.append(z.detach())"],
        ),
    ],
    "writes in place": [
        (
            """\
for x, y in data:
    h = torch.sigmoid(net(x))
    h += 1
    loss = F.mse_loss(h, y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
            ["h = h + 1"],
        ),
        (
            """\
for x, y in data:
    h = torch.exp(net(x))
    h[:2] = 0
    loss = F.mse_loss(h, y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
            ["h = h.clone()"],
        ),
    ],
    "closures and repetitions": [
        (
            """\
o = torch.optim.LBFGS(net.parameters())
x, y = data[0]
loss = F.mse_loss(net(x), y)
def closure():
    o.zero_grad()
    loss.backward()
    return loss
for _ in range(2):
    o.step(closure)
""",
            ["loss = F.mse_loss(net(x), y)"],
        ),
        (
            """\
for x, y in data:
    out = net(x)
    F.mse_loss(out, y).backward()
    opt.step()
    opt.zero_grad()
    F.mse_loss(out, y).backward()
    opt.step()
""",
            ["F.mse_loss(net(x), y).backward()"],
        ),
        (
            """\
for x, y in data:
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    loss.backward()
    opt.step()
""",
            [],
        ),
        (
            """\
steps = 2
loss = 0
for i, (x, y) in enumerate(data * 2):
    loss = loss + F.mse_loss(net(x), y) / steps
    loss.backward()
    if (i + 1) % steps == 0:
        opt.step()
        opt.zero_grad()
""",
            ["loss = 0"],
        ),
    ],
    "constants": [
        (
            """\
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
o = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
x, r = data[0]
a = torch.distributions.Categorical(logits=actor(x)).sample()
old = torch.distributions.Categorical(logits=actor(x)).log_prob(a).detach()
v = critic(x)
adv = r - v
target = (adv + v).detach()
adv = (adv - adv.mean()) / adv.std()
for _ in range(3):
    ratio = (torch.distributions.Categorical(logits=actor(x)).log_prob(a) - old).exp()
    loss = F.mse_loss(critic(x), target) - (ratio.unsqueeze(1) * adv).mean()
    o.zero_grad(); loss.backward(); o.step()
""",
            ["adv = ((adv - adv.mean()) / adv.std()).detach()"],
        ),
        (
            """\
for x, y in data:
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step()
codes = torch.cat([net[0](x) for x, y in data])
flow = nn.Linear(8, 8)
o = torch.optim.SGD(flow.parameters(), lr=0.1)
def fit(codes):
    for epoch in range(2):
        for part in codes.split(16):
            o.zero_grad(); flow(part).pow(2).mean().backward(); o.step()
fit(codes)
""",
            ["codes = torch.cat([net[0](x) for x, y in data]).detach()"],
        ),
    ],
    "evaluation and retained graphs": [
        (
            """\
for ep in range(3):
    for x, y in data:
        loss = F.mse_loss(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    total = 0
    for x, y in data:
        total += F.mse_loss(net(x), y)
    print(total / len(data))
""",
            ["with torch.no_grad():", "total += F.mse_loss(net(x), y)"],
        ),
        (
            """\
cell = nn.GRUCell(4, 4); head = nn.Linear(4, 1)
o = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(8, 4)
for x, y in data:
    h = cell(x, h)
    loss = F.mse_loss(head(h), y)
    o.zero_grad(); loss.backward(retain_graph=True); o.step()
""",
            ["h = h.detach()", "o.zero_grad(); loss.backward(); o.step()"],
        ),
    ],
}


@pytest.mark.parametrize(("program", "lines"), [each for faults in FAULTS.values() for each in faults])
def test_what_is_chosen(tmp_path: Path, program: str, lines: list[str]) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + program)
    after = examine(path, Job((tmp_path,), Wanted(unsafe=True), repair=True)).after.decode()
    made = difflib.ndiff((HEAD + program).splitlines(), after.splitlines())
    assert [line[1:].strip() for line in made if line.startswith("+")] == lines
    exec(compile(after, "train.py", "exec"), {"__name__": "__main__"})
