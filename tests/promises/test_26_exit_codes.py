"""Promise 26: the exit code tells what came of the run, for every kind of outcome and command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
CHECK, DIFF, DRY, APPLY = ["check"], ["diff"], ["apply", "--dry-run"], ["apply"]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("empty folder", (0, 0, 0, 0)),
        ("clean", (0, 0, 0, 0)),
        ("total", (1, 1, 1, 0)),
        ("legacy", (1, 1, 1, 0)),
        ("silenced", (0, 0, 0, 0)),
        ("skip-file", (0, 0, 0, 0)),
        ("broken", (2, 2, 2, 2)),
        ("binary", (2, 2, 2, 2)),
        ("too deep", (2, 2, 2, 2)),
        ("total and broken", (2, 2, 2, 2)),
        pytest.param("read-only", (1, 1, 1, 2), marks=pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")),
        ("hard link", (1, 1, 1, 2)),
    ],
)
def test_exit_code_by_outcome(tmp_path: Path, loops: SimpleNamespace, graphfix: Run, kind: str, codes: tuple[int, ...]) -> None:
    file = tmp_path / "x.py"
    texts = {
        "silenced": loops.total.replace("+= loss", "+= loss  # noqa: GF101"),
        "skip-file": "# graphfix: skip-file\n" + loops.total,
        "broken": "loss.backward(:\n",
        "binary": "\0backward",
        "too deep": "backward" + "(" * 1000,
        "clean": loops.clean,
        "legacy": loops.legacy,
    }
    if kind != "empty folder":
        file.write_text(texts.get(kind, loops.total))
    if kind == "total and broken":
        (tmp_path / "y.py").write_text("def backward(:\n")
    if kind == "read-only":
        file.chmod(0o444)
    if kind == "hard link":
        (tmp_path / "other").hardlink_to(file)
    for words, code in zip((CHECK, DIFF, DRY, APPLY), codes, strict=True):
        assert graphfix(*words, ".").returncode == code, words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "nowhere"], "no such file or folder: nowhere"),
        (["check", ""], "a path is empty"),
        (["apply", ""], "a path is empty"),
        (["apply", "x.py", ""], "a path is empty"),
        (["check", "--select", "GF1x", "."], "unknown rule code 'GF1x', did you mean GF1"),
        (["check", "--ignore", "E501", "."], "unknown rule code 'E501'"),
        (["rule", "GF999"], "unknown rule code 'GF999'"),
        (["check", "--jobs", "-1"], "--jobs"),
        (["check", "--output-format", "xml"], "--output-format"),
        (["check", "--no-such-option"], "--no-such-option"),
        (["check", "-", "x.py"], "- cannot be given together with other paths"),
        (["no-such-command"], "no-such-command"),
        (["check", "\x1b[31m"], "no such file or folder: \\x1b[31m"),
    ],
)
def test_misuse_is_2_with_a_message(graphfix: Run, words: list[str], message: str) -> None:
    done = graphfix(*words)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr


BREAKS = """
import graphfix.run.engine
def analyse(path, text, *how):
    raise KeyError("odd")
graphfix.run.engine.analyse = analyse
from graphfix.cli import main
import sys
sys.exit(main())
"""


BREAKS_A_RULE = """
import dataclasses
import graphfix.codemods
def find(evidence):
    raise KeyError("odd")
first, *others = graphfix.codemods.RULES
graphfix.codemods.RULES = (dataclasses.replace(first, find=find), *others)
from graphfix.cli import main
import sys
sys.exit(main())
"""


@pytest.mark.parametrize("words", [CHECK, DIFF, DRY, APPLY])
def test_a_fault_of_a_rule_is_2_and_the_others_go_on(
    tmp_path: Path, loops: SimpleNamespace, command: str, words: list[str]
) -> None:
    (tmp_path / "x.py").write_text(loops.both)
    python = Path(command).with_name("python")
    done = subprocess.run([python, "-c", BREAKS_A_RULE, *words, "x.py"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert b"x.py: internal error: GF101: KeyError: 'odd'" in done.stderr
    assert b"Traceback" not in done.stderr
    if words == APPLY:
        assert ".item()" in (tmp_path / "x.py").read_text()
    elif words == CHECK:
        assert b"GF901" in done.stdout


@pytest.mark.parametrize("words", [CHECK, DIFF, DRY, APPLY])
def test_a_fault_of_ours_is_2_and_names_the_file(tmp_path: Path, loops: SimpleNamespace, command: str, words: list[str]) -> None:
    (tmp_path / "x.py").write_text(loops.total)
    done = subprocess.run([sys.executable, "-c", BREAKS, *words, "x.py"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("x.py: internal error: KeyError: 'odd'")
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "x.py").read_text() == loops.total


ENDS_EARLY = """
import dataclasses
import graphfix.run.engine
real = graphfix.run.engine.analyse
def analyse(*words):
    return dataclasses.replace(real(*words), unfinished="the analysis budget ran out")
graphfix.run.engine.analyse = analyse
from graphfix.cli import main
import sys
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("words", "code"), [(["check"], 0), (["check", "--strict", "--exit-zero"], 2), (["diff", "--strict"], 2)]
)
def test_a_file_not_analysed_to_the_end_is_2_only_where_that_is_asked_for(
    tmp_path: Path, loops: SimpleNamespace, words: list[str], code: int
) -> None:
    (tmp_path / "x.py").write_text(loops.clean)
    done = subprocess.run([sys.executable, "-c", ENDS_EARLY, *words, "--no-cache", "x.py"], cwd=tmp_path, capture_output=True)
    assert done.returncode == code
    assert b"x.py: not analysed to the end: the analysis budget ran out" in done.stderr
    assert b"checked 1 file, 1 not to the end" in done.stdout + done.stderr


def test_version_help_and_rules_are_0(graphfix: Run) -> None:
    assert graphfix("--version").stdout.startswith(b"graphfix ")
    for words in (["--help"], ["check", "--help"], ["rule"], ["rule", "gf101"]):
        done = graphfix(*words)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout
