"""Items of a list that a loop reads and writes by its counter: on real torch, and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import random
import torch
from torch import nn
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
xs = [torch.randn(4) for _ in range(5)]
n = len(xs)

def losses(x):
    y = net(x)
    return (y - x).pow(2).mean(), y.abs().mean()

"""
PUT = {
    "two lists at once": """\
a, b, both = [torch.zeros(())] * n, [torch.zeros(())] * n, [torch.zeros(())] * n
for i in range(n):
    a[i], b[i] = losses(xs[i])
    both[i] = a[i] + b[i]
(sum(both) / n).backward()
""",
    "where there is something to go through": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)

    def fit(self, x, more=None):
        now, then = losses(self(x))
        if more is not None:
            each, kept = [torch.zeros(())] * len(more), [torch.zeros(())] * len(more)
            for i in range(len(more)):
                kept[i], _ = losses(self(more[i]))
                each[i] = kept[i] * 2
        then = None if more is None else sum(each) / len(more)
        loss = now if more is None else now + then
        loss.backward()
        return sum(kept).item() if more is not None else 0

Net().fit(xs[0], xs[1:])
""",
    "anew in each epoch": """\
a = [torch.zeros(())] * n
for epoch in range(3):
    for i in range(n):
        a[i] = losses(xs[i])[0]
    sum(a).backward()
""",
}
READ = """\
outs = [torch.zeros(4)]
for x in xs:
    outs.append(net(x).exp())
for i in {numbers}:
    for _ in range({times}):
        outs[{index}].sum().backward()
"""
NUMBERS = {
    "from one": ("range(1, n)", "i"),
    "downwards": ("range(1, n)[::-1]", "i"),
    "from the end": ("range(1, n)", "-i"),
    "counted from the end": ("range(0, n - 1, 1)", "n - i"),
    "turned round": ("reversed(range(1, n))", "i"),
    "the one that follows": ("range(0, n - 1, 1)", "i + 1"),
}
GROWS = """\
states = [net(xs[0]).exp()]
for t in range(1, n):
    states.append(net(states[{index}]).exp())
    states[-1].sum().backward()
"""


def codes(program: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("program.py"), HEAD + program)]


def run(program: str) -> None:
    exec(compile(HEAD + program, "program.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("program", PUT.values(), ids=PUT)
def test_what_is_put_there_is_read_again(program: str) -> None:
    run(program)
    assert codes(program) == []


def test_any_of_them_is_one_that_was_put_there() -> None:
    program = "a = [None] * 5\nfor i in range(5):\n    a[i] = losses(xs[i])[0]\none = a[random.randrange(5)]\none.backward()\none.backward()\n"
    with pytest.raises(RuntimeError, match="second time"):
        run(program)
    assert codes(program) == ["GF302"]


def test_a_log_keeps_all_that_is_put_there() -> None:
    program = "kept = [0.0] * n\nfor i in range(n):\n    loss = losses(xs[i])[0]\n    loss.backward()\n    kept[i] = loss\nprint(kept)\n"
    assert codes(program) == ["GF102"]


@pytest.mark.parametrize(("numbers", "index"), NUMBERS.values(), ids=NUMBERS)
def test_each_number_is_that_of_another_item(numbers: str, index: str) -> None:
    run(READ.format(numbers=numbers, index=index, times=1))
    assert codes(READ.format(numbers=numbers, index=index, times=1)) == []
    assert codes(READ.format(numbers=numbers, index=index, times=2)) == ["GF203"]


def test_the_item_before_the_counter_is_the_last_of_a_list_that_grows() -> None:
    with pytest.raises(RuntimeError, match="second time"):
        run(GROWS.format(index="t - 1"))
    assert codes(GROWS.format(index="t - 1")) != []


# as many states as a list has items: each is cut, or read, before it is put there anew
STATES = {
    "a counter that is moved by hand": """\
for epoch in range(3):
    start, k = 0, 0
    while start < 3 * 4:
        held[k] = held[k].detach()
        held[k], loss = step(held[k])
        loss.backward()
        k += 1
        start += 4
""",
    "down": """\
for epoch in range(3):
    k = 3
    while k > 0:
        k -= 1
        h = held[k].detach()
        held[k], loss = step(h)
        loss.backward()
""",
    "by a loop": """\
for epoch in range(3):
    for k in range(3):
        held[k], loss = step(held[k].detach())
        loss.backward()
""",
}
LOGS = {
    "by hand": "k = 0\nwhile k < 3:\n    _, loss = step(xs[k])\n    loss.backward()\n    held[k] = loss\n    k += 1\n".replace("\\\n", "\n"),
    "by a loop": "for k in range(3):\n    _, loss = step(xs[k])\n    loss.backward()\n    held[k] = loss\n".replace("\\\n", "\n"),
}
STEP = """\
held = [torch.zeros(4) for _ in range(3)]

def step(h):
    h = net(h)
    return h, h.pow(2).mean()

"""


@pytest.mark.parametrize("program", STATES.values(), ids=STATES)
def test_states_in_a_list_are_no_log(program: str) -> None:
    run(STEP + program)
    assert codes(STEP + program) == []


@pytest.mark.parametrize("program", LOGS.values(), ids=LOGS)
def test_what_is_only_put_there_is_one(program: str) -> None:
    run(STEP + program)
    assert codes(STEP + program) == ["GF102"]
