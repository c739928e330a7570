"""Faults of one file that only its caller in another file shows, and what a caller must not change."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphfix.analysis import callers, importers
from graphfix.analysis.callers import called
from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Explorer, Tape
from graphfix.analysis.importers import importing, is_offered
from graphfix.analysis.told_by_callers import CallerEvidence, Elsewhere, caller_evidence, told_by_callers
from graphfix.codemods import RULES
from graphfix.codemods.base import Rule
from graphfix.model import Finding, Span
from graphfix.run.engine import findings_of
from graphfix.source.document import Document
from graphfix.verify.cases import bundled

PLAYERS = """\
import torch
from torch import nn

class Players(nn.Module):
    def __init__(self):
        super().__init__()
        self.maker = nn.Linear(4, 4)
        self.judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.maker_optimizer = torch.optim.Adam(self.maker.parameters())
        self.judge_optimizer = torch.optim.Adam(self.judge.parameters())

    def process(self, z, real):
        made = self.maker(z)
        judged = self.judge(made.detach()).mean() - self.judge(real).mean()
        return -self.judge(made).mean(), judged

    def backward(self, made, judged):
        judged.backward()
        self.judge_optimizer.step()
        made.backward()
        self.maker_optimizer.step()
"""
DRIVER = """\
import torch
from players import Players

class Training:
    def __init__(self):
        self.players = Players()

    def train(self):
        for _ in range(10):
            made, judged = self.players.process(torch.randn(2, 4), torch.randn(2, 4))
            self.players.backward(made, judged)
"""
STEP, WALK = "        self.judge_optimizer.step()\n", "        made.backward()\n"
IN_ORDER = PLAYERS.replace(STEP + WALK, WALK + STEP)
WAYS = ("from players import Players", "import players\nPlayers = players.Players", "import players as p; Players = p.Players")
KEEPER = """\
import torch

class Keeper:
    def __init__(self):
        self.losses = []

    def evaluate(self, model, x):
        loss = model(x).pow(2).mean()
        self.losses.append(loss)
        return loss

    def learn(self, loss):
        loss.backward()
"""
WALKING = """\
import torch
from keeper import Keeper

keeper = Keeper()
model = torch.nn.Linear(3, 1)
for _ in range(10):
    loss = keeper.evaluate(model, torch.randn(4, 3))
    keeper.learn(loss)
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def found(self, name: str, text: str) -> list[Finding]:
        return findings_of(self.write(name, text), text, (self.root,))

    def codes(self, name: str, text: str) -> list[tuple[str, int]]:
        return [(f.code, text.encode()[: f.span.start].count(b"\n") + 1) for f in self.found(name, text)]


def test_a_step_between_is_seen_where_another_file_drives_the_class(project: Project) -> None:
    project.write("driver.py", DRIVER)
    (finding,) = project.found("players.py", PLAYERS)
    assert (finding.code, finding.fix) == ("GF304", None)
    assert PLAYERS.encode()[finding.span.start : finding.span.end] == b"made.backward()"
    assert {label.path for label in finding.story} == {str(project.root / "players.py")}


@pytest.mark.parametrize("name", ["driver.py", "deep/down/driver.py"])
@pytest.mark.parametrize("imported", WAYS)
def test_every_way_to_import_is_followed(project: Project, name: str, imported: str) -> None:
    project.write(name, DRIVER.replace("from players import Players", imported))
    assert [code for code, _ in project.codes("players.py", PLAYERS)] == ["GF304"]


def test_a_driver_two_imports_away_is_found(project: Project) -> None:
    project.write("models/__init__.py", "from .players import (\n    Players,\n)\n")
    project.write("driver.py", DRIVER.replace("from players", "from models"))
    assert [code for code, _ in project.codes("models/players.py", PLAYERS)] == ["GF304"]


def test_modules_that_import_each_other_are_read_once(project: Project) -> None:
    project.write("driver.py", DRIVER)
    assert [code for code, _ in project.codes("players.py", "import driver\n" + PLAYERS)] == ["GF304"]


