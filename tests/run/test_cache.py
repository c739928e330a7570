"""What is kept from run to run: used where nothing has changed, and nowhere else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
from graphfix.run import cache, limits
from graphfix.run.engine import Analysis, Fault
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.selection import Wanted


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "p/sub").mkdir(parents=True)
    (tmp_path / "p/train.py").write_text(loops.total)
    (tmp_path / "p/sub/other.py").write_text("x = 1\n")
    return tmp_path / "p"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were analysed."""
    met: list[Path] = []
    analyse = graphfix.run.engine.analyse

    def noted(path: Path, *rest: object) -> Analysis:
        met.append(path)
        return analyse(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(graphfix.run.engine, "analyse", noted)
    return met


def run(project: Path, wanted: Wanted | None = None, repair: bool = False) -> Outcome:
    job = Job((project,), wanted or Wanted(), repair, cache=cache.opened((project,)))
    return examine(project / "train.py", job)


def test_the_second_run_only_reads(project: Path, looked: list[Path]) -> None:
    first, second = run(project), run(project)
    assert first == second and len(first.findings) == 1
    assert len(looked) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda project: (project / "train.py").write_text((project / "train.py").read_text() + "# more\n"),
        lambda project: (project / "sub/other.py").write_text("x = 2\n"),
        lambda project: (project / "sub/new.py").write_text(""),
        lambda project: (project / "sub/other.py").unlink(),
    ],
    ids=["its bytes", "another file", "a new file", "a file that is gone"],
)
def test_what_has_changed_is_looked_at_again(project: Path, looked: list[Path], change: Callable[[Path], object]) -> None:
    run(project)
    change(project)
    run(project)
    assert len(looked) == 2


def test_a_change_that_keeps_size_and_time_is_seen(project: Path, looked: list[Path]) -> None:
    run(project)
    other = project / "sub/other.py"
    before = other.stat()
    other.write_text("x = 3\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    run(project)
    assert len(looked) == 2


def test_a_link_to_nothing_hides_no_change(project: Path, looked: list[Path]) -> None:
    (project / "sub/a.py").symlink_to("nothing.py")
    (project / "sub/z.py").write_text("x = 1\n")
    run(project)
    (project / "sub/z.py").write_text("x = 22\n")
    run(project)
    assert len(looked) == 2


def test_other_wishes_are_other_outcomes(project: Path) -> None:
    assert len(run(project).findings) == 1
    assert run(project, Wanted(ignore=("GF101",))).findings == ()
    assert run(project, repair=True).changed
    assert not run(project).changed


@pytest.mark.parametrize("broken", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_broken_database_costs_nothing_but_time(project: Path, broken: bytes) -> None:
    first = run(project)
    for connection in cache._connections.values():
        connection.close()
    cache._connections.clear()
    (project.parent / "kept" / cache.NAME).write_bytes(broken)
    assert [run(project) for _ in range(3)] == [first] * 3
    assert cache.opened((project,)) is not None
    with sqlite3.connect(project.parent / "kept" / cache.NAME) as database:
        assert database.execute("SELECT COUNT(*) FROM outcome").fetchone() == (1,)


def test_what_is_kept_but_no_outcome_is_not_used(project: Path, looked: list[Path]) -> None:
    run(project)
    with sqlite3.connect(project.parent / "kept" / cache.NAME) as database:
        database.execute("UPDATE outcome SET made = x'00ff'")
    assert len(run(project).findings) == 1
    assert len(looked) == 2


def test_a_place_that_cannot_be_had_is_done_without(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.parent / "file").write_text("")
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(project.parent / "file"))
    assert len(run(project).findings) == 1


def test_links_to_folders_are_not_trusted(project: Path) -> None:
    (project / "linked").symlink_to(project.parent)
    assert cache.opened((project,)) is None


def test_a_tree_without_end_is_not_looked_through(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (project / f"data{number}.txt").touch()
    assert cache.opened((project,)) is not None
    monkeypatch.setattr(cache, "MAX_ENTRIES", 20)
    monkeypatch.setattr(cache, "_own_files", lambda: ())
    assert cache.opened((project,)) is None


def test_what_may_turn_out_otherwise_is_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(path: Path, *rest: object) -> Analysis:
        return Analysis(faults=(Fault("GF101", ValueError("odd")),))

    def endless(path: Path, *rest: object) -> Analysis:
        while True:
            pass

    monkeypatch.setattr(limits, "SECONDS", 0.2)
    for analyse in (faulty, endless):
        monkeypatch.setattr(graphfix.run.engine, "analyse", analyse)
        assert run(project).findings == ()
    monkeypatch.undo()
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(project.parent / "kept"))
    assert len(run(project).findings) == 1


def test_it_stays_within_its_bounds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cache.opened((project,))
    assert kept is not None
    for number in range(50):
        kept.put(bytes([number]), Outcome(project, before=bytes(20_000)))
    before = cache.size()
    monkeypatch.setattr(cache, "MAX_BYTES", 200_000)
    cache.trim()
    assert cache.size() < before
    assert kept.get(bytes([0])) is None or kept.get(bytes([49])) is not None
