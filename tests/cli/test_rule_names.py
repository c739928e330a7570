"""Rules by their names, and all of them by one word, wherever codes are taken."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """A GF101, a GF901, and a GF902 that is optional."""
    (tmp_path / "x.py").write_text(loops.both.replace("print(total)", "print(total, loss.data)"))
    return tmp_path


@pytest.fixture
def codes(project: Path, graphfix: Run) -> Callable[..., list[str]]:
    def run(*words: str) -> list[str]:
        done = graphfix("check", "--output-format", "json", *words)
        assert done.stderr == b"", done.stderr
        return sorted({one["code"] for one in json.loads(done.stdout)})

    return run


def test_options_take_names(codes: Callable[..., list[str]]) -> None:
    assert codes() == ["GF101", "GF901"]
    assert codes("--select", "accumulated-graph") == ["GF101"]
    assert codes("--select", "Accumulated-Graph,GF9") == ["GF101", "GF901", "GF902"]
    assert codes("--ignore", "accumulated-graph") == ["GF901"]
    assert codes("--extend-select", "legacy-data") == ["GF101", "GF901", "GF902"]


def test_all_is_every_rule_with_its_optional_findings(codes: Callable[..., list[str]]) -> None:
    assert codes("--select", "ALL") == codes("--select", "all") == codes("--extend-select", "ALL") == ["GF101", "GF901", "GF902"]
    assert codes("--select", "ALL", "--ignore", "GF9") == ["GF101"]
    assert codes("--select", "legacy-scalar", "--ignore", "ALL") == ["GF901"]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("select = ['accumulated-graph']", ["GF101"]),
        ("select = ['ALL']", ["GF101", "GF901", "GF902"]),
        ("ignore = ['legacy-scalar']", ["GF101"]),
        ("extend-select = ['Legacy-Data']", ["GF101", "GF901", "GF902"]),
        ("[per-file-ignores]\n'x.py' = ['accumulated-graph']", ["GF901"]),
        ("[per-file-ignores]\n'x.py' = ['ALL']", []),
        ("[per-file-ignores]\n'y.py' = ['ALL']", ["GF101", "GF901"]),
    ],
)
def test_settings_take_names(project: Path, codes: Callable[..., list[str]], settings: str, found: list[str]) -> None:
    (project / "graphfix.toml").write_text(settings + "\n")
    assert codes() == found


def test_what_the_command_line_selects_is_no_longer_ignored_by_name(project: Path, codes: Callable[..., list[str]]) -> None:
    (project / "graphfix.toml").write_text("ignore = ['accumulated-graph', 'legacy-scalar']\n")
    assert codes() == []
    assert codes("--extend-select", "GF1") == codes("--extend-select", "accumulated-graph") == ["GF101"]


@pytest.mark.parametrize(
    ("comment", "found", "unused"),
    [
        ("graphfix: ignore[accumulated-graph]", ["GF901"], []),
        ("graphfix: ignore[Accumulated-Graph, GF201] as it should", ["GF901"], ["x.py:14: unused suppression of GF201"]),
        ("graphfix: ignore[ALL]", ["GF901"], []),
        ("graphfix: ignore[stored-graph]", ["GF101", "GF901"], ["x.py:14: unused suppression of stored-graph"]),
    ],
)
def test_comments_take_names(project: Path, graphfix: Run, comment: str, found: list[str], unused: list[str]) -> None:
    text = (project / "x.py").read_text()
    (project / "x.py").write_text(text.replace("total += loss\n", f"total += loss  # {comment}\n"))
    done = graphfix("check", "--output-format", "json")
    assert sorted(one["code"] for one in json.loads(done.stdout)) == found
    assert done.stderr.decode().splitlines() == unused


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (
            "acumulated-graph",
            "unused suppression of acumulated-graph: unknown rule 'acumulated-graph', did you mean accumulated-graph?",
        ),
        ("GF3055", "unused suppression of GF3055: unknown rule code 'GF3055', did you mean GF305?"),
        ("stored-graph", "unused suppression of stored-graph"),
        ("GF2", "unused suppression of GF2"),
    ],
)
def test_a_comment_that_names_no_rule_is_told(project: Path, graphfix: Run, listed: str, said: str) -> None:
    text = (project / "x.py").read_text()
    (project / "x.py").write_text(text.replace("total += loss\n", f"total += loss  # graphfix: ignore[{listed}]\n"))
    assert graphfix("check", "-q").stderr.decode().splitlines() == [f"x.py:14: {said}"]


def test_a_page_is_found_by_its_name(graphfix: Run) -> None:
    assert graphfix("rule", "accumulated-graph").stdout == graphfix("rule", "GF101").stdout != b""


def test_a_page_is_rendered_where_colour_is_asked_for(graphfix: Run) -> None:
    assert b"\x1b[" in graphfix("rule", "GF101", "--color", "always").stdout
    assert b"\x1b[" not in graphfix("rule", "GF101").stdout


def test_fixtures_are_chosen_by_name(graphfix: Run) -> None:
    words = ("verify", "--case", "gru_state", "--select")
    assert b"no fixture of that name" in graphfix(*words, "stored-graph").stderr
    assert b"unknown rule 'stored-graphs', did you mean stored-graph?" in graphfix(*words, "stored-graphs").stderr


def test_a_baseline_takes_names(project: Path, graphfix: Run) -> None:
    graphfix("check", "--write-baseline", "known.json")
    text = (project / "known.json").read_text()
    assert '"GF101"' in text
    (project / "known.json").write_text(text.replace('"GF101"', '"accumulated-graph"'))
    done = graphfix("check", "--baseline", "known.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 in the baseline" in done.stdout
    (project / "known.json").write_text(text.replace('"GF101"', '"accumulatedgraph-"'))
    done = graphfix("check", "--baseline", "known.json")
    said = "known.json: unknown rule 'accumulatedgraph-', did you mean accumulated-graph?"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"graphfix: error: {said}\n")


@pytest.mark.parametrize(
    "words", [["check", "--select"], ["diff", "--ignore"], ["apply", "--extend-select"], ["review", "--select"], ["rule"]]
)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("carried-stat", "unknown rule 'carried-stat', did you mean carried-state?"),
        ("retain", "unknown rule 'retain', did you mean needless-retain?"),
        ("GF1001", "unknown rule code 'GF1001', did you mean GF101?"),
        ("everything-else-there-is", "unknown rule 'everything-else-there-is'"),
    ],
)
def test_an_unknown_one_is_one_line(graphfix: Run, words: list[str], name: str, said: str) -> None:
    done = graphfix(*words, name)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"graphfix: error: {said}\n")


def test_an_unknown_name_in_settings_is_one_line(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("# ours\nselect = ['carried-states']\n")
    done = graphfix("check")
    said = "graphfix.toml:2: select: unknown rule 'carried-states', did you mean carried-state?"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"graphfix: error: {said}\n")


def test_the_listing_shows_what_was_written(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("select = ['carried-state']\n")
    assert b'select = ["carried-state"] ' in graphfix("config").stdout
