from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from .terminals import on_terminal

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "a.py").write_text(loops.total)
    (tmp_path / "b.py").write_text(loops.legacy)
    (tmp_path / "c.py").write_text(loops.clean)
    return tmp_path


def test_check_tells_stories_and_sums_up(project: Path, graphfix: Run) -> None:
    done = graphfix("check")
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("error[GF101] accumulated-graph: ")
    assert lines[1].startswith("  --> a.py:13:")
    assert "13 |     total += loss" in lines
    assert "13 +     total += loss.item()" in lines
    assert "   = symptom: memory that grows with every iteration" in lines
    assert lines[-2] == "Found 2 findings in 2 files (2 fixable with apply); checked 3 files"
    assert lines[-1] == "Next: graphfix diff ., graphfix apply ., graphfix rule GF101"
    assert done.stderr == b""


def test_quiet_leaves_the_summary_out(project: Path, graphfix: Run) -> None:
    assert b"checked" not in graphfix("check", "-q").stdout
    assert graphfix("check", "-q", "c.py").stdout == b""


def test_select_and_ignore_choose_rules(project: Path, graphfix: Run) -> None:
    def codes(*words: str) -> set[str]:
        lines = graphfix("check", "--output-format", "concise", "-q", *words).stdout.decode().splitlines()
        return {line.split()[1] for line in lines}

    assert codes() == {"GF101", "GF901"}
    assert codes("--select", "GF1,GF2") == {"GF101"}
    assert codes("--ignore", "gf101") == {"GF901"}
    assert codes("--select", "GF101", "--select", "GF901", "--ignore", "GF9") == {"GF101", "GF901"}


def test_concise_lines_name_place_code_and_fix(project: Path, graphfix: Run) -> None:
    first, second, summary = graphfix("check", "--output-format", "concise").stdout.decode().splitlines()
    assert first.startswith("a.py:13:") and " GF101 [*] " in first
    assert second.startswith("b.py:13:") and " GF901 [*] " in second
    assert summary.startswith("Found 2 findings")


