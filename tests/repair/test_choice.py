"""The repair that is chosen where a rule knows none, or no safe one: the program with it runs on real torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.model import Applicability
from graphfix.repair.choice import Attempt, is_decided, of_fix
from graphfix.repair.fixes import fix
from graphfix.repair.trial import APART, RAISES, UNFINISHED, UNWRITABLE, Verdict, judged
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import _evidence, analyse, findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from . import programs as code

torch = pytest.importorskip("torch")

NAMED = """\
from collections import namedtuple

Out = namedtuple("Out", "loss pred")
history = []
for x, y in loader:
    pred = model(x)
    out = Out(F.mse_loss(pred, y), pred)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
    history.append(out)
print(sum(each.loss for each in history))
"""
STEPS = """\
def step(x, y):
    pred = model(x)
    return {"loss": F.mse_loss(pred, y), "count": len(x), "logs": {"mean": pred.detach().mean()}}

outs = []
for x, y in loader:
    out = step(x, y)
    optimizer.zero_grad()
    out["loss"].backward()
    optimizer.step()
    outs.append(out)
print(torch.stack([each["loss"] for each in outs]).mean().item())
"""
UPDATED = """\
meters = {"loss": 0.0}
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meters.update(loss=meters["loss"] + loss)
print(meters["loss"])
"""
# a program, and what of it is replaced by what
REPAIRS = {
    "a total that is printed": (
        code.LOGGED,
        {"total + loss\n": "total + loss.detach()\n", "    total.backward()": "    loss.backward()"},
    ),
    "a total that is not": (
        code.LOGGED.replace("print(float(total) / len(loader))\n", ""),
        {"total = 0\nfor x, y in loader:\n": "for x, y in loader:\n    total = 0\n"},
    ),
    "a total from a leaf": (
        code.LEAF,
        {"        total = total + F": "        total = torch.zeros((), requires_grad=True)\n        total = total + F"},
    ),
    "two passes": (code.TWO_PASSES, {"optimizer.step()\nfor": "optimizer.step()\nloss = 0\nfor"}),
    "tasks of one trunk": (code.TASKS, {"loss.backward()": "loss.backward(retain_graph=i < len(heads) - 1)"}),
    "a window": (code.WINDOW, {"        optimizer.step()\n": "        optimizer.step()\n        stats['loss'] = 0.0\n"}),
    "a memory": (code.MEMORY, {"saved = []\nfor epoch in range(3):\n": "for epoch in range(3):\n    saved = []\n"}),
    "a second pass with changed weights": (code.ASCENT, {"F.mse_loss(out, y).backward()": "F.mse_loss(deep(x), y).backward()"}),
    "a bank that is emptied now and then": (code.BANK, {"    if i % 2 == 1:\n        bank.items.clear()": "    bank.items.clear()"}),
    "a named tuple": (NAMED, {"append(out)": "append(type(out)(*(s.detach() for s in out)))"}),
    "a dict that a step returns": (STEPS, {"append(out)": 'append({**out, "loss": out["loss"].detach()})'}),
    "a call that updates": (UPDATED, {'meters["loss"] + loss)': 'meters["loss"] + loss.detach())'}),
}


def repaired(folder: Path, text: str) -> str:
    path = folder / "train.py"
    path.write_text(text)
    return examine(path, Job((folder,), Wanted(unsafe=True), repair=True)).after.decode()


@pytest.mark.parametrize(("program", "edits"), REPAIRS.values(), ids=REPAIRS)
def test_what_is_chosen(tmp_path: Path, program: str, edits: dict[str, str]) -> None:
    after = program
    for old, new in edits.items():
        assert after.count(old) == 1
        after = after.replace(old, new)
    assert repaired(tmp_path, code.HEAD + program) == code.HEAD + after
    exec(compile(code.HEAD + after, "train.py", "exec"), {})


def test_a_picture_is_drawn_again_for_another_loop(tmp_path: Path) -> None:
    after = repaired(tmp_path, code.HEAD + code.PAINTER)
    assert "verdict = judge(painter(noise))\n" in after and "retain_graph" not in after
    exec(compile(after, "train.py", "exec"), {})


def test_what_would_not_help_is_not_offered(tmp_path: Path) -> None:
    """The weights are saved, and a step changes them: to keep the graph swaps one error for another."""
    program = """\
deep = nn.Sequential(nn.Linear(4, 4), model)
optimizer = torch.optim.SGD(deep.parameters(), lr=0.1)
for x, y in loader:
    out = deep(x)
    for target in (y, -y):
        optimizer.zero_grad()
        F.mse_loss(out, target).backward()
        optimizer.step()
