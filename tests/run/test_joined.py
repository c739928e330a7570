"""Files that one fix changes: it is made in all of them or in none, in whichever order they are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.run.again import forget_files
from graphfix.run.examine import Job
from graphfix.run.selection import Wanted
from graphfix.run.series import steps
from graphfix.run.tellers import grouped
from graphfix.run.workers import examine_all

from . import several_files as code

pytestmark = pytest.mark.deep

ENGINE = """
from torch import nn

def step(model, batch, optimizer, meter):
    loss = nn.functional.mse_loss(model(batch), batch[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss, 8)
"""
PENALTY = """
def shrink(model, optimizer, meter):
    size = model.weight.pow(2).sum()
    optimizer.zero_grad()
    size.backward()
    optimizer.step()
    meter.update(size, 1)
"""
MAIN = """
import torch
from torch import nn
from engine import step
from meters import AverageMeter
from penalty import shrink

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter, plain = AverageMeter(), AverageMeter()
for batch in torch.randn(5, 8, 4):
    step(model, batch, optimizer, meter)
    shrink(model, optimizer, meter)
    plain.update(0.5)
print(meter.avg, plain.avg)
"""
FILES = {"engine.py": ENGINE, "main.py": MAIN, "meters.py": code.METER, "penalty.py": PENALTY}
REPAIRED = {
    "engine.py": ENGINE.replace("update(loss, 8)", "update(loss.detach(), 8)"),
    "penalty.py": PENALTY.replace("update(size, 1)", "update(size.detach(), 1)"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    forget_files()
    return tmp_path


def now(project: Path) -> dict[str, str]:
    return {name: (project / name).read_text() for name in FILES}


def graphfix(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("graphfix")), *words, "--no-cache"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def test_each_file_knows_with_which_it_is_changed(project: Path) -> None:
    outcomes = {
        outcome.path.name: outcome
        for outcome in examine_all(sorted(project.glob("*.py")), Job((project,), Wanted(), repair=True), 1)
    }
    assert {name: outcome.after.decode() for name, outcome in outcomes.items() if outcome.changed} == REPAIRED
    assert outcomes["engine.py"].together == {project / "penalty.py"}
    assert outcomes["penalty.py"].together == {project / "engine.py"}


def test_apply_makes_it_in_all_of_them_and_nothing_is_left(project: Path) -> None:
    done = graphfix(project, "apply", ".", "--allow-dirty")
    assert done.returncode == 0, done.stdout + done.stderr
    assert now(project) == {**FILES, **REPAIRED}
    assert graphfix(project, "check", ".").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="root may write everywhere")
def test_a_file_that_cannot_be_written_keeps_the_others(project: Path) -> None:
    os.link(project / "penalty.py", project / "twin")  # replacing it would break the link
    done = graphfix(project, "apply", ".", "--allow-dirty")
    assert done.returncode == 2
    assert now(project) == FILES
    assert "engine.py" in done.stderr and "penalty.py" in done.stderr


def test_a_file_alone_is_not_changed_by_half(project: Path) -> None:
    graphfix(project, "apply", "penalty.py", "--allow-dirty")
    assert now(project) == FILES
    told = graphfix(project, "check", "penalty.py").stdout
    assert "no fix: the repair also changes engine.py, which is not among the files that were named" in told
    assert "fixable" not in told


def test_a_file_that_is_to_be_skipped_takes_no_part(project: Path) -> None:
    skipped = "# graphfix: skip-file\n" + ENGINE
    (project / "engine.py").write_text(skipped)
    done = graphfix(project, "apply", ".", "--allow-dirty")
    assert now(project) == {**FILES, "engine.py": skipped}
    assert done.returncode == 1 and "could not be written" not in done.stdout + done.stderr
    told = graphfix(project, "check", ".").stdout
    assert "no fix: the repair also changes engine.py, which is not to be changed" in told
    assert "fixable" not in told


def test_files_that_hang_together_over_others_are_one_group() -> None:
    a, b, c, d, e = map(Path, "abcde")
    found = grouped([(a, b), (d, e), (b, c)])
    assert found == {**dict.fromkeys((a, b, c), (a, b, c)), **dict.fromkeys((d, e), (d, e))}


WRITES = """
import torch
from torch import nn

class Replicated(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.source = {n: b.clone() for n, b in module.named_buffers()}

    def forward(self, x):
        with torch.no_grad():
            for name, buffer in self.module.named_buffers():
                buffer.copy_(self.source[name])
        return self.module(x)
"""
SAVES = """
import torch
from torch import nn
from replica import Replicated

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 8)
        self.register_buffer("scale", torch.ones(8))

    def forward(self, z):
        return (self.lin(z) * self.scale).sum(1)

critic = Replicated(Critic())
for _ in range(3):
    (critic(torch.randn(2, 4)).mean() - critic(torch.randn(2, 4)).mean()).backward()
"""


@pytest.fixture
def written_elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "replica.py").write_text(WRITES)
    (tmp_path / "train.py").write_text(SAVES)
    forget_files()
    return tmp_path


def test_a_fault_of_one_file_may_be_repaired_in_another(written_elsewhere: Path) -> None:
    told = graphfix(written_elsewhere, "check", ".").stdout
    assert "fix (unsafe): compute with `self.scale.clone()`, in train.py" in told and "--> replica.py:14" in told
    done = graphfix(written_elsewhere, "apply", ".", "--unsafe-fixes", "--allow-dirty")
    assert "fixed train.py (GF401)" in done.stdout
    assert (written_elsewhere / "train.py").read_text() == SAVES.replace("* self.scale)", "* self.scale.clone())")
    assert subprocess.run([sys.executable, "train.py"], cwd=written_elsewhere).returncode == 0


def test_what_it_changes_elsewhere_is_a_step_of_its_rule(written_elsewhere: Path) -> None:
    job = Job((written_elsewhere,), Wanted(unsafe=True), repair=True, stages=True)
    made = list(steps(list(examine_all(sorted(written_elsewhere.glob("*.py")), job, 1))))
    assert [(step.code, [path.name for path, _, _ in step.files]) for step in made] == [("GF401", ["train.py"])]


def test_where_one_file_is_looked_at_alone_a_finding_is_told_at_its_repair(written_elsewhere: Path) -> None:
    told = graphfix(written_elsewhere, "check", "train.py").stdout
    assert "--> train.py:" in told and "fix (unsafe): compute with `self.scale.clone()`\n" in told
    assert graphfix(written_elsewhere, "check", ".").stdout.count("GF401]") == 1
    assert "--> replica.py:14" in graphfix(written_elsewhere, "check", "replica.py").stdout
    graphfix(written_elsewhere, "apply", "train.py", "--unsafe-fixes", "--allow-dirty")
    assert "self.scale.clone()" in (written_elsewhere / "train.py").read_text()


NUMBERS = """
def action_of(mean):
    return mean.data.numpy()
"""
VALUES = """
from numbers_of import action_of

def values_of(critic, states):
    return critic(states)
"""
ROLLOUT = """
import torch
from torch import nn
from numbers_of import action_of
from values import values_of

actor, critic = nn.Linear(2, 2), nn.Linear(2, 2)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(100):
    for _ in range(10):
        action_of(actor(torch.randn(2, 2)))
    values = []
    for _ in range(10):
        values.append(values_of(critic, torch.randn(2, 2)))
    loss = torch.cat([each.detach() for each in values]).mean() + critic(torch.randn(2, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_finding_in_a_third_file_does_not_disturb_a_fix_over_two(tmp_path: Path) -> None:
    for name, text in {"numbers_of.py": NUMBERS, "values.py": VALUES, "rollout.py": ROLLOUT}.items():
        (tmp_path / name).write_text(text)
    forget_files()
    told = graphfix(tmp_path, "check", ".", "--extend-select", "GF9")
    assert told.returncode == 1 and "numbers_of.py:3" in told.stdout, told.stdout + told.stderr
