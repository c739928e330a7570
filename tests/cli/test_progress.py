"""What a log shows of a run that takes long, and which files took longest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
# the command where ten seconds go by from file to file
HURRIED = """
import sys
import graphfix.cli.progress
assert graphfix.cli.progress.EVERY == 10
graphfix.cli.progress.EVERY = 0
from graphfix.cli import main
sys.exit(main())
"""


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    for name, text in (("a.py", loops.both), ("b.py", "def f(:\n"), ("c.py", loops.total), ("d.py", loops.clean)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def hurried(project: Path) -> Callable[..., list[str]]:
    def run(*words: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", HURRIED, *words], cwd=project, capture_output=True)
        assert b"Traceback" not in done.stderr
        return [line for line in done.stderr.decode().splitlines() if line.startswith(("checking", "running"))]

    return run


@pytest.mark.parametrize(
    "words", [["check"], ["diff"], ["apply"], ["check", "--output-format", "json"], ["check", "--diff"], ["check", "--jobs", "2"]]
)
def test_a_log_is_told_how_far_it_is(hurried: Callable[..., list[str]], words: list[str]) -> None:
    assert hurried(*words) == [
        "checking: 1 of 4 files, 2 findings",
        "checking: 2 of 4 files, 2 findings",
        "checking: 3 of 4 files, 3 findings",
    ]


def test_many_files_from_a_pool(project: Path, hurried: Callable[..., list[str]], loops: SimpleNamespace) -> None:
    for number in range(40):
        (project / f"n{number:02}.py").write_text("x = 1\n")
    lines = hurried("check", "--jobs", "2")
    assert len(lines) == 43
    assert lines[-1] == "checking: 43 of 44 files, 3 findings"


@pytest.mark.parametrize("words", [["check", "-q"], ["apply", "--quiet"], ["check", "d.py"]])
def test_nothing_is_told_where_nobody_waits(hurried: Callable[..., list[str]], words: list[str]) -> None:
    assert hurried(*words) == []


def test_short_runs_say_nothing(project: Path, graphfix: Run) -> None:
    assert graphfix("check", "a.py", "c.py", "d.py").stderr == b""


@pytest.mark.parametrize("words", [["check"], ["diff", "-o", "p"], ["apply"]])
def test_statistics_name_the_files_that_took_longest(project: Path, graphfix: Run, words: list[str]) -> None:
    lines = graphfix(*words, "--statistics").stdout.decode().splitlines()
    first = lines.index("slowest files") + 1
    listed = [re.fullmatch(r" *(\d+\.\d\d) s  (\S+)", line) for line in lines[first : first + 4]]
    assert {one[2] for one in listed if one} == {"a.py", "b.py", "c.py", "d.py"}
    seconds = [float(one[1]) for one in listed if one]
    assert seconds == sorted(seconds, reverse=True)
    assert lines[first + 4].startswith("code ")


def test_no_more_than_five_are_named(project: Path, graphfix: Run) -> None:
    for number in range(8):
        (project / f"n{number}.py").write_text("x = 1\n")
    told = graphfix("check", "--statistics").stdout.decode()
    assert len(re.findall(r"^ *\d+\.\d\d s  ", told, re.MULTILINE)) == 5


@pytest.mark.parametrize("words", [["-q"], ["--output-format", "json"], ["--output-format", "github"]])
def test_times_are_for_readers(project: Path, graphfix: Run, words: list[str]) -> None:
    done = graphfix("check", "--statistics", *words)
    assert b"slowest" not in done.stdout + done.stderr
    assert b"total" in done.stdout + done.stderr
