from __future__ import annotations

import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
from graphfix.run.engine import Analysis
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.workers import examine_all


def many(folder: Path, loops: SimpleNamespace, number: int = 60) -> list[Path]:
    files = [folder / f"f{count:03}.py" for count in range(number)]
    for count, file in enumerate(files):
        file.write_text([loops.total, loops.legacy, loops.clean, "broken("][count % 4])
    return files


def seen(outcomes: list[Outcome]) -> list[tuple[object, ...]]:
    return [(outcome.path, outcome.status, outcome.findings, outcome.after) for outcome in outcomes]


@pytest.mark.parametrize("repair", [False, True])
def test_any_number_of_workers_gives_the_same(tmp_path: Path, loops: SimpleNamespace, repair: bool) -> None:
    files = many(tmp_path, loops)
    job = Job((tmp_path,), repair=repair)
    alone = seen(list(examine_all(files, job, 1)))
    assert [outcome[0] for outcome in alone] == files
    for jobs in (2, 5):
        assert seen(list(examine_all(files, job, jobs))) == alone


def test_the_order_of_files_does_not_change_any_outcome(tmp_path: Path, loops: SimpleNamespace) -> None:
    files = many(tmp_path, loops, 12)
    job = Job((tmp_path,), repair=True)
    expected = sorted(seen(list(examine_all(files, job, 1))), key=str)
    random.Random(7).shuffle(files)
    assert sorted(seen(list(examine_all(files, job, 1))), key=str) == expected


def test_a_worker_that_dies_costs_its_file_only(tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    files = many(tmp_path, loops, 40)

    def dies(path: Path, text: str, roots: tuple[Path, ...], conventions: object) -> Analysis:
        if path.name == "f010.py":
            os._exit(9)
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", dies)
    outcomes = list(examine_all(files, Job((tmp_path,)), 2))
    failed = [outcome.path.name for outcome in outcomes if outcome.status is Status.INTERNAL]
    assert [outcome.path for outcome in outcomes] == files
    assert failed == ["f010.py"]


@pytest.mark.parametrize("error", [ValueError("odd"), RecursionError(), KeyError("x"), MemoryError()])
def test_an_engine_that_raises_costs_its_file_only(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    files = many(tmp_path, loops, 2)

    def raises(path: Path, text: str, roots: tuple[Path, ...], conventions: object) -> Analysis:
        if path == files[0]:
            raise error
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", raises)
    first, second = examine_all(files, Job((tmp_path,)), 1)
    assert (first.status, second.status) == (Status.INTERNAL, Status.EXAMINED)
    assert type(error).__name__ in first.reason
