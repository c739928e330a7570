"""Promise 3: what `apply` has made, a second `apply` leaves alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .fixtures import FOLDER, PAIRS, SCRIPTS, label, repaired, selection

pytestmark = pytest.mark.deep

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.mark.parametrize("unsafe", (False, True), ids=("safe", "unsafe"))
@pytest.mark.parametrize("path", SCRIPTS, ids=label)
def test_a_second_run_changes_nothing(path: Path, unsafe: bool) -> None:
    once = repaired(path, unsafe=unsafe)
    twice = repaired(path, once.after, unsafe=unsafe)
    assert twice.after == once.after
    assert twice.fixed == ()
    assert len(twice.findings) == len(once.findings)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


def said(done: subprocess.CompletedProcess[bytes]) -> list[bytes]:
    """What stands on standard error, but for the progress that a slow run tells."""
    return [line for line in done.stderr.splitlines() if not line.startswith(b"checking: ")]


def test_the_command_comes_to_rest_on_all_fixtures(tmp_path: Path, graphfix: Run) -> None:
    """Each before.py that has an after.py becomes it, and then nothing is left to do but what is told only."""
    shutil.copytree(FOLDER, tmp_path / "fixtures")
    told = {path.relative_to(FOLDER.parent).as_posix() for path in FOLDER.glob("*/display_*/*.py")}
    first = graphfix("apply", "--unsafe-fixes", "fixtures")
    assert (first.returncode, said(first)) == (1 if told else 0, [])
    once = contents(tmp_path / "fixtures")
    asked = [pair for pair in PAIRS if not selection(pair)]
    assert all(once[label(pair / "before.py")] == once[label(pair / "after.py")] for pair in asked)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.py")}
    second = graphfix("apply", "--unsafe-fixes", "fixtures")
    assert (second.returncode, said(second)) == (first.returncode, [])
    assert contents(tmp_path / "fixtures") == once
    assert {path: path.stat().st_mtime_ns for path in times} == times
    left = graphfix("check", "-q", "--output-format", "concise", "fixtures").stdout.decode().splitlines()
    assert {line.partition(":")[0] for line in left} == told
