"""State is detached only where it is surely there, and a total is set up anew only where nobody shows it."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

STATEFUL = """
class Net(nn.Module):
    def __init__(self, stateful):
        super().__init__()
        self.rnn, self.hidden, self.stateful = nn.LSTM(4, 6), None, stateful
    def forward(self, x):
        out, self.hidden = self.rnn(x, self.hidden)
        {after}
        return out
model = Net(input() == "stateful")
for step in range(3):
    loss = model(torch.randn(5, 2, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
TOTAL = """
total = 0.0
for step in range(4):
    total += net(torch.randn(6, 3)).pow(2).mean()
    opt.zero_grad()
    total.backward()
    opt.step()
    {after}
"""


@pytest.mark.parametrize(("after", "codes"), [("self.hidden = self.hidden if self.stateful else None", []), ("pass", ["GF202"])])
def test_state_that_is_reset_on_some_paths(after: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + STATEFUL.format(after=after))] == codes


@pytest.mark.parametrize(
    ("after", "codes"),
    [("print(total.item() / (step + 1))", []), ("if total > 3: break", []), ("pass", ["GF204"])],
)
def test_a_total_that_the_loop_shows(after: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + TOTAL.format(after=after))] == codes


AGENT = """
class Agent:
    def __init__(self):
        self.rnn, self.memory = nn.GRU(3, 1), dict(h=None)
    def net(self, x):
        y, h = self.rnn(x, self.memory["h"])
        return y, h
    def update(self, xs):
        opt = torch.optim.SGD(self.rnn.parameters(), lr=0.1)
        for x in xs:
            y, self.memory["h"] = self.net(x)
            loss = y.pow(2).mean()
            opt.zero_grad()
            loss.backward({retains})
            opt.step()
            {after}
agent = Agent()
agent.update(torch.randn(5, 2, 4, 3))
{elsewhere}
"""


@pytest.mark.parametrize(
    ("retains", "after", "elsewhere", "codes"),
    [
        ("", "pass", "", ["GF202"]),
        ("", "", "agent.memory.update(h=None)", []),
        ("", "", "agent.memory['h'] = torch.randn(1, 4, 1)", []),
        ("", "if loss < 0.1: self.memory['h'] = None", "", []),
        ("", "print(self.memory['h'].grad_fn)", "", []),
    ],
)
def test_state_under_a_key(retains: str, after: str, elsewhere: str, codes: list[str]) -> None:
    program = AGENT.format(retains=retains, after=after or "pass", elsewhere=elsewhere)
    assert [code for code, _ in safe_titles(SETUP + program)] == codes


@pytest.mark.parametrize(
    ("net", "after"),
    [
        ("result = self.rnn(x, self.memory['h'])\n        return result", "pass"),
        ("y, h = self.rnn(x, self.memory['h'])\n        return y, (h if len(x) else None)", "pass"),
        ("y, h = self.rnn(x, self.memory['h'])\n        return y, h", "self.begin()"),
    ],
)
def test_what_is_under_a_key_is_not_taken_for_granted(net: str, after: str) -> None:
    """It comes from where nobody looks, may be None, or the dict may be another one by then."""
    program = AGENT.format(retains="", after="pass", elsewhere="")
    program = program.replace('y, h = self.rnn(x, self.memory["h"])\n        return y, h', net)
    program = program.replace("opt.zero_grad()", f"{after}; opt.zero_grad()")
    program = program.replace(
        "    def update", "    def begin(self):\n        if input():\n            self.memory = dict(h=None)\n    def update"
    )
    assert safe_titles(SETUP + program) == []


KEEPING = """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.state = nn.Linear(3, 3), torch.zeros(2, 3)
    def forward(self, x):
        self.state = torch.tanh(self.layer(x) + self.state)
        return self.state
cell = Cell()
for _ in range(3):
    {step}
"""


@pytest.mark.parametrize(
    ("step", "codes"),
    [
        ("cell(torch.ones(2, 3)).sum().backward()", ["GF202"]),
        ("loss = cell(torch.ones(2, 3)).sum(); loss.backward()", ["GF202"]),
        ("cell(torch.ones(2, 3)).sum().backward() if _ else cell(torch.ones(2, 3))", []),
    ],
)
def test_state_that_the_statement_itself_walks(step: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + KEEPING.format(step=step))] == codes


DISPLAY = """
cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

class Run:
    def __init__(self):
        self.state = {{"h": torch.zeros(5, 4), "age": 0}}
        self.kept = []

    def fit(self, xs):
        {state} = {{"h": torch.zeros(5, 4), "age": 0}}
        for x in xs:
            h = cell(x, {state}["h"])
            {before}
            loss = {loss}
            opt.zero_grad()
            loss.backward()
            opt.step()
            {after}

Run().fit(torch.randn(6, 5, 3))
"""
LOSS = "(head(h) - 1).pow(2).mean()"


@pytest.mark.parametrize("state", ["state", "self.state"])
@pytest.mark.parametrize(
    ("before", "loss", "after", "is_safe"),
    [
        ('STATE = {"h": h, "age": STATE["age"] + 1}', LOSS, "pass", True),
        ('STATE = {"age": 1, "h": h}', LOSS, "print(STATE['age'])", True),
        ("pass", LOSS, 'STATE = {"h": h, "last": h}', True),
        ('STATE = {"h": h if len(xs) else None}', LOSS, "pass", False),
        ('STATE = {**STATE, "h": h}', LOSS, "pass", False),
        ('STATE = {"h": h}; self.kept.append(STATE)', LOSS, "print(self.kept[-1]['h'].grad_fn)", False),
        ('last = STATE["h"]; STATE = {"h": h}', LOSS, "print(last is STATE['h'])", False),
        ("pass", LOSS, 'STATE = {"h": h, "last": cell(x, h)}', False),
        ("if len(self.kept) < 3:\n                STATE = {'h': h}", LOSS, "pass", False),
    ],
)
def test_a_state_that_is_a_new_dict_in_each_iteration(state: str, before: str, loss: str, after: str, is_safe: bool) -> None:
    begins = DISPLAY.replace('"age": 0', '"last": torch.zeros(5, 4)') if before == "pass" else DISPLAY
    text = begins.format(state=state, before=before.replace("STATE", state), loss=loss, after=after.replace("STATE", state))
    assert bool({code for code, _ in safe_titles(SETUP + text)} & {"GF201", "GF202"}) is is_safe


def test_a_state_whose_pair_is_stored_behind_the_backward_pass() -> None:
    pair = STORED.format(stored="self.pair = (h, c)")
    assert [code for code, _ in safe_titles(SETUP + pair)] == ["GF202"]
    assert safe_titles(SETUP + STORED.format(stored="self.pair = (h, other(c))")) == []


STORED = """
cell, other = nn.LSTMCell(3, 4), nn.Linear(4, 4)
class Run:
    def __init__(self):
        self.pair = (torch.zeros(5, 4), torch.zeros(5, 4))
    def fit(self, xs):
        opt = torch.optim.SGD(cell.parameters(), lr=0.1)
        for x in xs:
            h, c = cell(x, self.pair)
            loss = h.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            {stored}
Run().fit(torch.randn(6, 5, 3))
"""
