"""Promise 19: a script that verify runs has limits of memory, processes and output, and nothing that it started outlives it.

Each bomb here has a bound of its own, so that a limit that does not hold fails the test and does no harm.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.verify.command import Command
from graphfix.verify.free_memory import free_memory
from graphfix.verify.guard import own_mark
from graphfix.verify.launch import Job, launch, launch_all
from graphfix.verify.record import Ending

Run = Callable[..., subprocess.CompletedProcess[bytes]]
pytestmark = [pytest.mark.deep, pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs a system that tells of processes in files")]

FORKS = """\
import os, time
for _ in range(60):
    if os.fork() == 0:
        time.sleep(600)
time.sleep(600)
"""
MEMORY = """\
import os, time
kept = bytearray(b"x") * (100 << 20)
if {shared}:
    # each of them has all of it, and together they have it once
    children = [os.fork() for _ in range(8)]
    if 0 in children:
        time.sleep(600)
    time.sleep(1.5)
    print("done")
else:
    for _ in range(40):
        kept += bytearray(b"x") * (50 << 20)
        time.sleep(0.05)
"""
OUTPUT = """\
import time
for _ in range(400):
    print("x" * 100_000, flush=True)
    time.sleep(0.005)
"""


def left() -> list[int]:
    """The processes that this one has started, or that they have, and that have not ended."""
    mark, found = own_mark().encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def runs(process: int) -> bool:
    """Whether the process is there, and not only its entry, which nobody may have asked for yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def script(folder: Path, text: str) -> Job:
    (folder / "script.py").write_text(text)
    return Job(str(folder / "script.py"), folder=folder, limit=120.0)


@pytest.mark.parametrize(
    ("text", "limit", "said"),
    [
        (FORKS, {"processes": 20}, "too many processes: more than 20 at a time"),
        (MEMORY.format(shared=False), {"memory": 400 << 20}, "too much memory: more than 400 MiB"),
        (OUTPUT, {"output": 2 << 20}, "too much output: more than 2 MiB"),
    ],
    ids=["processes", "memory", "output"],
)
def test_a_script_beyond_a_limit_is_ended_and_told(tmp_path: Path, text: str, limit: dict[str, int], said: str) -> None:
    run = launch(replace(script(tmp_path, text), **limit))
    assert (run.ending, str(run.failure)) == (Ending.KILLED, said)
    assert left() == []


def test_what_processes_share_counts_once(tmp_path: Path) -> None:
    run = launch(replace(script(tmp_path, MEMORY.format(shared=True)), memory=500 << 20))
    assert run.clean and run.stdout == "done\n", run
    assert left() == []


def test_there_are_limits_that_nobody_has_to_ask_for(tmp_path: Path) -> None:
    limits = script(tmp_path, "").limits
    assert limits.memory == 0 and 0 < free_memory() < 1 << 50
    assert 100 < limits.processes < 5_000 and limits.output <= 1 << 30


STARTED = {
    "a session of its own": "subprocess.Popen(SLEEP, start_new_session=True)",
    "a session of its own, by a parent that has ended": "subprocess.run(['setsid', '--fork', *SLEEP])",
    "by two forks": "os.fork() or (os.setsid(), os.fork(), time.sleep(600))",
    "by two forks, with a session of its own and no environment": (
        "first = os.fork()\n"
        "if first == 0:\n"
        "    os.setsid()\n"
        "    os.fork() and os._exit(0)\n"
        "    os.execve(SLEEP[0], SLEEP, {})\n"
        "os.waitpid(first, 0)"
    ),
    "with another environment": "subprocess.Popen(SLEEP, start_new_session=True, env={'PATH': os.environ['PATH']})",
}


@pytest.mark.parametrize("kind", STARTED)
def test_a_child_that_leaves_the_group_ends_with_the_script(tmp_path: Path, kind: str) -> None:
    sleep = "import os, time; open('who', 'a').write(f'{os.getpid()} '); time.sleep(600)"
    text = f"import os, subprocess, sys, time\nSLEEP = [sys.executable, '-c', {sleep!r}]\n{STARTED[kind]}\n"
    run = launch(script(tmp_path, text + "time.sleep(1)\n"))
    assert run.clean, run
    assert left() == []
    if kind != "by two forks":
        assert not runs(int((tmp_path / "who").read_text()))


def test_so_does_what_a_shell_command_starts(tmp_path: Path) -> None:
    command = Command(f"setsid --fork {sys.executable} -c 'import time; time.sleep(600)'; echo done", tmp_path, Path())
    run = command.run({})
    assert (run.ending, run.stdout) == (Ending.FINISHED, "done\n")
    assert left() == []


