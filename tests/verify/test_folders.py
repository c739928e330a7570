"""Temporary folders: gone at the end, and those of killed runs with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.verify import folders, guard
from graphfix.verify.folders import sweep, temporary
from graphfix.verify.launch import Job, launch


def test_a_folder_is_there_for_a_block_only() -> None:
    with temporary() as folder:
        (folder / "file").write_text("x")
    assert not folder.exists()
    assert folder.name.startswith(f"graphfix-{os.getpid()}-")


def test_only_what_is_ours_and_of_no_live_run_is_swept(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, live = f"graphfix-{ended.pid}-abcdefg", f"graphfix-{os.getpid()}-abcdefgh"
    kept = ["graphfix-results", live, dead, f"graphfix-{ended.pid}-abcdefghi", f"x-graphfix-{ended.pid}-abcdefgh"]
    for name in (*kept, dead + "1", dead + "_"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep/file").write_text("x")
    (tmp_path / f"{dead}2").write_text("a file")
    (tmp_path / f"{dead}3").symlink_to(tmp_path / "graphfix-results")
    sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, f"{dead}2", f"{dead}3"])
    assert (tmp_path / "graphfix-results/deep/file").exists()


def test_a_run_needs_no_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may have ended it."""
    monkeypatch.setattr(guard, "_guards", {})
    guard.keep_folder(str(tmp_path / "none"))
    guard._guards[os.getpid()].kill()
    guard._guards[os.getpid()].wait()
    (tmp_path / "script.py").write_text("print(7)\n")
    assert launch(Job("script.py", folder=tmp_path)).stdout == "7\n"


def test_a_folder_that_another_run_sweeps_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: Path) -> bool:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    for number in range(2):
        (tmp_path / f"graphfix-{2**30 + number}-abcdefgh").mkdir()
    monkeypatch.setattr(folders, "_is_own_folder", gone)
    folders.sweep(tmp_path)
