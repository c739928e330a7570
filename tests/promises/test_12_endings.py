"""Promises 12 and 19: a run that is ended takes with it all that it has started, and leaves no folder behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.deep

PATIENCE = 60.0
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
# notes who it is, and two children that it started, one with a session of its own, and would go on for long
TRAIN = """\
import os, subprocess, sys, time
child, apart = (
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=own) for own in (False, True)
)
with open({notes!r} + ".new", "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}} {{apart.pid}}")
os.replace({notes!r} + ".new", {notes!r})
time.sleep(600)
"""


def comes(true: Callable[[], object]) -> bool:
    """Whether it becomes true before patience ends."""
    limit = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def runs(process: int) -> bool:
    """Whether the process is there, and not only its entry, which nobody may have asked for yet."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Hang-ups end programs, as in a terminal, also where the tests themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def start(tmp_path: Path, command: str) -> Iterator[Start]:
    """Starts the installed command in the folder of the test, with a place of its own for temporary folders."""
    (tmp_path / "tmp").mkdir()
    started: list[subprocess.Popen[bytes]] = []

    def begin(*words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [command, *words], cwd=tmp_path / "work", env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ends(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """The process ends by the signal, and says so."""
    process.send_signal(number)
    stderr = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == (-number if number is signal.SIGKILL else 128 + number), stderr
    assert b"Traceback" not in stderr


@pytest.mark.skipif(not CHILDREN.exists(), reason="needs a system that lists the children of a process")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [["check"], ["apply", "--dry-run"]], ids=" ".join)
def test_no_worker_is_left(
    tmp_path: Path, loops: SimpleNamespace, start: Start, words: list[str], number: signal.Signals
) -> None:
    (tmp_path / "work").mkdir()
    for count in range(1000):
        (tmp_path / f"work/f{count}.py").write_text(loops.both)
    process = start(*words, "--jobs", "3", ".")
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    assert comes(lambda: len(listed.read_text().split()) == 3)
    workers = [int(word) for word in listed.read_text().split()]
    ends(process, number)
    assert comes(lambda: not any(map(runs, workers)))


RUNNING = {
    "verify": ["verify", "train.py"],
    "apply --verify": ["apply", "--verify", f"{sys.executable} train.py", "."],
    "apply --verify, by the shell": ["apply", "--verify", f"{sys.executable} train.py; true", "."],
    "pr --check": ["pr", "--check", f"{sys.executable} train.py", "."],
    "verify --fixtures": ["verify", "--fixtures", "fixtures", "--device", "cpu"],
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("name", RUNNING)
def test_no_script_is_left(tmp_path: Path, loops: SimpleNamespace, start: Start, name: str, number: signal.Signals) -> None:
    notes = tmp_path / "notes"
    work = tmp_path / "work"
    for file in ("train.py", "fixtures/GF101-accumulated-graph/slow/before.py", "fixtures/GF101-accumulated-graph/slow/after.py"):
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text(TRAIN.format(notes=str(notes)) + loops.total)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    for key in ("name", "email"):
        subprocess.run(["git", "config", f"user.{key}", "t@e.org"], cwd=work, check=True)
    process = start(*RUNNING[name])
    assert comes(lambda: notes.exists() or process.poll() is not None)
    assert notes.exists(), process.communicate()
    started = [int(word) for word in notes.read_text().split()]
    assert len(started) == 3 and all(map(runs, started))
    ends(process, number)
    assert comes(lambda: not any(map(runs, started)))
    # torch has a cache there, too
    assert comes(lambda: not list((tmp_path / "tmp").glob("graphfix*"))), os.listdir(tmp_path / "tmp")


def test_what_is_ignored_stays_ignored(tmp_path: Path, loops: SimpleNamespace, start: Start) -> None:
    """As under nohup."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/x.py").write_text(loops.total)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start("check", ".")
    finally:
        signal.signal(signal.SIGHUP, before)
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.01)
    assert process.returncode == 1
