"""No repair has the program run a call, or a read that runs code, once more: the repaired program calls as often as the fault did."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.model import InsertAfter, Operation, Replace, Span
from graphfix.obligations.repeats import repeats
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import _evidence, analyse

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
cell, lstm, head = nn.GRUCell(4, 8), nn.LSTM(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *lstm.parameters(), *head.parameters()], lr=0.1)
calls = []
"""
STEP = """\
    calls.append(1)
    loss = head({of}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
RETURNED = f"""\
def update(x, h):
    h = cell(x, h)
{STEP.format(of="h")}    return h, loss.item()

h = torch.zeros(2, 8)
for step in range(4):
    h, value = update(torch.randn(2, 4), h)
"""
BEGINS_EMPTY = f"""\
def train(x, state):
    out, state = lstm(x, state)
{STEP.format(of="out")}    return state, float(loss)

state, queue = None, [torch.randn(3, 2, 4) for _ in range(4)]
while queue:
    state, value = train(queue.pop(), state)
"""
IN_A_DICT = f"""\
def turn(x, h):
    h = cell(x, h)
{STEP.format(of="h")}    return {{"h": h, "loss": loss.item()}}

h = torch.zeros(2, 8)
for step in range(4):
    x = torch.randn(2, 4)
    h = turn(x, h)["h"]
"""
OF_A_METHOD = f"""\
class Agent:
    def __init__(self):
        self.h = torch.zeros(2, 8)

    def update(self, x):
        h = cell(x, self.h)
{STEP.format(of="h").replace("    ", "        ")}        return [h, loss.item()]

agent = Agent()
for step in range(4):
    agent.h, value = agent.update(torch.randn(2, 4))
"""
COMPUTED = """\
class Memory:
    def __init__(self):
        self.held = torch.zeros(2, 8), 0

    @property
    def state(self):
        calls.append(1)
        return self.held

memory = Memory()
pair = memory.held
state = memory.state
plain = next(iter([state]))
"""


def repaired(folder: Path, program: str) -> tuple[str, str]:
    path = folder / "train.py"
    found = analyse(path, HEAD + program, (folder,)).findings
    fixes = [each.fix for each in found if each.fix is not None and not each.yields_to]
    assert fixes
    return HEAD + program, apply_fixes(HEAD + program, fixes).text


@pytest.mark.parametrize("program", [RETURNED, BEGINS_EMPTY, IN_A_DICT, OF_A_METHOD])
def test_a_repaired_loop_makes_one_update_an_iteration(tmp_path: Path, program: str) -> None:
    pytest.importorskip("torch")
    _, after = repaired(tmp_path, program)
    names: dict[str, object] = {}
    exec(compile(after, "train.py", "exec"), names)
    assert names["calls"] == [1] * 4


def evidence_of(folder: Path) -> Evidence:
    return _evidence(folder / "train.py", HEAD + COMPUTED, (folder,), NO_CONVENTIONS, {})


def span_of(text: str) -> Span:
    start = (HEAD + COMPUTED).index(text)
    return Span(start, start + len(text))


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        ("memory.held\n", "(memory.held[0].detach(), memory.held[1])", False),
        ("memory.state\n", "(memory.state[0].detach(), memory.state[1])", True),
        ("memory.state\n", "tuple(s.detach() for s in memory.state)", False),
        ("next(iter([state]))", "(next(iter([state]))[0].detach(), 1)", False),
        ("next(iter([state]))", "(next(iter([state]))[0].detach(), next(iter([state]))[1])", True),
    ],
)
def test_what_a_replacement_may_say_twice(tmp_path: Path, old: str, new: str, is_refused: bool) -> None:
    operations: list[Operation] = [Replace(span_of(old.strip()), new)]
    assert repeats(evidence_of(tmp_path), operations) is is_refused


@pytest.mark.parametrize(
    ("text", "is_refused"), [("rows[next(i)].h = rows[next(i)].h.detach()", True), ("rows[i].h = rows[i].h.detach()", False)]
)
def test_a_statement_behind_another_binds_no_place_that_is_computed(tmp_path: Path, text: str, is_refused: bool) -> None:
    assert repeats(evidence_of(tmp_path), [InsertAfter(span_of("plain = next(iter([state]))"), text)]) is is_refused
