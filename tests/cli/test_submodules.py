"""Submodules of git are other people's: told once, and left alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
NOTE = "skipped: 1 git submodule (vendor/theirs); name one to check it"


def git(folder: Path, *words: str) -> None:
    identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "protocol.file.allow=always",
    ]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "x.py").write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    theirs = repository(tmp_path / "theirs", loops.total)
    ours = repository(tmp_path / "ours", loops.total)
    git(ours, "submodule", "--quiet", "add", str(theirs), "vendor/theirs")
    git(ours, "commit", "-qm", "theirs")
    return ours


@pytest.mark.parametrize("words", [["check"], ["check", "--output-format", "json"], ["diff", "."], ["check", "--diff"]])
def test_they_are_told_once(project: Path, graphfix: Run, words: list[str]) -> None:
    done = graphfix(*words, cwd=project)
    assert done.returncode == 1
    assert [line for line in done.stderr.decode().splitlines() if "submodule" in line] == [NOTE]
    assert b"x.py" in done.stdout and b"theirs" not in done.stdout


def test_their_files_are_not_written(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    done = graphfix("apply", cwd=project)
    assert (done.returncode, done.stderr.decode()) == (0, NOTE + "\n")
    assert (project / "x.py").read_text() == loops.total_fixed
    assert (project / "vendor/theirs/x.py").read_text() == loops.total


def test_a_named_one_is_looked_at(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    for words in (["vendor/theirs"], ["vendor/theirs/x.py"]):
        done = graphfix("check", *words, cwd=project)
        assert (done.returncode, done.stderr) == (1, b"")
    both = graphfix("check", ".", "vendor/theirs", cwd=project)
    assert (b"checked 2 files" in both.stdout, both.stderr) == (True, b"")
    assert graphfix("apply", cwd=project / "vendor/theirs").returncode == 0
    assert (project / "vendor/theirs/x.py").read_text() == loops.total_fixed


def test_an_excluded_one_is_not_told(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "--extend-exclude", "vendor", cwd=project)
    assert (done.returncode, done.stderr) == (1, b"")


def test_another_work_tree_of_the_same_repository_is_none(project: Path, graphfix: Run) -> None:
    git(project, "worktree", "add", "-q", "-b", "side", "side")
    done = graphfix("check", cwd=project)
    assert done.stderr.decode() == NOTE + "\n"
    assert b"side/x.py" in done.stdout


def test_more_than_a_few_are_counted(tmp_path: Path, graphfix: Run) -> None:
    for number in range(7):
        (tmp_path / f"s{number}").mkdir()
        (tmp_path / f"s{number}/.git").write_text(f"gitdir: ../.git/modules/s{number}\n")
    done = graphfix("check")
    assert done.stderr.decode() == "skipped: 7 git submodules (s0, s1, s2, s3, s4 and 2 more); name one to check it\n"
