"""A program is its files: a fault is told, and repaired, in whichever of them it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.project import share
from graphfix.run import cache, engine
from graphfix.run.again import forget_files
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted
from graphfix.run.workers import examine_all

from . import several_files as code

Told = set[tuple[str, str, str]]


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).write_text(text)
    forget_files()
    return [folder / name for name in sorted(files)]


def told(paths: list[Path], folder: Path) -> Told:
    """The rule of each finding, its file and how sure its fix is, where each file is looked at by itself."""
    outcomes = [examine(path, Job((folder,), examined=frozenset(paths))) for path in paths]
    assert not any(outcome.failed or outcome.faults for outcome in outcomes)
    return {
        (finding.code, Path(finding.path).name, finding.fix.applicability.value if finding.fix is not None else "")
        for outcome in outcomes
        for finding in outcome.findings
        if finding.code != "GF904"
    }


def train(given: str = "loss", more: str = "") -> str:
    return code.TRAIN.format(given=given, more=more)


PROGRAMS: dict[str, tuple[dict[str, str], Told]] = {
    "a meter": ({"meters.py": code.METER, "train.py": train()}, {("GF101", "meters.py", "safe")}),
    "a meter that is given numbers": ({"meters.py": code.METER, "train.py": train("loss.item()")}, set()),
    "a meter that is given numbers, too": (
        {"meters.py": code.METER, "train.py": train(more="    AverageMeter().update(0.5, 8)")},
        {("GF101", "train.py", "safe")},
    ),
    "a meter that another program gives numbers": (
        {"meters.py": code.METER, "train.py": train(), "other.py": code.BORING},
        {("GF101", "meters.py", "unsafe")},
    ),
    "a meter whose sum another program walks": (
        {"meters.py": code.METER, "train.py": train(), "other.py": code.WALKS_SUM},
        {("GF101", "meters.py", "unsafe")},
    ),
    "an evaluation": ({"engine.py": code.ENGINE, "main.py": code.MAIN}, {("GF103", "engine.py", "safe")}),
    "a callee that walks": ({"steps.py": code.WALK, "train.py": code.TWICE}, {("GF301", "steps.py", "safe")}),
    "state in a module": ({"models.py": code.CELL, "train.py": code.CARRIES}, {("GF202", "models.py", "safe")}),
}


@pytest.mark.parametrize(("files", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_fault_is_told_in_its_file(tmp_path: Path, files: dict[str, str], expected: Told) -> None:
    found = told(written(tmp_path, files), tmp_path)
    assert found >= expected
    assert {(rule, name) for rule, name, _ in found} - {(rule, name) for rule, name, _ in expected} <= {("GF101", "engine.py")}


@pytest.mark.parametrize("files", [files for files, _ in PROGRAMS.values()], ids=PROGRAMS)
def test_a_file_its_folder_and_the_project_tell_the_same(tmp_path: Path, files: dict[str, str]) -> None:
    paths = written(tmp_path, files)
    alone = [examine(path, Job((tmp_path,), examined=frozenset(paths))).findings for path in paths]
    forget_files()
    assert [outcome.findings for outcome in examine_all(paths, Job((tmp_path,)), 1)] == alone


def test_a_fix_in_another_file_is_made_there_and_nothing_is_left(tmp_path: Path) -> None:
    paths = written(tmp_path, {"meters.py": code.METER, "train.py": train()})
    for outcome in examine_all(paths, Job((tmp_path,), Wanted(), repair=True), 1):
        if outcome.changed:
            outcome.path.write_bytes(outcome.after)
    assert "self.sum += val.item() * n" in (tmp_path / "meters.py").read_text()
    assert (tmp_path / "train.py").read_text() == train()
    forget_files()
    assert told(paths, tmp_path) == set()


def test_a_notebook_that_uses_a_meter_may_give_it_anything(tmp_path: Path) -> None:
    paths = written(tmp_path, {"meters.py": code.METER, "train.py": train()})
    (tmp_path / "look.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": ["from meters import AverageMeter\\n"], "metadata": {}, "outputs": []}],'
        ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    forget_files()
    assert told(paths, tmp_path) == {("GF101", "meters.py", "unsafe")}


def test_a_comment_at_the_line_that_is_blamed_silences_it(tmp_path: Path) -> None:
    meter = code.METER.replace("self.sum += val * n", "self.sum += val * n  # graphfix: ignore[GF101]")
    assert told(written(tmp_path, {"meters.py": meter, "train.py": train()}), tmp_path) == set()
    elsewhere = train().replace("losses.update(loss, 8)", "losses.update(loss, 8)  # graphfix: ignore[GF101]")
    assert told(written(tmp_path, {"meters.py": code.METER, "train.py": elsewhere}), tmp_path) == {("GF101", "meters.py", "safe")}


def test_what_is_kept_of_a_program_serves_each_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "p").mkdir()
    paths = written(tmp_path / "p", {"meters.py": code.METER, "train.py": train()})
    looked: list[str] = []
    analyse = engine.analyse

    def noted(path: Path, *how: object, **more: object) -> engine.Analysis:
        looked.append(path.name)
        return analyse(path, *how, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "analyse", noted)
    for _ in range(2):
        forget_files()
        job = Job((tmp_path / "p",), cache=cache.opened((tmp_path / "p",)))
        assert [len(outcome.findings) for outcome in examine_all(paths, job, 1)] == [1, 0]
    assert looked == ["train.py", "meters.py"]
    (tmp_path / "p" / "train.py").write_text(train("loss.item()"))
    forget_files()
    job = Job((tmp_path / "p",), cache=cache.opened((tmp_path / "p",)))
    assert [len(outcome.findings) for outcome in examine_all(paths, job, 1)] == [0, 0]
    assert looked == ["train.py", "meters.py", "train.py"]


def alone(path: Path, folder: Path, kept: cache.Cache | None) -> object:
    """What the commands tell of one file of a project."""
    forget_files()
    (outcome,) = examine_all([path], Job((folder,), cache=kept), 1)
    return outcome.findings, outcome.unfinished


CROWD = {
    "meters.py": code.METER,
    **{f"run{number}.py": train() for number in range(3)},
    "far.py": "from run0 import *\n",
    "other.py": code.BORING,
}


@pytest.mark.parametrize("least", [0, 1, 30, 150, 100_000])
@pytest.mark.parametrize("files", [*(files for files, _ in PROGRAMS.values()), CROWD], ids=[*PROGRAMS, "a crowd"])
def test_one_file_is_told_the_same_with_and_without_a_cache(
    tmp_path: Path, files: dict[str, str], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "LEAST_SHARE", least)
    monkeypatch.setattr(share, "TIMES_OWN", 0)
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "p").mkdir()
    for path in written(tmp_path / "p", files):
        fresh = alone(path, tmp_path / "p", None)
        forget_files()
        single = examine(path, Job((tmp_path / "p",), examined=frozenset([path])))
        assert (single.findings, single.unfinished) == fresh
        assert alone(path, tmp_path / "p", cache.opened((tmp_path / "p",))) == fresh
        assert alone(path, tmp_path / "p", cache.opened((tmp_path / "p",))) == fresh


def steps_of(path: Path, folder: Path) -> int:
    return engine.analyse(path, path.read_text(), (folder,)).steps


def test_further_programs_share_a_count_and_the_nearest_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"meters.py": code.METER, "trains.py": train(), "tunes.py": train(), "use.py": "import trains\n"}
    paths = written(tmp_path, files)
    one = steps_of(tmp_path / "trains.py", tmp_path)
    assert one == steps_of(tmp_path / "tunes.py", tmp_path) > 0
    looked: list[str] = []
    analyse = engine.analyse

    def noted(path: Path, *how: object, **more: object) -> engine.Analysis:
        looked.append(path.name)
        return analyse(path, *how, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "analyse", noted)
    monkeypatch.setattr(share, "TIMES_OWN", 0)
    told = {}
    for least in (0, one - 1, one, 2 * one - 1, 2 * one):
        monkeypatch.setattr(share, "LEAST_SHARE", least)
        looked.clear()
        findings, unfinished = alone(tmp_path / "meters.py", tmp_path, None)
        told[least] = len(findings), unfinished, tuple(each for each in looked if each[0] == "t")
    cut = "{}.py: the analysis budget ran out"
    assert told == {
        0: (0, cut.format("trains"), ("trains.py",)),
        one - 1: (0, cut.format("trains"), ("trains.py",)),
        one: (1, cut.format("tunes"), ("trains.py", "tunes.py")),
        2 * one - 1: (1, cut.format("tunes"), ("trains.py", "tunes.py")),
        2 * one: (1, "", ("trains.py", "tunes.py")),
    }
    # among the files of one run each program is asked anyway
    monkeypatch.setattr(share, "LEAST_SHARE", 0)
    forget_files()
    outcomes = {outcome.path.name: outcome for outcome in examine_all(paths, Job((tmp_path,)), 1)}
    assert len(outcomes["meters.py"].findings) == 1 and not outcomes["meters.py"].unfinished


def test_what_was_too_dear_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(share, "LEAST_SHARE", 1)
    monkeypatch.setattr(share, "TIMES_OWN", 0)
    (tmp_path / "p").mkdir()
    written(tmp_path / "p", {"meters.py": code.METER, "trains.py": train(), "idle.py": "x = 1\n"})
    first = alone(tmp_path / "p" / "meters.py", tmp_path / "p", cache.opened((tmp_path / "p",)))
    (tmp_path / "p" / "idle.py").write_text("x = 2\n")
    monkeypatch.setattr(engine, "analyse", lambda *_, **__: pytest.fail("a program was run again"))
    assert alone(tmp_path / "p" / "meters.py", tmp_path / "p", cache.opened((tmp_path / "p",))) == first
