"""Programs of several files, each with what is told of it."""

from __future__ import annotations

METER = """
class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count
"""
STEP = """
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TRAIN = """
import torch
from torch import nn
from meters import AverageMeter

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = AverageMeter()
for x in torch.randn(5, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.update({given}, 8)
{more}
print(losses.avg)
"""
ENGINE = """
from torch import nn

def train(model, loader, optimizer):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def evaluate(model, loader):
    total = 0
    for x, y in loader:
        total += nn.functional.mse_loss(model(x), y)
    return total / len(loader)
"""
MAIN = """
import torch
from torch import nn
from engine import evaluate, train

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(5)]
for epoch in range(3):
    train(model, data, optimizer)
    print(epoch, evaluate(model, data))
"""
WALK = """
def optimise(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TWICE = """
import torch
from torch import nn
from steps import optimise

net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    features = net(torch.randn(8, 4))
    optimise(optimizer, head(features).mean())
    optimise(optimizer, features.pow(2).mean())
"""
CELL = """
import torch
from torch import nn

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 8), nn.Linear(8, 1)
        self.hidden = torch.zeros(1, 8)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.head(self.hidden)
"""
CARRIES = """
import torch
from models import Recurrent

model = Recurrent()
optimizer = torch.optim.Adam(model.parameters())
for step in range(10):
    loss = (model(torch.randn(1, 4)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BORING = """
from meters import AverageMeter

meter = AverageMeter()
meter.update(0.5)
print(meter.avg)
"""
WALKS_SUM = """
import torch
from torch import nn
from meters import AverageMeter

net = nn.Linear(3, 1)
meter = AverageMeter()
for x in torch.randn(4, 2, 3):
    meter.update(net(x).mean())
meter.sum.backward()
"""
