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