"""
    found = findings_of(tmp_path / "train.py", code.HEAD + program)
    titles = [finding.fix.title for finding in found if finding.fix is not None]
    assert found and not any("keep the graph" in title for title in titles), titles


UNROLLED = """\
from collections import deque
class Trainer:
    def __init__(self):
        self.cell = nn.GRUCell(4, 4)
        self.optimizer = torch.optim.SGD(self.cell.parameters(), lr=0.1)
        self.states = deque([torch.zeros(8, 4)], maxlen=1)

    def step(self, x):
        loss = 0
        for _ in range(2):
            self.states.append(self.cell(x, self.states[-1]))
            loss = loss + self.states[-1].mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


def test_two_repairs_that_train_differently_are_both_offered(tmp_path: Path) -> None:
    path, text = tmp_path / "train.py", code.HEAD + code.ADVERSARIES
    (finding,) = (each for each in findings_of(path, text) if each.code == "GF304")
    assert finding.fix is not None and finding.another is not None
    assert finding.fix.title == "call both backward() before the steps"
    assert finding.another.title.startswith("compute `score") and finding.another.doubt
    for each in (finding.fix, finding.another):
        made = apply_fixes(text, [each])
        assert made.applied and made.text != text
        exec(compile(made.text, "train.py", "exec"), {})


FITTED = """\
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
codes = torch.cat([model(x) for x, y in loader])
flow = nn.Linear(1, 1)
fitting = torch.optim.SGD(flow.parameters(), lr=0.1)
for epoch in range(3):
    fitting.zero_grad()
    flow(codes).pow(2).mean().backward()
    fitting.step()
"""


def test_that_no_run_steps_again_proves_nothing(tmp_path: Path) -> None:
    """An exception handler, or another program, may train the model with the gradients that the cut drops."""
    (finding,) = findings_of(tmp_path / "train.py", code.HEAD + FITTED)
    assert finding.fix is not None and finding.fix.title.startswith("detach `codes`")
    assert finding.fix.applicability is Applicability.UNSAFE and "no simulated run" in finding.fix.doubt


def test_a_repair_that_is_proven_has_no_other_beside_it(tmp_path: Path) -> None:
    found = findings_of(tmp_path / "train.py", code.HEAD + code.LOGGED)
    assert found and all(each.another is None for each in found)


def test_what_comes_closest_is_said_where_nothing_holds(tmp_path: Path) -> None:
    (finding,) = findings_of(tmp_path / "train.py", code.HEAD + UNROLLED)
    assert finding.fix is None
    assert "; the closest edit is to detach `" in finding.unfixed, finding.unfixed
    assert finding.unfixed.endswith("would train in another way"), finding.unfixed


def test_a_search_that_raises_costs_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise RuntimeError("a fault of the search")

    monkeypatch.setattr("graphfix.repair.choice.candidates", broken)
    analysis = analyse(tmp_path / "train.py", code.HEAD + code.LOGGED)
    (finding,) = (each for each in analysis.findings if each.code == "GF204")
    assert finding.fix is None and finding.unfixed
    assert ("GF204", "a fault of the search") in [(fault.code, str(fault.error)) for fault in analysis.faults]


@pytest.mark.parametrize(("refusal", "is_kept"), [(UNFINISHED, True), (APART, True), (UNWRITABLE, True), (RAISES, False)])
def test_a_trial_that_says_nothing_takes_no_fix_away(refusal: str, is_kept: bool) -> None:
    own = of_fix(fix("detach `h`", doubt="it may be used"))
    assert is_decided([Attempt(own, Verdict(refusal))]) is not is_kept
    assert not is_decided([])


def test_a_trial_without_corresponding_runs_proves_nothing(tmp_path: Path) -> None:
    evidence = _evidence(tmp_path / "train.py", code.HEAD + code.LOGGED, (tmp_path,), NO_CONVENTIONS, {})
    assert judged(evidence, {tmp_path / "train.py": "def nothing():\n    pass\n"}, None).refusal == APART


def test_edits_that_were_not_tried_are_said_and_count_as_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphfix.repair.choice.TRIAL_STEPS", 0)
    (finding,) = findings_of(tmp_path / "train.py", code.HEAD + UNROLLED)
    assert finding.fix is None
    assert finding.unfixed.endswith("edits were not tried, as the program takes too many steps"), finding.unfixed
    assert "the closest edit" not in finding.unfixed and "would be no repair" not in finding.unfixed
