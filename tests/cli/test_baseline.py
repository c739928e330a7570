"""Baselines and unused suppressions through the installed command."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace, graphfix: Run) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text(loops.total)
    (tmp_path / "sub/b.py").write_text(loops.both)
    done = graphfix("check", "--write-baseline", "base.json")
    assert (done.returncode, done.stdout) == (0, b"Wrote 3 findings in 2 files to base.json\n")
    return tmp_path


def test_what_is_listed_is_passed_over(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "--baseline", "base.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"No new findings; checked 2 files, 3 in the baseline\n"
    assert graphfix("check", "--baseline", "../base.json", cwd=project / "sub").returncode == 0
    assert graphfix("check").returncode == 1


def test_edits_above_and_around_do_not_bring_findings_back(project: Path, graphfix: Run) -> None:
    text = (project / "a.py").read_text().replace("total += loss", "total  +=  loss  # why")
    (project / "a.py").write_text("# more\n" * 7 + text)
    assert graphfix("check", "--baseline", "base.json").returncode == 0


def test_new_findings_are_told_also_beside_equal_old_ones(project: Path, graphfix: Run) -> None:
    text = (project / "a.py").read_text().replace("total = 0.0", "total = other = 0.0")
    (project / "a.py").write_text(text.replace("    total += loss", "    total += loss\n    other += loss"))
    done = graphfix("check", "--baseline", "base.json", "--output-format", "json")
    assert [one["message"].split("`")[1] for one in json.loads(done.stdout)] == ["other"]


def test_apply_and_diff_leave_listed_findings_alone(project: Path, graphfix: Run) -> None:
    text = (project / "a.py").read_text()
    (project / "a.py").write_text(text.replace("    total += loss", "    total += loss\n    print(loss.data[0])"))
    patch = graphfix("diff", "--baseline", "base.json").stdout.decode()
    assert [line for line in patch.splitlines() if line.startswith("+ ")] == ["+    print(loss.item())"]
    done = graphfix("apply", "--baseline", "base.json")
    *_, summary, undo = done.stdout.decode().splitlines()
    assert (done.returncode, summary) == (0, "Fixed 1 finding in 1 file; checked 2 files, 3 in the baseline")
    assert undo.startswith("No undo for 1 file outside of git")
    assert "total += loss\n" in (project / "a.py").read_text()
    assert graphfix("diff", "--baseline", "base.json").stdout == b""


def test_stale_entries_are_counted_and_taken_out(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (project / "a.py").unlink()
    (project / "sub/b.py").write_text(loops.legacy)
    done = graphfix("check", "--baseline", "base.json")
    assert done.returncode == 0
    assert done.stderr == b"base.json: 2 entries no longer found; update the file with check --write-baseline base.json\n"
    graphfix("check", "--write-baseline", "base.json", "-q")
    assert list(json.loads((project / "base.json").read_bytes())["files"]) == ["sub/b.py"]
    assert graphfix("check", "--baseline", "base.json").stderr == b""


def test_codes_that_are_not_selected_are_not_stale(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "--baseline", "base.json", "--select", "GF9")
    assert (done.returncode, done.stderr) == (0, b"")


def test_files_that_a_run_does_not_see_keep_their_entries(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    before = (project / "base.json").read_bytes()
    assert graphfix("check", "--write-baseline", "base.json", "sub").returncode == 0
    assert (project / "base.json").read_bytes() == before
    (project / "sub/b.py").write_text("def backward(:\n")
    assert graphfix("check", "--write-baseline", "base.json", "sub").returncode == 2
    assert (project / "base.json").read_bytes() == before


def test_the_setting_is_relative_to_its_file(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("baseline = 'base.json'\n")
    assert graphfix("check").returncode == 0
    assert graphfix("check", cwd=project / "sub").returncode == 0
    assert graphfix("check", "--baseline", "").returncode == 1
    assert graphfix("check", "--write-baseline", "base.json").stdout == b"Wrote 3 findings in 2 files to base.json\n"


def test_a_baseline_that_is_not_there_is_a_usage_error(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "--baseline", "none.json")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: none.json: cannot be read: no such file\n")
    (project / "base.json").write_text("{}")
    for words in (["--baseline"], ["--write-baseline"]):
        done = graphfix("check", *words, "base.json")
        assert (done.returncode, done.stderr) == (2, b"graphfix: error: base.json: not a baseline written by graphfix\n")
    assert (project / "base.json").read_text() == "{}"
    done = graphfix("check", "--write-baseline", "no/base.json")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: no/base.json: not written: no such folder\n")


def test_many_files_take_the_pool_and_give_the_same(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    for number in range(40):
        (project / f"n{number}.py").write_text(loops.total)
    graphfix("check", "--write-baseline", "one.json", "--jobs", "1")
    graphfix("check", "--write-baseline", "two.json", "--jobs", "2")
    assert (project / "one.json").read_bytes() == (project / "two.json").read_bytes()
    assert graphfix("check", "--baseline", "one.json", "--jobs", "2").returncode == 0


def test_unused_suppressions_are_named(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    text = loops.total.replace("+= loss", "+= loss  # graphfix: ignore[GF101, GF202] why").replace(
        "loss.backward()", "loss.backward()  # graphfix: ignore"
    )
    (tmp_path / "é.py").write_text(text + "print(1)  # noqa: E501, GF301\n", encoding="utf-8")
    told = "é.py:11: unused suppression of all rules\n"
    told += "é.py:13: unused suppression of GF202\né.py:15: unused suppression of GF301\n"
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = graphfix("check", "-q", env=environment)
    assert (done.returncode, done.stderr.decode()) == (0, told)
    # what is not selected is silenced all the same
    assert graphfix("check", "-q", "--select", "GF9", env=environment).stderr.decode() == told
    assert graphfix("check", "-q", "--report-unused-suppressions", env=environment).returncode == 1
    (tmp_path / "graphfix.toml").write_text("report-unused-suppressions = true\n")
    assert graphfix("check", "-q", env=environment).returncode == 1
    assert graphfix("check", "-q", "--no-report-unused-suppressions", env=environment).returncode == 0


def test_of_many_unused_suppressions_ten_are_named(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "x.py").write_text("import torch\n" + "print(1)  # graphfix: ignore[GF1011]\n" * 2000)
    (tmp_path / "y.py").write_text(f"import torch\nprint(1)  # graphfix: ignore[GF{'1' * 100_000}]\n")
    done = graphfix("check", "-q", "--report-unused-suppressions")
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert len(told) == 11 and told[-1] == "1991 more unused suppressions"
    assert told[0] == "x.py:2: unused suppression of GF1011: unknown rule code 'GF1011', did you mean GF101?"
    (tmp_path / "x.py").unlink()
    (long,) = graphfix("check", "-q").stderr.decode().splitlines()
    assert long.startswith("y.py:2: unused suppression of ") and len(long) < 200
