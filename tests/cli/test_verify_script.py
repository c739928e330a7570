"""`graphfix verify SCRIPT` and `graphfix apply --verify`: the installed command on small projects."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

Run = Callable[..., subprocess.CompletedProcess[bytes]]
PYTHON = shlex.quote(sys.executable)

# steps by hand: the first optimizer imports as much as torch itself, in each of the many runs
TRAIN = """\
import argparse

import torch

import log

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=8)
steps = parser.parse_args().steps
model = torch.nn.Linear(4, 1)
rate = 0.1
total = 0.0
for step in range(steps):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= rate * parameter.grad
    total += loss
    log.note(step, loss)
torch.save(model.state_dict(), "model.pt")
print(f"mean {total / steps:.4f}")
"""
LOG = "def note(step, loss):\n    print(f'{step} {loss.item():.4f}')\n"
CARRIED = """\
import torch

cell = torch.nn.GRUCell(3, 5)
h = torch.zeros(2, 5)
for step in range(6):
    h = cell(torch.randn(2, 3), h)
    loss = h.pow(2).mean()
    cell.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter -= 0.01 * parameter.grad
    print(step, loss.item())
"""
# runs, and its graph grows: to cut it is another training, of which only the author knows whether it is wanted
FILTER = """\
import torch

torch.manual_seed(1)
gain = torch.nn.Linear(3, 3, bias=False)
level = torch.zeros(3)
energy = torch.zeros(3)
log = []
for window in range(8):
    signal = torch.randn(12, 3)
    moved = gain(signal).sum(dim=0)
    level = level + moved
    energy = energy + moved.pow(2)
    loss = (level / (1 + energy.mean()) - signal.mean(dim=0)).pow(2).sum()
    gain.zero_grad()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        gain.weight -= 1e-2 * gain.weight.grad
    log.append(loss)
print(torch.stack(log))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "log.py").write_text(LOG)
    (tmp_path / "carried.py").write_text(CARRIED)
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_script_that_grows(project: Path, graphfix: Run) -> None:
    before = snapshot(project)
    done = graphfix("verify", "train.py", "--", "--steps", "12")
    text = done.stdout.decode()
    assert done.returncode == 0, (text, done.stderr)
    assert "grows to" in text and "before, flat at" in text
    assert "results  equal: " in text
    assert text.splitlines()[-1] == "verdict  verified"
    assert snapshot(project) == before


def test_a_script_that_dies(project: Path, graphfix: Run) -> None:
    done = graphfix("verify", "carried.py", "--output-format", "json", "-q")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done
    assert told["verdict"] == "verified"
    assert told["before"]["error"].startswith("RuntimeError: Trying to backward through the graph a second time")
    assert told["before"]["backward_passes"] == 1
    assert (told["after"]["error"], told["after"]["backward_passes"]) == (None, 6)
    assert done.stderr == b""


def test_a_module_and_its_picture(project: Path, graphfix: Run) -> None:
    done = graphfix("verify", "-m", "train", "--plot", "graph.svg")
    assert done.returncode == 0, done
    assert "live autograd nodes" in (project / "graph.svg").read_text()


