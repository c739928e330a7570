"""`graphfix check --add-noqa`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.mark.parametrize(
    "encoded",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: ("# coding: latin-1\n# \u00fc\n" + text.rstrip("\n")).encode("latin-1"),
        lambda text: text.replace("\n", "\r").replace("    ", "\t").encode(),
    ],
    ids=["plain", "mark and crlf", "latin-1", "cr and tabs"],
)
def test_comments_are_all_that_is_added(
    tmp_path: Path, graphfix: Run, loops: SimpleNamespace, encoded: Callable[[str], bytes]
) -> None:
    file = tmp_path / "x.py"
    before = encoded(loops.both)
    file.write_bytes(before)
    done = graphfix("check", "--add-noqa", "x.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Suppressed 2 findings in 1 file\n")
    after = file.read_bytes()
    added = {b"print(loss.data[0])": b"GF901", b"total += loss": b"GF101"}
    for code, rule in added.items():
        before = before.replace(code, code + b"  # graphfix: ignore[" + rule + b"]")
    assert after == before
    assert graphfix("check", "x.py").stdout == b"No findings; checked 1 file\n"
    assert graphfix("check", "--add-noqa", "x.py").stdout == b"Nothing to suppress\n"
    assert file.read_bytes() == after


def test_a_notebook_gets_them_in_its_cells(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    file = tmp_path / "n.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [{"x": 1}], "execution_count": 3}
    cells = [{**cell, "source": loops.total.splitlines(keepends=True)}, {**cell, "source": "!ls\n"}]
    file.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    before = file.read_text()
    assert graphfix("check", "--add-noqa", "n.ipynb").returncode == 0
    assert file.read_text() == before.replace("total += loss\\n", "total += loss  # graphfix: ignore[GF101]\\n")
    assert graphfix("check", "n.ipynb").returncode == 0


def test_only_what_is_selected_is_silenced(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "x.py").write_text(loops.both)
    assert graphfix("check", "--add-noqa", "--select", "GF901", "x.py").returncode == 0
    assert (tmp_path / "x.py").read_text().count("# graphfix: ignore") == 1
    assert b"GF101" in graphfix("check", "x.py").stdout


def test_what_no_comment_can_silence_is_named(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    text = loops.total.replace("    total += loss\n", "    if step: \\\n        total += loss; \\\n        y = 1\n")
    (tmp_path / "x.py").write_text(text)
    done = graphfix("check", "--add-noqa", "x.py")
    assert (done.returncode, done.stdout) == (1, b"Nothing to suppress\n")
    assert done.stderr == b"x.py:14:9: GF101 not suppressed: no comment can stand on its lines\n"
    assert (tmp_path / "x.py").read_text() == text


def test_files_that_apply_refuses_are_refused(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "x.py").write_text(loops.total)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    done = graphfix("check", "--add-noqa")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"git could not restore these files" in done.stderr and b"x.py: " in done.stderr
    assert graphfix("check", "--add-noqa", "--allow-dirty").returncode == 0
    assert "ignore[GF101]" in (tmp_path / "x.py").read_text()
    os.link(tmp_path / "x.py", tmp_path / "y.txt")
    (tmp_path / "x.py").write_text(loops.total)
    done = graphfix("check", "--add-noqa", "--allow-dirty")
    assert done.returncode == 2 and b"x.py: not written: " in done.stderr
    assert (tmp_path / "x.py").read_text() == loops.total


@pytest.mark.parametrize("words", [["--fix"], ["--diff"], ["--watch"], ["--write-baseline", "b"], ["-o", "x"], ["-"]])
def test_what_has_no_meaning_with_it_is_refused(tmp_path: Path, graphfix: Run, words: list[str]) -> None:
    done = graphfix("check", "--add-noqa", *words)
    assert done.returncode == 2
    assert b"cannot be given together with" in done.stderr
