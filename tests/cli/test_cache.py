"""The cache as a user meets it."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "p").mkdir()
    return tmp_path / "kept"


def test_a_second_run_says_the_same(kept: Path, tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "p/a.py").write_text(loops.both)
    for words in (["check"], ["check", "--output-format", "json"], ["diff"]):
        first, second = graphfix(*words, ".", cwd=tmp_path / "p"), graphfix(*words, ".", cwd=tmp_path / "p")
        assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)
        assert first.returncode == 1
    assert graphfix("apply", ".", cwd=tmp_path / "p").returncode == 0
    assert graphfix("check", ".", cwd=tmp_path / "p").returncode == 0


def test_it_can_be_done_without(kept: Path, tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "p/a.py").write_text(loops.total)
    assert graphfix("check", "--no-cache", ".", cwd=tmp_path / "p").returncode == 1
    assert not kept.exists()


def test_where_it_is_how_large_and_its_end(kept: Path, tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "p/a.py").write_text(loops.total)
    graphfix("check", ".", cwd=tmp_path / "p")
    assert graphfix("cache", "dir").stdout.decode().strip() == str(kept)
    assert graphfix("cache", "size").stdout.decode().endswith(" KiB\n")
    assert list(kept.iterdir())
    assert graphfix("cache", "clean").stdout.decode().startswith("Freed ")
    assert not list(kept.iterdir())
    assert graphfix("cache", "wash").returncode == 2


def test_many_at_once_and_one_that_is_killed(
    kept: Path, tmp_path: Path, command: str, graphfix: Run, loops: SimpleNamespace
) -> None:
    for number in range(60):
        (tmp_path / f"p/f{number}.py").write_text(loops.total)
    words = [command, "check", "-q", "--jobs", "2", "--output-format", "concise", "."]
    running = [subprocess.Popen(words, cwd=tmp_path / "p", stdout=-1, stderr=-1) for _ in range(3)]
    killed = subprocess.Popen(words, cwd=tmp_path / "p", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    killed.kill()
    killed.wait()
    said = {process.communicate()[0] for process in running}
    said.add(graphfix(*words[1:], cwd=tmp_path / "p").stdout)
    (one,) = said
    assert len(one.splitlines()) == 60
    with sqlite3.connect(kept / "findings.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


class Runs:
    """What makes a file where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.file),)


@pytest.mark.parametrize("words", [["check"], ["diff"], ["apply"]], ids=lambda words: words[0])
def test_what_came_with_a_tree_is_refused_by_name(
    words: list[str], tmp_path: Path, graphfix: Run, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", ".cache")
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text(loops.total)
    (project / ".cache").mkdir()
    planted = pickle.dumps(Runs(tmp_path / "ran"))
    with sqlite3.connect(project / ".cache/findings.sqlite3") as base:
        base.execute(f"CREATE VIEW outcome AS SELECT x'00' AS key, x'{planted.hex()}' AS made, 1 AS used")
    before = (project / ".cache/findings.sqlite3").read_bytes()
    done = graphfix(*words, ".", cwd=project)
    assert not (tmp_path / "ran").exists()
    assert (project / ".cache/findings.sqlite3").read_bytes() == before
    told = done.stderr.decode()
    assert told.count("warning: .cache lies inside of the project") == 1 and "no cache is used" in told
    assert "warning" not in graphfix(*words, "--quiet", ".", cwd=project).stderr.decode()


def test_what_another_user_may_write_is_refused_by_name(kept: Path, tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "p/a.py").write_text(loops.total)
    first = graphfix("check", ".", cwd=tmp_path / "p")
    kept.chmod(0o777)
    second = graphfix("check", ".", cwd=tmp_path / "p")
    assert second.stdout == first.stdout and second.returncode == 1
    assert f"{kept} may be written by other users" in second.stderr.decode()


def test_rows_that_would_run_code_are_no_findings(kept: Path, tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "p/a.py").write_text(loops.total)
    first = graphfix("check", ".", cwd=tmp_path / "p")
    with sqlite3.connect(kept / "findings.sqlite3") as base:
        base.execute("UPDATE outcome SET made = ?", (pickle.dumps(Runs(tmp_path / "ran")),))
    second = graphfix("check", ".", cwd=tmp_path / "p")
    assert (second.returncode, second.stdout, second.stderr) == (1, first.stdout, first.stderr)
    assert not (tmp_path / "ran").exists()
