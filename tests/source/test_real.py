"""Real paths by folders that are looked at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphfix.files.discovery import discover
from graphfix.run.examine import Job
from graphfix.run.workers import examine_all
from graphfix.source.real import forget, real_path


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/x.py").write_text("")
    (tmp_path / "to_b").symlink_to("a/b")
    (tmp_path / "a/up").symlink_to("../to_b/..")
    (tmp_path / "a/b/own.py").symlink_to("x.py")
    (tmp_path / "lost").symlink_to("nowhere/x")
    (tmp_path / "round").symlink_to("round")
    monkeypatch.chdir(tmp_path)
    forget()
    yield tmp_path
    forget()


NAMES = [
    "a/b/x.py", "to_b/x.py", "to_b/own.py", "a/up/b/x.py", "a/up/up/b/own.py", "lost", "lost/x.py", "round", "round/x.py", "none/x.py",
    "a/../to_b/x.py", "to_b/../b/x.py", "./a/b/x.py", "a//b//x.py", "a/b/", ".", "..", "", "/", "//a", "/none/x.py", "a/b\udcff/x.py",
]  # fmt: skip


@pytest.mark.parametrize("order", [NAMES, NAMES[::-1]], ids=["", "backwards"])
def test_they_are_those_of_the_system(tree: Path, order: list[str]) -> None:
    for name in [*order, *(f"{tree}/{each}" for each in order)]:
        assert real_path(name) == os.path.realpath(name), name
        assert real_path(Path(name)) == os.path.realpath(Path(name)), name


def test_another_run_looks_anew(tree: Path) -> None:
    assert real_path("to_b/x.py") == str(tree / "a/b/x.py")
    (tree / "to_b").unlink()
    (tree / "to_b").mkdir()
    discover([tree])
    assert real_path("to_b/x.py") == str(tree / "to_b/x.py")


def test_a_run_looks_at_a_file_as_often_however_deep_it_lies(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    lstat = os.lstat

    def counted(path: str, **more: object) -> os.stat_result:
        nonlocal looks
        looks += 1
        return lstat(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "lstat", counted)

    def looked(depth: int) -> int:
        nonlocal looks
        top = folder = tree / f"depth{depth}"
        for _ in range(depth):
            folder /= "d"
            folder.mkdir(parents=True)
            (folder / "x.py").write_text("x = 1\n")
        looks = 0
        found = discover([top])
        outcomes = list(examine_all(found.files, Job(found.roots), 1))
        assert len(outcomes) == depth
        return looks

    assert looked(80) < 5 * looked(20)


def test_of_each_file_no_set_of_all_files_is_made(tree: Path) -> None:
    found = discover([tree])
    job = Job(found.roots, examined=frozenset(found.files))
    assert job.texts(found.files[0])._examined is job.examined
