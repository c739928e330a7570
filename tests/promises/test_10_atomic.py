"""Promises 10 and 12: killed or interrupted at any moment, each file is whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.run.test_joined import FILES as PROGRAM
from tests.run.test_joined import REPAIRED

pytestmark = pytest.mark.deep

FILES = 50
PROGRAMS = 12  # each with a fix that changes two of its files
KILLS = int(os.environ.get("GRAPHFIX_KILLS", "8"))
INTERRUPTS = int(os.environ.get("GRAPHFIX_INTERRUPTS", "4"))  # 50 before a release
MOMENTS = [0.15 + 0.85 * number / INTERRUPTS for number in range(INTERRUPTS)]  # shares of the time that a run takes


def plant(folder: Path, loops: SimpleNamespace) -> None:
    for number in range(FILES):
        (folder / f"f{number:02}.py").write_text(loops.total)


def contents(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.glob("*.py")}


def traces(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".graphfix")]


@pytest.fixture
def duration(tmp_path: Path, loops: SimpleNamespace, command: str) -> float:
    plant(tmp_path, loops)
    started = time.monotonic()
    subprocess.run([command, "apply", "-q", "."], cwd=tmp_path, check=True)
    assert contents(tmp_path) == {loops.total_fixed}
    return time.monotonic() - started


def test_killed_at_any_moment_no_file_is_damaged(tmp_path: Path, loops: SimpleNamespace, command: str, duration: float) -> None:
    moments = random.Random(10)
    for number in range(KILLS):
        plant(tmp_path, loops)
        process = subprocess.Popen([command, "apply", "-q", "."], cwd=tmp_path, start_new_session=True)
        # most moments near the end, where the writes are
        time.sleep(duration * (moments.uniform(0.6, 1.05) if number % 4 else moments.uniform(0, 0.6)))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert contents(tmp_path) <= {loops.total, loops.total_fixed}
        assert len(list(tmp_path.glob("*.py"))) == FILES
    subprocess.run([command, "apply", "-q", "."], cwd=tmp_path, check=True)
    assert contents(tmp_path) == {loops.total_fixed}
    assert traces(tmp_path) == []


def states(program: Path) -> set[str]:
    """Which of the files that one fix changes are old, and which are new."""
    known = {PROGRAM[name]: "old" for name in REPAIRED} | {text: "new" for text in REPAIRED.values()}
    return {known[(program / name).read_text()] for name in REPAIRED}


def test_killed_at_any_moment_a_fix_of_several_files_is_made_in_all_or_in_none(tmp_path: Path, command: str) -> None:
    programs = [tmp_path / f"program{number}" for number in range(PROGRAMS)]
    nothing = tmp_path / "nothing.py"
    nothing.write_text("")

    def write_programs() -> None:
        for program in programs:
            program.mkdir(exist_ok=True)
            for name, text in PROGRAM.items():
                (program / name).write_text(text)

    write_programs()
    apply = [command, "apply", "-q", "--no-cache"]
    started = time.monotonic()
    subprocess.run([*apply, "."], cwd=tmp_path, check=True)
    duration = time.monotonic() - started
    assert [states(program) for program in programs] == [{"new"}] * PROGRAMS
    moments = random.Random(51)
    for _ in range(KILLS):
        write_programs()
        process = subprocess.Popen([*apply, "."], cwd=tmp_path, start_new_session=True)
        time.sleep(duration * moments.uniform(0.6, 1.05))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        subprocess.run([*apply, nothing], cwd=tmp_path, check=True)  # finishes what was begun
        assert all(len(states(program)) == 1 for program in programs)
    subprocess.run([*apply, "."], cwd=tmp_path, check=True)
    assert [states(program) for program in programs] == [{"new"}] * PROGRAMS
    assert traces(tmp_path) == []


def heed_interrupts() -> None:
    """A test run that a shell has put into the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("share", MOMENTS)
def test_interrupted_at_any_moment_it_ends_and_says_what_was_written(
    tmp_path: Path, loops: SimpleNamespace, command: str, duration: float, share: float
) -> None:
    plant(tmp_path, loops)
    process = subprocess.Popen(
        [command, "apply", "."], cwd=tmp_path, stdout=-1, stderr=-1, start_new_session=True, preexec_fn=heed_interrupts
    )
    time.sleep(max(duration * share, 0.2))
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    _, errors = process.communicate(timeout=300)
    # on a machine that does nothing else, as the many kills are for
    assert time.monotonic() - started < 2 or "GRAPHFIX_KILLS" not in os.environ
    # -2: Python itself was still starting, which a shell shows as 130 too
    assert process.returncode in (130, 0, -signal.SIGINT)
    assert b"Traceback" not in errors
    assert contents(tmp_path) <= {loops.total, loops.total_fixed}
    assert traces(tmp_path) == []