def test_json_is_an_array_and_nothing_else(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    found = json.loads(graphfix("check", "--output-format", "json").stdout)
    assert [(one["code"], one["filename"], one["location"]["row"]) for one in found] == [
        ("GF101", "a.py", 13),
        ("GF901", "b.py", 13),
    ]
    for one, before, after in zip(found, (loops.total, loops.legacy), (loops.total_fixed, loops.legacy_fixed), strict=True):
        assert edited(before, one["fix"]["edits"]) == after
    assert json.loads(graphfix("check", "--output-format", "json", "c.py").stdout) == []


def edited(text: str, edits: list[dict]) -> str:  # type: ignore[type-arg]
    lines = text.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(map(len, lines[: place["row"] - 1])) + place["column"] - 1

    for edit in reversed(edits):
        text = text[: offset(edit["location"])] + edit["content"] + text[offset(edit["end_location"]) :]
    return text


def test_diff_is_what_apply_does_and_git_takes_it(project: Path, graphfix: Run) -> None:
    patch = graphfix("diff", ".")
    assert patch.stderr.decode() == "Would fix 2 findings in 2 files; checked 3 files\n"
    before = {path: path.read_bytes() for path in project.iterdir()}
    subprocess.run(["git", "apply", "-"], cwd=project, input=patch.stdout, check=True)
    by_git = {path: path.read_bytes() for path in project.iterdir()}
    subprocess.run(["git", "apply", "-R", "-"], cwd=project, input=patch.stdout, check=True)
    assert {path: path.read_bytes() for path in project.iterdir()} == before
    assert graphfix("apply", ".").returncode == 0
    assert {path: path.read_bytes() for path in project.iterdir()} == by_git
    assert graphfix("diff", ".").stdout == b""


def test_diff_from_elsewhere_names_files_below_the_given_folder(project: Path, graphfix: Run, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    patch = graphfix("diff", str(project / "a.py"), cwd=elsewhere).stdout
    assert patch.startswith(b"--- a/a.py\n+++ b/a.py\n")


def test_apply_says_what_it_fixed_and_is_at_rest(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    done = graphfix("apply")
    assert done.stdout.decode().splitlines() == [
        "fixed a.py (GF101)",
        "fixed b.py (GF901)",
        "changed 2 lines in 2 files",
        "Fixed 2 findings in 2 files; checked 3 files",
        "No undo for 2 files outside of git; next time, --output FILE keeps the patch",
    ]
    assert (project / "a.py").read_text() == loops.total_fixed
    assert (project / "b.py").read_text() == loops.legacy_fixed
    assert graphfix("apply").stdout.decode() == "Nothing to fix; checked 3 files\n"


def test_dry_run_writes_nothing(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    done = graphfix("apply", "--dry-run")
    assert done.stderr.decode() == "Would fix 2 findings in 2 files; checked 3 files\n"
    assert done.stdout == graphfix("diff").stdout
    assert (project / "a.py").read_text() == loops.total


def test_a_filter_from_stdin_to_stdout(graphfix: Run, loops: SimpleNamespace) -> None:
    code = loops.total.replace("\n", "\r\n").encode()
    done = graphfix("apply", "-", "--stdin-filename", "sub/train.py", input=code)
    assert done.stdout == loops.total_fixed.replace("\n", "\r\n").encode()
    assert (done.returncode, done.stderr.decode().splitlines()[0]) == (0, "fixed sub/train.py (GF101)")
    assert graphfix("check", "-", input=code).stdout.decode().splitlines()[1].startswith("  --> <stdin>:13:")
    patch = graphfix("diff", "-", "--stdin-filename", "train.py", input=code).stdout
    assert patch.startswith(b"--- a/train.py\n")
    broken = graphfix("apply", "-", input=b"def backward(:\n")
    assert (broken.returncode, broken.stdout) == (2, b"")


def test_a_clean_filter_passes_bytes_through(graphfix: Run) -> None:
    code = b"# coding: latin-1\r\n# \xe9\rx = 1"
    assert graphfix("apply", "-", input=code).stdout == code


def test_rules_are_listed_and_explained(graphfix: Run) -> None:
    assert b"GF101  accumulated-graph" in graphfix("rule").stdout
    page = graphfix("rule", "gf101").stdout.decode()
    assert page.startswith("#") and "GF101" in page


def test_a_reader_that_stops_early_gets_no_traceback(project: Path, command: str) -> None:
    done = subprocess.run(f"{command} check . | head -n 1", shell=True, cwd=project, capture_output=True)
    assert b"error[GF101]" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_any_locale_can_show_any_name(tmp_path: Path, installed: Run, loops: SimpleNamespace, locale: dict[str, str]) -> None:
    (tmp_path / "é日.py").write_text(loops.total.replace("total", "zähler"))
    done = installed("check", ".", env=os.environ | locale)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["check"], ["diff"]])
def test_colour_is_for_terminals(project: Path, command: str, words: list[str]) -> None:
    assert b"\x1b[" not in subprocess.run([command, *words], cwd=project, capture_output=True).stdout
    # quiet, for on a busy machine there may be a progress bar
    words = [*words, "-q"]
    shown = on_terminal([command, *words], project)
    assert b"\x1b[" in shown
    assert b"\x1b[" not in on_terminal([command, *words], project, NO_COLOR="1")


# what no command loads that finds nothing to tell, from a folder without settings
HEAVY = {
    "libcst", "unidiff", "pathspec", "torch", "rich", "asyncio", "multiprocessing", "concurrent.futures", "logging", "ssl", "tempfile",
    "zipfile", "pygls", "lsprotocol", "watchfiles", "graphfix.rewrite", "graphfix.obligations.proof", "graphfix.analysis.flow.flow",
    "graphfix.source.notebook", "graphfix.source.old_python", "graphfix.report.text",
}  # fmt: skip
CACHE = {"sqlite3", "hashlib", "graphfix.run.cache", "graphfix.run.plain_data"}
ANALYSIS = {"json", "graphfix.analysis", "graphfix.codemods", "graphfix.interpreter.interpreter", "graphfix.effects.table"}


def loaded(folder: Path, *words: str) -> set[str]:
    """The modules of a process of its own, once the command has ended."""
    code = (
        f"import sys; sys.argv = {['graphfix', *words]!r}; from graphfix.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_is_told_without_anything_heavy(project: Path) -> None:
    assert not loaded(project, "--version") & {*HEAVY, *CACHE, *ANALYSIS, "typer", "click", "ast", "inspect", "subprocess"}


def test_help_loads_nothing_that_examines(project: Path) -> None:
    assert not loaded(project, "--help") & {*HEAVY, *CACHE, *ANALYSIS, "graphfix.run"}


def test_a_file_without_torch_loads_no_analysis(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("total = 1 + 2\nprint(total)\n")
    assert not loaded(tmp_path, "check", "--no-cache", "plain.py") & {*HEAVY, *CACHE, *ANALYSIS}


def test_a_file_without_findings_loads_nothing_that_repairs(project: Path) -> None:
    names = loaded(project, "check", "--no-cache", "c.py")
    assert names >= ANALYSIS
    assert not names & {*HEAVY, *CACHE}


# what a fix has made of a file is known, and what that brings to light is told by going through it
@pytest.mark.parametrize(("name", "needed"), [("a.py", {"graphfix.report.text", "graphfix.rewrite"}), ("c.py", set())])
def test_what_is_kept_is_told_without_analysis(project: Path, name: str, needed: set[str]) -> None:
    assert loaded(project, "check", name) >= ANALYSIS | CACHE
    again = loaded(project, "check", name)
    assert again >= CACHE
    assert not again & {*HEAVY - needed, *ANALYSIS} - {"json"}  # in which it is kept
