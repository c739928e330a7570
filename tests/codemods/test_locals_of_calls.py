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
