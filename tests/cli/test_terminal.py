"""What a terminal shows, at its width; a pipe gets what it always got."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from .terminals import on_terminal

Run = Callable[..., subprocess.CompletedProcess[bytes]]
EXAMPLE = (Path(__file__).parents[2] / "docs/example/train.py").read_text()
ESCAPES = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;]*[A-Za-z]")
# dim, grey, and backgrounds
LOST = re.compile(r"\x1b\[(?:[0-9]+;)*(?:2|90|4[0-9]|10[0-7])(?:;[0-9]+)*m")


def shown(raw: bytes) -> list[str]:
    return ESCAPES.sub("", raw.decode()).replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_end_between_words(tmp_path: Path, command: str, graphfix: Run, columns: int) -> None:
    (tmp_path / "train.py").write_text(EXAMPLE)
    raw = on_terminal([command, "check", "-j1", "train.py"], tmp_path, columns, errors=False)
    lines = shown(raw)
    assert max(map(len, lines)) <= columns
    assert not LOST.search(raw.decode())
    # nothing but line breaks and spaces is different in a pipe, where no line is broken
    piped = graphfix("check", "train.py").stdout.decode()
    assert "Next: graphfix diff train.py, graphfix apply train.py, graphfix rule GF201\n" in piped
    assert sorted(re.sub(r"[\s|]", "", " ".join(lines))) == sorted(re.sub(r"[\s|]", "", piped))
    if columns == 60:
        assert "error[GF201] carried-state: `h` brings the graph of the" in lines
        assert "  previous iteration into this one" in lines


def test_a_machine_s_lines_are_whole_on_a_terminal(tmp_path: Path, command: str, graphfix: Run) -> None:
    (tmp_path / "train.py").write_text(EXAMPLE)
    words = ["check", "-j1", "--output-format", "concise", "train.py"]
    lines = shown(on_terminal([command, *words], tmp_path, 60, errors=False))
    assert lines[:2] == graphfix(*words).stdout.decode().splitlines()[:2]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("a b.py", "'a b.py'"),
        ("it's.py", "'it'\"'\"'s.py'"),
        ("-x.py", "./-x.py"),
        ("a\nb\x1b[1m.py", "$'a\\x0ab\\x1b[1m.py'"),
    ],
)
def test_next_names_what_a_shell_finds(tmp_path: Path, graphfix: Run, loops: SimpleNamespace, name: str, typed: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / name).write_text(loops.total)
    done = graphfix("check", "--", name)
    (line,) = [line for line in done.stdout.decode().splitlines() if line.startswith("Next: ")]
    assert line.startswith(f"Next: graphfix diff {typed}, graphfix apply {typed}, ")
    found = subprocess.run(["bash", "-c", f"ls -d -- {typed}"], cwd=tmp_path, capture_output=True)
    assert found.returncode == 0, found.stderr
    # also from another folder
    line = graphfix("check", "..", cwd=tmp_path / "sub").stdout.decode().splitlines()[-1]
    assert line.startswith("Next: graphfix diff .., graphfix apply ..")


def test_next_of_many_files_begins_with_one_that_is_there(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    names = [f"{'long' * 8}_{number}.py" for number in range(4)]
    for name in names:
        (tmp_path / name).write_text(loops.clean if name == names[0] else loops.total)
    line = graphfix("check", *names).stdout.decode().splitlines()[-1]
    assert line.startswith(f"Next: graphfix diff {names[1]}, graphfix apply {names[1]}, ")


def test_a_rule_is_rendered_on_a_terminal_and_markdown_in_a_pipe(tmp_path: Path, command: str, graphfix: Run) -> None:
    page = graphfix("rule", "GF101").stdout.decode()
    assert page.startswith("# accumulated-graph (GF101)\n") and "```python" in page
    raw = on_terminal([command, "rule", "GF101", "--no-pager"], tmp_path, 60)
    lines = shown(raw)
    assert lines[0].strip() == "accumulated-graph (GF101)"
    assert "```" not in "\n".join(lines) and max(map(len, lines)) <= 60
    assert b"\x1b[" in raw and not LOST.search(raw.decode())
    assert b"\x1b[" not in on_terminal([command, "rule", "GF101", "--no-pager"], tmp_path, 60, NO_COLOR="1")


@pytest.mark.parametrize(("rows", "words", "paged"), [(24, [], True), (500, [], False), (24, ["--no-pager"], False)])
@pytest.mark.parametrize("variable", ["PAGER", "GRAPHFIX_PAGER"])
def test_a_page_that_is_longer_than_the_screen_is_paged(
    tmp_path: Path, command: str, rows: int, words: list[str], paged: bool, variable: str
) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)
    others = {"PAGER": "false", "GRAPHFIX_PAGER": ""} | {variable: str(pager)}
    lines = shown(on_terminal([command, "rule", "GF101", *words], tmp_path, 80, rows, **others))
    assert (lines[0] == "PAGED") is paged
    assert any("accumulated-graph (GF101)" in line for line in lines[:2])


def test_how_wide_a_terminal_is_breaks_no_line_elsewhere(tmp_path: Path, command: str, graphfix: Run) -> None:
    (tmp_path / "train.py").write_text(EXAMPLE)
    plain = graphfix("check", "train.py").stdout
    assert graphfix("check", "train.py", env={**os.environ, "COLUMNS": "50"}).stdout == plain
    on_terminal([command, "check", "train.py", "-o", "kept.txt"], tmp_path, 50)
    assert (tmp_path / "kept.txt").read_bytes() in plain
    raw = on_terminal([command, "check", "train.py"], tmp_path, COLUMNS="50", errors=False)
    assert max(map(len, shown(raw))) <= 70 < max(map(len, plain.decode().splitlines()))
