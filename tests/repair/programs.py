"""Programs that raise, each with the edit that repairs it."""

from __future__ import annotations

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)]
"""
STEP = """\
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
"""
LOGGED = (
    "total = 0\nfor x, y in loader:\n    loss = F.mse_loss(model(x), y)\n    total = total + loss\n"
    + STEP
    + "print(float(total) / len(loader))\n"
)
LEAF = """\
total = torch.zeros((), requires_grad=True)
for epoch in range(2):
    for x, y in loader:
        total = total + F.mse_loss(model(x), y)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
"""
TWO_PASSES = """\
loss = 0
for x, y in loader:
    loss = loss + F.mse_loss(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
for x, y in loader:
    loss = loss + F.l1_loss(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""
TASKS = """\
heads = [nn.Linear(1, 1) for _ in range(3)]
for x, y in loader:
    features = model(x)
    norms = []
    for i, head in enumerate(heads):
        optimizer.zero_grad()
        loss = F.mse_loss(head(features), y)
        loss.backward()
        norms.append(model.weight.grad.norm().item())
    optimizer.step()
    print(norms)
"""
WINDOW = """\
stats = {"loss": 0.0, "n": 0}
for i, (x, y) in enumerate(loader * 2):
    stats["loss"] = stats["loss"] + F.mse_loss(model(x), y)
    if i % 2:
        optimizer.zero_grad()
        stats["loss"].backward()
        optimizer.step()
"""
MEMORY = """\
saved = []
for epoch in range(3):
    for x, y in loader:
        saved.append(F.mse_loss(model(x), y))
    optimizer.zero_grad()
    torch.stack(saved).sum().backward()
    optimizer.step()
"""
ASCENT = """\
deep = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), model)
optimizer = torch.optim.SGD(deep.parameters(), lr=0.1)
for x, y in loader:
    out = deep(x)
    loss = F.mse_loss(out, y)
    loss.backward()
    with torch.no_grad():
        for p in deep.parameters():
            p.add_(0.05 * p.grad)
    optimizer.zero_grad()
    F.mse_loss(out, y).backward()
    optimizer.step()
"""
PAINTER = """\
painter, judge = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
opt_p, opt_j = torch.optim.Adam(painter.parameters()), torch.optim.Adam(judge.parameters())
for x, y in loader:
    noise = torch.randn(8, 2)
    for _ in range(2):
        opt_j.zero_grad()
        fake = painter(noise)
        (judge(fake.detach()) - judge(x)).mean().backward()
        opt_j.step()
    for _ in range(2):
        opt_p.zero_grad()
        verdict = judge(fake)
        (-verdict).mean().backward(retain_graph=True)
        opt_p.step()
"""
ACTOR = """\
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
a_opt, c_opt = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
for x, y in loader:
    actor_loss = -critic(torch.cat([x, actor(x)], 1)).mean()
    critic_loss = F.mse_loss(critic(torch.cat([x, torch.rand(8, 2)], 1)), y)
    c_opt.zero_grad()
    critic_loss.backward()
    c_opt.step()
    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
"""
BANK = """\
class Bank:
    def __init__(self):
        self.items = []

bank = Bank()
for i, (x, y) in enumerate(loader * 2):
    bank.items.append(model(x))
    optimizer.zero_grad()
    F.mse_loss(torch.stack(bank.items).mean(0), y).backward()
    optimizer.step()
    if i % 2 == 1:
        bank.items.clear()
"""
# one forward pass of the critic, for two losses with a step between
ADVERSARIES = """\
painter, judge = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
p_opt, j_opt = torch.optim.Adam(painter.parameters()), torch.optim.Adam(judge.parameters())
for x, y in loader:
    score = judge(painter(x))
    j_loss = score.mean() - judge(x).mean()
    p_loss = -score.mean()
    j_opt.zero_grad()
    j_loss.backward(retain_graph=True)
    j_opt.step()
    p_opt.zero_grad()
    p_loss.backward()
    p_opt.step()
"""