def test_what_is_right_with_its_caller_stays_silent(project: Project) -> None:
    project.write("driver.py", DRIVER)
    assert project.codes("players.py", IN_ORDER) == []


@pytest.mark.parametrize(
    "driver",
    [
        "import pytest\n" + DRIVER,  # a test also does what is to fail
        DRIVER.replace("from players", "from elsewhere"),
        DRIVER.replace("self.players.backward(made, judged)", "judged.backward()"),
        "def (\n" + DRIVER,
        "",
    ],
)
def test_who_does_not_show_the_fault_tells_nothing(project: Project, driver: str) -> None:
    project.write("driver.py", driver)
    assert project.codes("players.py", PLAYERS) == []


def test_a_caller_that_takes_too_long_tells_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("driver.py", DRIVER)
    monkeypatch.setattr("graphfix.interpreter.interpreter.MAX_STEPS", 40)
    assert [code for code, _ in project.codes("players.py", PLAYERS)] == []


def test_a_pile_is_told_where_its_values_are_made(project: Project) -> None:
    project.write("walking.py", WALKING)
    assert project.codes("keeper.py", KEEPER) == [("GF102", 9)]


METER = """\
class Meter:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total += value

    def learn(self, loss):
        loss.backward()
"""
METERED = """\
import torch
from meter import Meter

meter = Meter()
model = torch.nn.Linear(3, 1)
for _ in range(9):
    loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    meter.update(loss)
"""


def test_a_value_that_the_caller_hands_over_is_told_at_the_caller(project: Project) -> None:
    project.write("meter.py", METER)
    assert project.codes("walking.py", METERED) == [("GF101", 9)]
    assert project.codes("meter.py", METER) == []


TOTAL = """\
def total(model, xs):
    s = 0
    for x in xs:
        s = s + model(x).mean()
    return s

def learn(loss):
    loss.backward()
"""
PRINTING = "import torch, total\nmodel = torch.nn.Linear(3, 1)\nprint(float(total.total(model, [torch.randn(4, 3)] * 2)))\n"


def test_a_total_that_one_caller_only_prints_may_be_walked_by_another(project: Project) -> None:
    project.write("one.py", PRINTING)
    assert project.codes("total.py", TOTAL) == []


def test_own_findings_and_their_fixes_stay_as_they_are(project: Project) -> None:
    text = KEEPER + "\nif __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in WALKING.splitlines()[3:])
    alone = project.found("keeper.py", text)
    other = Project(project.root / "other")
    other.write("walking.py", WALKING)
    beside = other.found("keeper.py", text)
    assert [(f.code, f.span, f.fix) for f in alone] == [(f.code, f.span, f.fix) for f in beside]
    assert alone and alone[0].fix is not None


def test_nothing_of_another_file_gets_a_place_in_this_one(project: Project) -> None:
    project.write("driver.py", DRIVER)
    path = project.write("players.py", PLAYERS)
    reached = called(Explorer(Document(str(path), PLAYERS), (project.root,)).explore())
    assert reached is not None and reached.runs and reached.replay({}).truncated
    evidence = CallerEvidence(reached, Facts(reached))
    foreign = [statement for run in reached.runs for node in run.recording.nodes for _, statement in node.trace[:1]]
    assert foreign
    for statement in foreign:
        with pytest.raises(Elsewhere):
            evidence.label(statement, "stands elsewhere")


class Nowhere(CallerEvidence):
    """Evidence of which every place stands in another file."""

    def span(self, node: ast.AST) -> Span:
        raise Elsewhere


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.witnessed], ids=lambda rule: rule.code)
def test_a_finding_that_stands_elsewhere_ends_no_rule(rule: Rule) -> None:
    """Whatever place a rule asks for first, it is this one finding that is left out, and not all that come after it."""
    found = False
    for path in sorted(bundled().glob(f"{rule.code}-*/*/before.py")):
        tape = Explorer(Document(str(path), path.read_text("utf-8")), (path.parent,)).explore()
        facts, cuts = Facts(tape), tuple(rule.cuts for rule in RULES)
        found |= bool(list(rule.find(Evidence(tape, facts, cuts))))
        assert list(rule.find(Nowhere(tape, facts, cuts))) == []
    assert found


