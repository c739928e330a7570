"""What is known before any worker is there: in a second run nobody looks at what nothing has happened to."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
import graphfix.run.pool
from graphfix.interpreter.conventions import Conventions
from graphfix.run import answers, cache, examine, workers
from graphfix.run.again import forget_files
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted
from graphfix.settings.rows import named_rows


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(answers, "SETTLED", -(10**18))  # the files of these tests have just been written


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/train.py").write_text(loops.total)
    (tmp_path / "p/clean.py").write_text(loops.clean)
    for number in range(workers.MIN_FILES):
        (tmp_path / f"p/idle{number:02}.py").write_text(f"x = {number:05}\n")
    return tmp_path / "p"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read, but by workers."""
    met: list[str] = []
    original = examine.read_bytes

    def noted(path: Path) -> bytes:
        met.append(path.name)
        return original(path)

    monkeypatch.setattr(examine, "read_bytes", noted)
    return met


def run(project: Path, jobs: int = 1, wanted: Wanted | None = None, named: tuple[str, ...] = ()) -> dict[str, Outcome]:
    """What a process of its own would say of each file."""
    forget_files()
    files = sorted(project.glob("*.py"))
    named_files = frozenset(project / name for name in named)
    job = Job((project,), wanted or Wanted(), cache=cache.opened((project,)), named=named_files)
    outcomes = list(workers.examine_all(files, job, jobs))
    assert [outcome.path for outcome in outcomes] == files
    return {outcome.path.name: outcome for outcome in outcomes}


def test_a_second_run_needs_no_worker_and_reads_what_can_matter_alone(
    project: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(project, jobs=2)

    def refused(*_: object) -> None:
        raise AssertionError("a worker was asked for")

    monkeypatch.setattr(graphfix.run.pool, "pooled", refused)
    monkeypatch.setattr(workers, "examined_here", refused)
    read.clear()
    assert run(project, jobs=2) == first
    assert sorted(read) == ["clean.py", "train.py"]
    assert len(first["train.py"].findings) == 1


def test_nor_does_a_project_in_which_all_files_matter(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in project.glob("idle*"):
        path.unlink()
    first = run(project)
    monkeypatch.setattr(workers, "examined_here", lambda *_: pytest.fail("a file was examined"))
    assert run(project) == first


def test_a_file_that_begins_to_matter_is_met(project: Path, loops: SimpleNamespace) -> None:
    assert run(project)["idle03.py"].passed_over
    (project / "idle03.py").write_text(loops.total)
    again = run(project)
    assert len(again["idle03.py"].findings) == 1
    assert run(project) == again  # nobody has kept that it was idle


def test_a_change_that_keeps_size_and_time_is_seen(project: Path) -> None:
    faulty = "loss.backward("
    path = project / "idle03.py"
    path.write_text("x".ljust(len(faulty)))
    before = path.stat()
    run(project)
    path.write_text(faulty)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(project)["idle03.py"].status is Status.UNREADABLE


def test_what_has_just_changed_is_not_trusted(project: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SETTLED", 10**18)
    run(project)
    read.clear()
    run(project)
    assert "idle03.py" in read


def test_a_file_that_is_named_is_looked_at(project: Path) -> None:
    (project / "idle03.py").write_text("x = (\n")
    assert run(project)["idle03.py"].passed_over
    assert run(project, named=("idle03.py",))["idle03.py"].status is Status.UNREADABLE


def test_settings_may_make_a_file_matter(project: Path) -> None:
    (project / "idle03.py").write_text("from lab import climb\nclimb((\n")
    assert run(project)["idle03.py"].passed_over
    named = Wanted(conventions=Conventions(rows=named_rows(backwards=("lab.climb",))))
    assert run(project, wanted=named)["idle03.py"].status is Status.UNREADABLE


def test_a_file_that_is_gone_costs_nothing(project: Path) -> None:
    run(project)
    (project / "idle03.py").unlink()
    assert "idle03.py" not in run(project)
    (project / "idle03.py").write_text("loss.backward(")
    assert run(project)["idle03.py"].status is Status.UNREADABLE


def test_a_run_that_is_left_keeps_nothing_wrong(project: Path, loops: SimpleNamespace) -> None:
    forget_files()
    job = Job((project,), cache=cache.opened((project,)))
    outcomes = workers.examine_all(sorted(project.glob("*.py")), job, 1)
    next(outcomes)
    outcomes.close()
    assert len(run(project)["train.py"].findings) == 1
