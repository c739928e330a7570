"""`python -m graphfix.ir` prints the code objects of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.ir.__main__ import main


def test_the_code_objects_of_a_file_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text("def f(a): return a\n")
    assert main([str(tmp_path / "program.py")]) == 0
    printed = capsys.readouterr().out
    assert "code <module>()" in printed and "code f(a)" in printed


def test_what_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert main([str(tmp_path / "broken.py")]) == 2
    assert main([str(tmp_path / "missing.py")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 2