def test_links_that_lead_out_are_named_before_anything_runs(
    project: Path, graphfix: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (project / "results").mkdir()
    (project / "absolute").symlink_to(project / "results")
    done = graphfix("apply", "--verify", "echo 1 > absolute/1; exit 1", ".")
    assert b"outside of its copy" not in done.stderr and list((project / "results").iterdir()) == []
    for number in range(7):
        (project / f"data{number}").symlink_to(elsewhere)
    done = graphfix("apply", "--verify", "true; exit 1", ".")
    first, second, *_ = done.stderr.decode().splitlines()
    assert first.startswith(f"graphfix: what runs can write outside of its copy, through data0 -> {elsewhere}, data1 -> ")
    assert first.endswith(" and 2 links more") and second.startswith("running true; exit 1 as it is")


def test_another_error_is_no_verdict(project: Path, graphfix: Run) -> None:
    (project / "train.py").write_text(TRAIN.replace("total = 0.0", "total = 0.0\nopen('data.csv')"))
    done = graphfix("verify", "train.py")
    assert done.returncode == 2
    assert done.stdout == b""
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("graphfix: no verdict: the script fails with and without the fixes: FileNotFoundError")
    assert last.endswith("(train.py:13)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.py"], "no such script: gone.py"),
        (["train.py", "--project", "gone"], "no such folder: gone"),
        (["train.py", "--python", "gone"], "--python gone: no such interpreter"),
        (["train.py", "--plot", "a.pdf"], "--plot writes .svg or .png, not a.pdf"),
    ],
)
def test_what_cannot_be_run(project: Path, graphfix: Run, words: list[str], said: str) -> None:
    done = graphfix("verify", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"graphfix: error: {said}\n"


def test_nothing_to_fix_runs_nothing(project: Path, graphfix: Run) -> None:
    (project / "carried.py").unlink()
    (project / "train.py").write_text("import torch\nopen('ran', 'w')\n")
    done = graphfix("verify", "train.py")
    assert (done.returncode, done.stdout) == (0, b"graphfix finds nothing to fix in .; nothing was run\n")


def test_fixes_that_stand_are_applied(project: Path, graphfix: Run) -> None:
    done = graphfix("apply", "--verify", f"{PYTHON} train.py --steps 5", ".")
    assert done.returncode == 0, done
    assert b"it passes; running it with 2 fixes" in done.stderr
    assert done.stderr.endswith(b"1 fix in files that the command did not load, and does not prove: carried.py\n")
    assert "total += loss.item()" in (project / "train.py").read_text()
    assert sorted(path.name for path in project.iterdir()) == ["carried.py", "log.py", "train.py"]


def test_the_fix_that_changes_the_results_is_refused(project: Path, graphfix: Run) -> None:
    (project / "filter.py").write_text(FILTER)
    done = graphfix("apply", "--unsafe-fixes", "--verify", f"{PYTHON} filter.py", ".")
    text = done.stdout.decode()
    assert done.returncode == 1, (text, done.stderr)
    refused = [line for line in text.splitlines() if line.startswith("refused ")]
    assert len(refused) == 1 and refused[0].startswith("refused filter.py:"), text
    assert "other" not in refused[0] and "after" in refused[0]
    assert (project / "filter.py").read_text().count("retain_graph=True") == 1
    assert "log.append(loss.detach())" in (project / "filter.py").read_text()
    assert "h.detach()" in (project / "carried.py").read_text()


def test_a_command_that_fails_anyway_decides_nothing(project: Path, graphfix: Run) -> None:
    before = snapshot(project)
    done = graphfix("apply", "--verify", "false; exit 1", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no verdict, and nothing was changed: the command fails with and without the fixes: exit code 1" in done.stderr
    assert snapshot(project) == before


def test_the_error_that_is_still_there_backs_out_everything(project: Path, graphfix: Run) -> None:
    (project / "train.py").write_text(TRAIN + "raise RuntimeError('Trying to backward through the graph a second time')\n")
    before = snapshot(project)
    done = graphfix("apply", "--verify", f"{PYTHON} train.py", "train.py")
    assert done.returncode == 1, done
    assert done.stdout.decode().count("refused ") == 1 and b"the command still ends in RuntimeError: Trying to" in done.stdout
    assert snapshot(project) == before


def test_a_program_with_other_numbers_each_time_is_no_verdict(project: Path, graphfix: Run) -> None:
    drawn = TRAIN.replace("torch.randn(8, 4)", "torch.from_numpy(draw.standard_normal((8, 4))).float()")
    (project / "train.py").write_text("import numpy\ndraw = numpy.random.default_rng()\n" + drawn)
    before = snapshot(project)
    done = graphfix("verify", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"they differ: running it as it is once more\n" in done.stderr
    said = "no verdict: your program computes other numbers in each run (two runs of the original: the loss of backward pass 1 is "
    assert said in done.stderr.decode().splitlines()[-1]
    assert json.loads(graphfix("verify", "train.py", "--output-format", "json").stdout)["verdict"] == "no verdict"
    done = graphfix("apply", "-q", "--verify", f"{PYTHON} train.py", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("graphfix: error: --verify: no verdict, and nothing was changed: your program computes other numbers")
    assert snapshot(project) == before


@pytest.mark.parametrize("name", ["apply", "pr"])
def test_a_command_that_fails_at_times_decides_nothing(project: Path, graphfix: Run, name: str) -> None:
    for words in (["init"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-m", "first"],
                  ["config", "user.name", "t"], ["config", "user.email", "t@e.org"]):  # fmt: skip
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    before = snapshot(project)
    ran = shlex.quote(str(project.parent / f"{project.name}-ran"))
    done = graphfix(name, "-q", "--verify", f"test ! -e {ran} && touch {ran}", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"does not always end in the same way (two runs of the original: finished, and exit code 1 after)" in done.stderr
    assert snapshot(project) == before


@pytest.mark.parametrize("end", ["sys.exit(3)", "open('gone.csv')"])
def test_an_end_of_its_own_is_not_blamed_on_the_fixes(project: Path, graphfix: Run, end: str) -> None:
    (project / "train.py").write_text(TRAIN.replace("import argparse", "import argparse\nimport sys") + end + "\n")
    done = graphfix("verify", "train.py")
    text = done.stdout.decode()
    assert done.returncode == 0, done
    assert "results  equal up to its end: " in text and "over 8 backward passes" in text
    done = graphfix("apply", "--verify", f"{PYTHON} train.py", "train.py")
    assert done.returncode == 0, done
    assert b"it fails; running it with 1 fix" in done.stderr
    assert "total += loss.item()" in (project / "train.py").read_text()


def test_a_command_without_an_end_decides_nothing(project: Path, graphfix: Run) -> None:
    before = snapshot(project)
    done = graphfix("apply", "--timeout", "1", "--verify", "sleep 30; true", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"not at its end after 1 s; --timeout gives it more" in done.stderr
    assert snapshot(project) == before


@pytest.mark.parametrize("text", ["no-such-command", f"{PYTHON} gone.py", ""])
def test_a_command_that_cannot_be_started_is_2(project: Path, graphfix: Run, text: str) -> None:
    before = snapshot(project)
    done = graphfix("apply", "--verify", text, ".")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"graphfix: error: --verify: ")
    assert snapshot(project) == before


def heed_interrupts() -> None:
    """A test run that a shell has put into the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_while_it_runs_nothing_is_written(project: Path, number: signal.Signals) -> None:
    before = snapshot(project)
    command = f"{PYTHON} -c 'import time; time.sleep(60)'"
    process = subprocess.Popen(
        [sys.executable, "-m", "graphfix", "apply", "--verify", command, "."], cwd=project, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, preexec_fn=heed_interrupts,
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode == (-number if number is signal.SIGKILL else 128 + number)
    assert snapshot(project) == before


@pytest.mark.parametrize("name", ["trace", "verify"])
def test_an_interpreter_without_torch_is_named(tmp_path: Path, graphfix: Run, name: str) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {PYTHON} -S "$@"\n')
    bare.chmod(0o755)
    (tmp_path / "train.py").write_text(TRAIN.replace("import log\n", "").replace("    log.note(step, loss)\n", ""))
    done = graphfix(name, "--python", str(bare), "train.py")
    said = f"graphfix: {bare} has no PyTorch; --python names an interpreter that has it"
    assert done.stderr.decode().splitlines()[-1] == said
    assert done.returncode == (1 if name == "trace" else 2)