def test_what_comes_after_a_finding_that_stands_elsewhere_is_told(project: Project) -> None:
    def report(evidence: Evidence, node: ast.AST) -> Finding:
        return Finding("GF000", "toy", "told", evidence.document.path, evidence.span(node))

    def find(evidence: Evidence) -> Iterator[Finding]:
        foreign = evidence.tape.runs[0].recording.nodes[0].trace[0][1]
        assert not evidence.holds(foreign)
        for node in (foreign, evidence.document.tree.body[-1]):
            yield from evidence.told(report, node)

    project.write("driver.py", DRIVER)
    program = Document(str(project.write("players.py", PLAYERS)), PLAYERS)
    tape = Explorer(program, (project.root,)).explore()
    [callers] = caller_evidence(tape, ())
    told = list(told_by_callers(callers, (), (find,)))
    assert [finding.span for finding in told] == [program.span(program.tree.body[-1])]


def test_importing_files_come_close_ones_first_and_links_are_not_followed(project: Project) -> None:
    target = project.write("a/target.py", "")
    for name in ("far/off/three.py", "a/two.py", "a/one.py"):
        project.write(name, "import a.target\n")
    project.write("last.py", "import a.one\n")
    for name in (".hidden/none.py", "runs/copy.py", "venv/none.py"):
        project.write(name, "import a.target\n")
    project.write(".gitignore", "runs/\n")
    (project.root / "a/link.py").symlink_to(project.root / "a/one.py")
    found = [str(path.relative_to(project.root.resolve())) for path in importing(target, (project.root,))]
    assert found == ["a/one.py", "a/two.py", "far/off/three.py", "last.py"]


def test_what_other_files_may_use(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    target = project.write("target.py", "")
    assert not is_offered(target, (project.root,))
    monkeypatch.setattr(importers, "MAX_ENTRIES", 0)
    importers.imports_below.cache_clear()
    assert is_offered(target, (project.root,))  # nobody has looked


@pytest.mark.parametrize(
    ("name", "text"),
    (
        ("lab.ipynb", '{"cells": [{"source": ["x = 1\\n", "from target import thing"]}]}'),
        ("lab.ipynb", '{"cells":[{"source":"x = 1\\nimport torch, target\\n"}]}'),
        ("long.py", "import target\n" + "#" * importers.MAX_FILE_BYTES),
    ),
)
def test_what_is_used_by_a_notebook_or_a_large_file_is_offered(project: Project, name: str, text: str) -> None:
    target = project.write("target.py", "")
    project.write(name, text)
    assert is_offered(target, (project.root,)) and list(importing(target, (project.root,))) == []


def test_a_folder_of_too_many_files_is_not_searched(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "MAX_ENTRIES", 3)
    project.write("driver.py", DRIVER)
    for number in range(3):
        project.write(f"data/{number}.txt", "")
    assert project.codes("players.py", PLAYERS) == []


def test_only_so_many_callers_are_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    run = itertools.count()
    explore = callers.CallerExplorer.explore
    monkeypatch.setattr(callers.CallerExplorer, "explore", lambda self: (next(run), explore(self))[1])
    for number in range(callers.MAX_CALLERS + 3):
        project.write(f"driver_{number}.py", DRIVER)
    assert [code for code, _ in project.codes("players.py", PLAYERS)] == ["GF304"]
    assert next(run) == callers.MAX_CALLERS


def test_all_entries_of_a_caller_share_one_budget(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    explore = callers.CallerExplorer.explore

    def counted(self: callers.CallerExplorer) -> Tape:
        tape = explore(self)
        taken.append(self.steps)
        return tape

    monkeypatch.setattr(callers.CallerExplorer, "explore", counted)
    monkeypatch.setattr(callers, "CALLER_STEPS", 500)
    more = "".join(f"    def train_{number}(self):\n        self.train()\n\n" for number in range(60))
    project.write("driver.py", f"{DRIVER}\n{more}")
    project.codes("players.py", PLAYERS)
    (steps,) = taken
    assert 500 < steps < 2_000  # the entry that was under way goes on to its end
