"""What grows in a call and ends with it, made of graphs that were there before: no total and no pile (GF101, GF102)."""

from __future__ import annotations

import pytest

from .toys import told

TRAINED = """
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    values = model(x)
    target = returns(torch.randn(3, 6), values)
    loss = (values - target.detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LOCALS = {
    "a tensor that is filled step by step": """
model = nn.Linear(5, 6)
def returns(r, q):
    ret = torch.zeros(3, 7)
    for t in reversed(range(5)):
        ret[:, t] = 0.9 * ret[:, t + 1] + r[:, t] + q[:, t + 1]
    return ret[:, :6]
""",
    "a state that is put away": """
model = nn.Linear(5, 6)
def returns(r, q):
    out = torch.zeros(3, 6)
    last = q[:, -1]
    for t in range(5, -1, -1):
        boot = q[:, t]
        last = r[:, t] + 0.9 * (0.1 * boot + 0.9 * last)
        out[:, t] = last
    return out
""",
    "a list of sums": """
model = nn.Linear(5, 6)
def returns(r, q):
    rows = [each for each in q]
    done = []
    last = rows[-1]
    for each in reversed(rows):
        last = 0.9 * last + each.relu()
        done.append(last)
    return torch.stack(done)
""",
    "a penalty over what was computed": """
model = nn.Linear(5, 6)
def returns(r, q):
    total = 0
    for row, each in zip(r, q):
        total = total + F.mse_loss(each, row)
    return r + total.detach()
""",
}
OUTLIVING = {
    "a total of the script": """
model = nn.Linear(5, 6)
seen = 0
def returns(r, q):
    global seen
    seen = seen + q.mean()
    return r
""",
    "a list of the script": """
model = nn.Linear(5, 6)
kept = []
def returns(r, q):
    kept.append(q[:, 0])
    return r
""",
}


@pytest.mark.parametrize("program", LOCALS.values(), ids=LOCALS)
def test_what_ends_with_a_call_does_not_grow(program: str) -> None:
    assert told(program + TRAINED) == set()


@pytest.mark.parametrize("program", OUTLIVING.values(), ids=OUTLIVING)
def test_what_is_kept_over_calls_grows(program: str) -> None:
    assert told(program + TRAINED) & {"GF101", "GF102"}


DIFFERENTIATED = {
    "a divergence": """
def of(y, x):
    total = 0.0
    for i in range(y.shape[-1]):
        total += torch.autograd.grad(y[..., i], x, torch.ones_like(y[..., i]), create_graph=True)[0][..., i : i + 1]
    return total
""",
    "a trace by unit vectors": """
def of(y, x):
    total = torch.zeros(8)
    for unit in torch.eye(4):
        g, = torch.autograd.grad(y, x, unit.expand_as(y), create_graph=True)
        total += (g * unit).sum(1)
    return total
""",
    "second derivatives of a gradient": """
def of(y, x):
    first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    total = 0
    for i in range(4):
        total = total + torch.autograd.grad(first[:, i].sum(), x, create_graph=True)[0][:, i].relu()
    return total
""",
}
SHOWN_ONLY = """
for step in range(5):
    coords = x.clone().requires_grad_(True)
    values = model(coords)
    if step % 2 == 0:
        print(of(values, coords).detach().norm().item())
    loss = values.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PENALISED = """
for step in range(5):
    coords = x.clone().requires_grad_(True)
    slope = torch.autograd.grad(model(coords).pow(2).sum(), coords, create_graph=True)[0]
    loss = (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
"""


@pytest.mark.parametrize("program", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_gradients_of_a_graph_from_before_a_loop_do_not_grow(program: str) -> None:
    assert "GF101" not in told(program + SHOWN_ONLY)


def test_a_total_of_losses_over_gradients_grows() -> None:
    assert "GF101" in told(PENALISED)
