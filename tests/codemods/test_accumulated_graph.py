"""GF101: a running total keeps the graph of every iteration."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "a number is added": """
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total)
""",
    "what is added is detached": """
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
print(total)
""",
    "the sum is walked after the loop": """
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
optimizer.zero_grad()
total.backward()
optimizer.step()
""",
    "the total starts anew in each iteration": """
for x, y in loader:
    total = 0.0
    for part in x.chunk(2):
        total = total + model(part).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "nothing records a graph": """
with torch.no_grad():
    for x, y in loader:
        total += F.mse_loss(model(x), y)
print(total)
""",
    "a share of a setting that also divides the loss": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, labels=None, loss=0):
        if labels is not None:
            loss = F.mse_loss(self.layer(x), labels)
        return loss

net = Net()
while trains:
    for batch in batches:
        total += share / args.steps
        loss = net(batch["x"]) / args.steps
        loss.backward()
        optimizer.step()
""",
    "a function returns the sum to whoever walks it": """
def penalty(layers):
    total = 0.0
    for layer in layers:
        total = total + layer.weight.pow(2).sum()
    return total

loss = penalty(heads)
loss.backward()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "a total in an attribute": """
class Log:
    pass

log = Log()
log.total = 0.0
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.total += loss
print(log.total)
""",
    "the loss of a model that may be given labels": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, labels=None):
        loss = None
        if labels is not None:
            loss = F.mse_loss(self.layer(x), labels)
        return loss

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in batches:
    loss = net(**batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total)
""",
    "a moving average": """
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = 0.9 * total + 0.1 * loss
print(total)
""",
    "an item of a dict": """
log = {"loss": 0.0}
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log["loss"] += loss
print(log)
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF101"}


def test_a_penalty_that_a_module_offers_is_its_users_to_walk() -> None:
    """One caller in the file that only looks at it says nothing of the others."""
    offered = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scores = []

    def forward(self, x):
        self.scores = [self.layer(x)]
        return self.scores[0]

    @property
    def cost(self):
        total = 0.0
        for t in self.scores:
            total += t.abs().sum()
        return total

    def watch(self):
        for _ in range(5):
            print(self.cost.detach())
"""
    assert told(offered) == set()


def test_what_a_forward_pass_adds_up_is_part_of_what_it_gives() -> None:
    program = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)

    def forward(self, parts):
        energies = torch.zeros(3)
        for i in range(3):
            energies[i] = self.score(parts[i]).sum()
        return F.softmax(energies, 0)

attention = Attention()
attention.eval()
for x in torch.ones(9, 3, 4):
    print(attention(x).argmax().item())
"""
    assert told(program) == {"GF103"}


def test_a_total_of_unknown_shape_that_a_script_only_prints() -> None:
    program = """
def error(x, wanted):
    x = x.clone().requires_grad_()
    predicted = model(x).sum()
    (slope,) = torch.autograd.grad(predicted, x, create_graph=True)
    return (predicted - wanted) ** 2 + slope.pow(2).mean()

for x, wanted in loader:
    optimizer.zero_grad()
    error(x, wanted).mean().backward()
    optimizer.step()
off = 0.0
for x, wanted in loader:
    off += error(x, wanted)
{end}
"""
    assert told(program.format(end="print(off.mean().item())")) == {"GF101"}
    assert told(program.format(end="off.mean().backward()\noptimizer.step()")) == set()
