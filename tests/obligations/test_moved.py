"""What is set up before a loop moves into it only where each iteration then finds what it found before."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

OBJECTIVE = """
objective, seen = 0.0, []
objective = 0.0
for step in range(4):
    {head}
    objective += net(torch.randn(6, 3)).pow(2).mean()
    opt.zero_grad()
    objective.backward()
    opt.step()
"""
SCHEDULE = """
class Schedule:
    temperature = 1.0
    def batches(self, n):
        for i in range(n):
            {each}
            yield torch.randn(5, 3)
schedule = Schedule()
logits = nn.Parameter(torch.tensor([0.3, -0.2, 0.9]))
opt = torch.optim.SGD([logits], lr=0.1)
weights = torch.softmax(logits / schedule.temperature, dim=0)
for x in schedule.batches(3):
    loss = (x * weights).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(("head", "codes"), [("seen.append(float(objective))", []), ("pass", ["GF204"])])
def test_a_total_that_the_next_iteration_reads_first(head: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + OBJECTIVE.format(head=head))] == codes


@pytest.mark.parametrize(("each", "codes"), [("self.temperature = self.temperature * 0.25", []), ("pass", ["GF203"])])
def test_what_yields_changes_what_is_read(each: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + SCHEDULE.format(each=each))] == codes


AFTER = """
logits = nn.Parameter(torch.zeros(4))
mixer = torch.optim.SGD([logits], lr=0.1)
steps = 9
weights = torch.softmax(logits, 0)
for step in {over}:
    loss = (weights * torch.ones(4)).pow(2).sum()
    mixer.zero_grad()
    loss.backward()
    mixer.step()
{after}
"""


@pytest.mark.parametrize(
    ("over", "after", "safe"),
    [
        ("range(9)", "print(weights)", True),
        ("range(steps)", "print(weights)", True),
        ("[1, 2, 3]", "print(weights)", True),
        ("range(int('3'))", "pass", True),
        ("range(int('3'))", "print(weights)", False),
        ("range(0)", "print(weights)", False),
    ],
)
def test_what_is_read_behind_a_loop_that_may_run_no_iteration(over: str, after: str, safe: bool) -> None:
    text = SETUP + AFTER.format(over=over, after=after)
    assert bool([code for code, _ in safe_titles(text) if code == "GF203"]) is safe


COOLED = """
class Settings:
    pass

settings, table, data, heat = Settings(), {{"t": 2.0}}, torch.ones(6, 3), 2.0
settings.t = 2.0
aside = torch.ones(6, 3)

def cool():
    settings.t *= 0.5

def cool_all():
    global heat
    heat = heat * 0.5

class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.own_layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.own_layer(x)

layered = Layered()
scaled = net(data) / {read}
for step in range(3):
    loss = scaled.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    {last}
"""


@pytest.mark.parametrize(
    ("read", "last", "codes"),
    [
        ("settings.t", "settings.t = settings.t * 0.5", []),
        ("settings.t", "cool()", []),
        ("settings.t", "setattr(settings, 't', 0.5)", []),
        ("settings.t", "settings.step = step", ["GF203"]),
        ("settings.t", "setattr(settings, 'step', step)", ["GF203"]),
        ("table['t']", "table['t'] *= 0.5", []),
        ("table['t']", "table.update(t=0.5)", []),
        ("table['t']", "aside[0] = 0.5", ["GF203"]),
        ("heat", "cool_all()", []),
        ("heat", "cool()", ["GF203"]),
        ("layered(data)", "layered(data)", ["GF203"]),
        ("2", "data.mul_(0.5)", []),
        ("2", "aside.mul_(0.5)", ["GF203"]),
        ("2", "nn.init.zeros_(data)", []),
        ("2", "print(data.sum(), heat, table)", ["GF203"]),
    ],
)
def test_what_the_loop_changes_of_what_is_read(read: str, last: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + COOLED.format(read=read, last=last))] == codes
