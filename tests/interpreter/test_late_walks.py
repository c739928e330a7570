"""State that the loss of its own iteration does not read: only the third iteration meets what was freed. The main ones are run."""

from __future__ import annotations

import io
import traceback
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from graphfix.model import Finding
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

PROGRAM = """
import torch
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(1, 4), torch.randn(1, 4)) for _ in range(5)]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_state, self.to_output = nn.Linear(12, 8), nn.Linear(12, 4)
        self.kept = torch.zeros(1, 8)

    def forward(self, x, state):
        both = torch.cat([x, state], dim=1)
        self.kept = torch.tanh(self.to_state(both))
        return self.to_output(both), self.kept

net = Net()
state = torch.zeros(1, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def batch():
    return data[0]
step = 0
{loop}
    optimizer.zero_grad()
    {walk}
    step = step + 1
    print(step)
"""
BY_NAME = "output, state = net(x, state)\n    loss = (output - y).pow(2).mean()\n    loss.backward({retain})\n    {update}"
BY_ATTRIBUTE = "output, _ = net(x, net.kept)\n    loss = (output - y).pow(2).mean()\n    loss.backward({retain})\n    {update}"
STEP = "optimizer.step()"
BY_HAND = "[p.data.add_(p.grad, alpha=-0.1) for p in net.parameters() if p.grad is not None]"


def program(loop: str, walk: str, retain: str = "", update: str = STEP) -> str:
    return PROGRAM.format(loop=loop, walk=walk.format(retain=retain, update=update))


def findings(text: str) -> list[Finding]:
    return findings_of(Path("train.py"), text)


def raised(text: str) -> tuple[str, int]:
    """The last line of the traceback, and the iterations that came to their end. Runs in this process: to import torch takes longer."""
    import torch

    printed, error = io.StringIO(), ""
    with torch.random.fork_rng(devices=()), redirect_stdout(printed):
        try:
            exec(compile(text, "train.py", "exec"), {"__name__": "__main__"})
        except RuntimeError as raised:
            error = traceback.format_exception_only(raised)[-1].strip().splitlines()[-1]
    return error, len(printed.getvalue().split())


LOOPS = [
    "for x, y in data:",
    "for x, y in iter(data):",
    "for i, (x, y) in enumerate(data):",
    "for (x, y), _ in zip(data, range(9)):",
    "for x, y in library.batches():",
    "while step < 5:\n    x, y = batch()",
]


@pytest.mark.parametrize("walk", [BY_NAME, BY_ATTRIBUTE])
@pytest.mark.parametrize(("update", "symptom"), [(STEP, "modified by an inplace operation"), (BY_HAND, "a second time")])
def test_the_third_iteration_raises(walk: str, update: str, symptom: str) -> None:
    text = program(LOOPS[0], walk, update=update)
    error, done = raised(text)
    assert symptom in error
    assert done == 2
    [finding] = findings(text)
    assert finding.code == ("GF201" if walk is BY_NAME else "GF202")
    assert symptom in str(finding.symptoms[0])
    assert "iteration 3" in finding.story[-1].message


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("walk", [BY_NAME, BY_ATTRIBUTE])
def test_loops_that_have_a_third_iteration(loop: str, walk: str) -> None:
    assert [finding.code for finding in findings(program(loop, walk))] == ["GF201" if walk is BY_NAME else "GF202"]


@pytest.mark.parametrize("walk", [BY_NAME, BY_ATTRIBUTE])
def test_what_the_third_iteration_needs_is_not_retained_in_vain(walk: str) -> None:
    text = program("for x, y in data:", walk, "retain_graph=True", BY_HAND)
    assert {finding.code for finding in findings(text)} == {"GF306"}


def test_the_repair_of_a_late_walk_is_made(tmp_path: Path) -> None:
    """The repaired program needs no third iteration: that it goes backward less often says nothing against it."""
    path = tmp_path / "train.py"
    path.write_text(program("for x, y in data:", BY_NAME, "retain_graph=True", BY_HAND))
    done = examine(path, Job((tmp_path,), Wanted(("GF306",), unsafe=True), repair=True)).after.decode()
    assert "    state = state.detach()\n" in done
    assert "loss.backward()" in done


@pytest.mark.parametrize("loop", ["for x, y in data[:2]:", "for i, (x, y) in enumerate(data[:2]):"])
def test_two_iterations_that_are_all(loop: str) -> None:
    text = program(loop, BY_NAME)
    assert findings(text) == []


@pytest.mark.parametrize(
    "walk",
    [
        BY_NAME.replace("output, state", "state = state.detach()\n    output, state"),
        BY_NAME.replace("    {update}", "    state = state.detach()\n    {update}"),
        BY_NAME.replace("net(x, state)", "net(x, torch.zeros(1, 8))"),
    ],
)
def test_state_that_is_cut(walk: str) -> None:
    assert findings(program("for x, y in data:", walk)) == []


def test_a_loop_that_asks_for_its_last_iteration() -> None:
    """What is not retained in the last iteration is walked by none."""
    text = program("for i, (x, y) in enumerate(data):", BY_NAME, "retain_graph=i < len(data) - 1", BY_HAND)
    assert raised(text) == ("", 5)
    assert "GF201" not in {finding.code for finding in findings(text)}


FIRST_WALK = """
import torch
from torch import nn

class Bank:
    def __init__(self):
        self.items = []

    def update(self, item):
        if len(self.items) > 0:
            self.items[0] = item
        else:
            self.items.append(item)

def video(n):
    for _ in range(n):
        yield torch.randn(4, 6)

net = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
bank = Bank()
for x in video(7):
    made = net(x)
    if bank.items:
        (made * bank.items[0]).mean().backward()
    bank.update(made{cut})
    print(1)
"""


@pytest.mark.parametrize("cut", ["", ".detach()"])
def test_a_loop_that_goes_backward_from_its_second_iteration_on(cut: str) -> None:
    text = FIRST_WALK.format(cut=cut)
    error, done = raised(text)
    assert ("a second time" in error, done) == ((False, 7) if cut else (True, 2))
    assert ("GF202" in {finding.code for finding in findings(text)}) is not bool(cut)
    assert cut == "" or findings(text) == []
