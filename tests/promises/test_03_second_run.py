"""Promise 3: what `apply` has made, a second `apply` leaves alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .fixtures import FOLDER, SCRIPTS, label, repaired

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


def test_the_command_comes_to_rest_on_all_fixtures(tmp_path: Path, graphfix: Run) -> None:
    """Each before.py becomes its after.py, and then nothing is left to do."""
    told = shutil.ignore_patterns("display_*")  # faults that are told and left
    shutil.copytree(FOLDER, tmp_path / "fixtures", ignore=told)
    first = graphfix("apply", "--unsafe-fixes", "fixtures")
    assert (first.returncode, first.stderr) == (0, b"")
    once = contents(tmp_path / "fixtures")
    pairs = [name for name in once if name.endswith("/before.py")]
    assert all(once[name] == once[name.replace("before.py", "after.py")] for name in pairs)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.py")}
    second = graphfix("apply", "--unsafe-fixes", "fixtures")
    assert (second.returncode, second.stderr) == (0, b"")
    assert contents(tmp_path / "fixtures") == once
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert graphfix("check", "fixtures").returncode == 0
