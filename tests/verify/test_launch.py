"""Scripts in a process of their own: with the interpreter, the folder and the words of a start by hand."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.verify.launch import PROBE, Job, NoTorch, devices, launch, launch_all
from graphfix.verify.record import Ending

pytestmark = pytest.mark.deep

TRAIN = """\
import argparse, sys
from .net import build
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
steps = parser.parse_args().steps
import torch
model = build()
for _ in range(steps):
    loss = model(torch.ones(2)).sum()
    loss.backward()
    with torch.no_grad():
        model.weight -= 0.1
print(sys.argv[1:], __package__, steps)
"""
# starts a process that holds a lock, and does not end before that one does
HOLDER = """\
import subprocess, sys
hold = "import fcntl, time; file = open('held', 'w'); fcntl.flock(file, fcntl.LOCK_EX); time.sleep(3600)"
subprocess.run([sys.executable, "-c", hold])
"""


def test_a_module_of_a_package_runs(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/__init__.py").touch()
    (tmp_path / "project/net.py").write_text("import torch\n\ndef build():\n    return torch.nn.Linear(2, 1)\n")
    (tmp_path / "project/train.py").write_text(TRAIN)
    run = launch(Job("project.train", ("--steps", "3"), module=True, folder=tmp_path, seed=3))
    assert run.clean, run.stderr
    assert run.stdout == "['--steps', '3'] project 3\n"
    assert (run.walk_count, len(run.parameters)) == (3, 2)
    assert run.walks[0].file == str(tmp_path / "project/train.py")
    again = launch(Job("project.train", ("--steps", "3"), module=True, folder=tmp_path, seed=3, saved=True))
    assert (again.parameters, again.losses) == (run.parameters, run.losses)


def test_what_lies_beside_a_script_is_imported(tmp_path: Path) -> None:
    """Also where it is named like a file of the probe."""
    (tmp_path / "watch.py").write_text("value = 7\n")
    (tmp_path / "script.py").write_text("import sys, watch\nprint(watch.value, sys.argv)\nsys.exit(watch.value)\n")
    run = launch(Job("script.py", ("--", "x"), folder=tmp_path))
    assert (run.ending, run.exit_code, run.torch) == (Ending.EXITED, 7, None)
    assert run.stdout == "7 ['script.py', '--', 'x']\n"


def test_the_probe_changes_neither_streams_nor_code(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\ndef f():\n    raise ValueError('no')\nf()\n")
    by_hand = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    words = [sys.executable, str(PROBE), "--report", str(tmp_path / "report.json"), str(script)]
    watched = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (watched.returncode, watched.stdout, watched.stderr) == (by_hand.returncode, by_hand.stdout, by_hand.stderr)


def test_a_script_over_its_time_is_ended_with_all_it_started(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HOLDER)
    run = launch(Job(str(script), folder=tmp_path, limit=5.0))
    assert (run.ending, run.failure) == (Ending.LATE, None)
    assert run.exit_code == -15
    # as long as what it started lives, the lock is held
    with open(tmp_path / "held", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)


def test_the_time_of_a_fork_is_limited_too(tmp_path: Path) -> None:
    slow, stubborn, quick = (tmp_path / f"{name}.py" for name in ("slow", "stubborn", "quick"))
    slow.write_text("import torch\n(torch.ones(2, requires_grad=True) ** 2).sum().backward()\nimport time\ntime.sleep(60)\n")
    stubborn.write_text("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)\n")
    quick.write_text("print(1)\n")
    runs = dict(launch_all([Job(str(path), limit=10.0) for path in (slow, stubborn, quick)], 3))
    assert (runs[0].ending, runs[0].walk_count) == (Ending.LATE, 1)
    assert (runs[1].ending, runs[1].exit_code) == (Ending.LATE, -9)
    assert runs[2].clean


def test_a_script_that_asks_for_cuda_is_answered(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('import torch\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nprint(device)\n')
    runs = dict(launch_all([Job(str(script), device=device) for device in ("cpu", "mps")]))
    assert [runs[0].stdout, runs[1].stdout] == ["cpu\n", "mps\n"]


def test_an_interpreter_without_torch_is_named(tmp_path: Path) -> None:
    bare = (sys.executable, "-S", "-I")
    with pytest.raises(NoTorch, match="No module named 'torch'"):
        devices(bare)
    version, found = devices()
    assert version and found[0] == "cpu"