def test_standard_input_is_empty(tmp_path: Path) -> None:
    run = launch(script(tmp_path, "import sys\nprint(repr(sys.stdin.read()))\n"))
    assert run.stdout == "''\n"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_signal_is_told_by_its_name(tmp_path: Path, graphfix: Run, loops: SimpleNamespace, number: signal.Signals) -> None:
    (tmp_path / "train.py").write_text(f"import os\n{loops.quick}os.kill(os.getpid(), {int(number)})\n")
    done = graphfix("verify", "--quiet", "train.py")
    assert done.returncode == 2
    assert f"no verdict: the run was killed: {number.name}: ".encode() in done.stderr
    traced = graphfix("trace", "--quiet", "train.py")
    assert traced.returncode == 128 + number
    # with what was seen until then, if there was time to write that down
    without, seen = f"the program left no report: it was ended by {number.name}: ", f"; {number.name} ("
    assert without.encode() in traced.stderr or seen.encode() in traced.stderr and b"nothing wrong so far" in traced.stderr


def test_a_report_that_the_script_has_spoiled_is_no_traceback(tmp_path: Path) -> None:
    run = launch(script(tmp_path, "import os, sys, atexit\nfor at in range(3):\n    pass\nos._exit(3)\n"))
    assert run.ending is Ending.LOST and "left no report" in str(run.failure)
    spoil = "import os, sys\nplace = sys.orig_argv[sys.orig_argv.index('--report') + 1]\nopen(place, 'w').write('[' * 100_000)\nos._exit(3)\n"
    run = launch(script(tmp_path, spoil))
    assert run.ending is Ending.LOST and "left no report" in str(run.failure)


STOPS = """\
import os, signal, time
import torch
w = torch.ones(2, requires_grad=True)
total = 0.0
for _ in range(4):
    loss = (w * w).sum()
    loss.backward()
    total += loss
os.kill(os.getppid(), signal.SIGSTOP)
time.sleep(600)
"""


def test_a_script_that_stops_its_parent_ends_at_its_limit(tmp_path: Path, installed: Run) -> None:
    (tmp_path / "stops.py").write_text(STOPS)
    done = installed("verify", "--timeout", "3", "stops.py", cwd=tmp_path)
    assert done.returncode == 0 and b"verified" in done.stdout and b"before   late, after 4 backward passes" in done.stdout
    done = installed("trace", "--after", "3", "stops.py", cwd=tmp_path)
    assert done.returncode == 0 and b"memory grows" in done.stderr


def test_so_does_one_that_stops_the_server_of_many(tmp_path: Path) -> None:
    job = replace(script(tmp_path, STOPS), limit=3.0)
    (run,) = [run for _, run in launch_all([job])]
    assert run.ending is Ending.LATE and run.walk_count == 4


def test_what_was_not_seen_is_told_as_that(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "late.py").write_text("import time\ntime.sleep(600)\n" + STOPS)
    done = graphfix("verify", "--timeout", "2", "late.py", cwd=tmp_path)
    assert b"no verdict: the script had not imported torch when its time was over" in done.stderr
    done = graphfix("trace", "--after", "2", "late.py", cwd=tmp_path)
    told = b" ".join(done.stderr.split())
    assert b"the program had not imported torch by then; the time limit ended it, and nothing was seen of it" in told
    assert b"nothing wrong" not in told and b"never imported" not in told


BEHIND = {
    "importing": ("", b"at least 0 backward passes, at most 0 nodes alive"),
    "computing": ("for _ in range(120):\n    total = total + (w * w).sum()\n    time.sleep(0.01)\n", b"at least 0 backward passes, at most "),
    "a thread": (
        "import threading\ndef train():\n    for _ in range(4):\n        (w * w).sum().backward()\n        time.sleep(0.8)\n"
        "thread = threading.Thread(target=train)\nthread.start()\nthread.join()\n",
        b" backward passes, at most 2 nodes alive",
    ),
    "one backward pass": ("(w * w).sum().backward()\n", b"at least 1 backward passes"),
}


@pytest.mark.parametrize("code", BEHIND)
def test_what_is_killed_leaves_what_was_seen(tmp_path: Path, graphfix: Run, code: str) -> None:
    text, said = BEHIND[code]
    head = "import os, signal, time\nimport torch\nw = torch.ones(2, requires_grad=True)\ntotal = 0\n"
    (tmp_path / "killed.py").write_text(f"{head}{text}os.kill(os.getpid(), signal.SIGKILL)\n")
    told = b" ".join(graphfix("trace", "killed.py", cwd=tmp_path).stderr.split())
    assert said in told and b"SIGKILL (killed) ended it" in told and b"left no report" not in told
    assert code != "computing" or b"at most 0 nodes" not in told
    assert code != "a thread" or b"at least 1 " not in told
