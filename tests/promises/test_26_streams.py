"""Promise 26: a stream that fails or is closed is said in one line and is exit code 2, for 1 means findings and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.deep

Run = Callable[..., subprocess.CompletedProcess[bytes]]
FORMS = ["text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"]
SPEAKING = [
    "check clean.py",
    *(f"check --output-format {form} total.py" for form in FORMS),
    "check --statistics total.py",
    "check - < total.py",
    "diff total.py",
    "diff - < total.py",
    "apply --dry-run total.py",
    "apply total.py",
    "apply - < total.py",
    "config .",
    "config --schema",
    "rule",
    "rule GF101",
    "verify --select GF904 clean.py",
    "--version",
    "--help",
    "check --help",
]


@pytest.fixture
def shell(tmp_path: Path, command: str, loops: SimpleNamespace) -> Callable[[str], subprocess.CompletedProcess[bytes]]:
    """Runs a line of the shell beside two scripts; `graphfix` in it is the installed command."""
    (tmp_path / "clean.py").write_text(loops.clean)
    (tmp_path / "total.py").write_text(loops.total)

    def run(line: str) -> subprocess.CompletedProcess[bytes]:
        line = line.replace("graphfix", command)
        return subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

    return run


@pytest.mark.parametrize("words", SPEAKING)
@pytest.mark.parametrize(("closing", "why"), [("> /dev/full", "no space left on device"), (">&-", "it is closed")])
def test_output_that_is_lost_is_2(shell: Run, words: str, closing: str, why: str) -> None:
    done = shell(f"graphfix {words} {closing}")
    assert done.returncode == 2, done.stderr
    assert done.stderr.decode() == f"graphfix: error: cannot write to standard output: {why}\n"


def test_a_pull_request_text_that_is_lost_is_2(shell: Run) -> None:
    identity = "git config user.name t; git config user.email t@e.org"
    shell(f"git init -q; {identity}; git add .; git commit -qm first")
    done = shell("graphfix pr > /dev/full")
    assert done.returncode == 2
    assert done.stderr.endswith(b"\ngraphfix: error: cannot write to standard output: no space left on device\n")


def test_nothing_to_say_needs_no_output(shell: Run) -> None:
    assert shell("graphfix check --quiet clean.py >&-").returncode == 0
    assert shell("graphfix apply --quiet total.py > /dev/full").returncode == 0


def test_input_that_cannot_be_read_is_2(shell: Run) -> None:
    for line in ("graphfix check - <&-", "graphfix apply - <&-", "graphfix diff - 0> writable"):
        done = shell(line)
        assert done.returncode == 2
        assert done.stderr == b"graphfix: error: cannot read standard input: it is closed\n", line


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check clean.py", 0),
        ("check total.py", 1),
        ("check nowhere", 2),
        ("diff --quiet total.py", 1),
        ("diff total.py", 2),  # its summary is lost
        ("rule GF101", 0),
        ("no-such-command", 2),
    ],
)
@pytest.mark.parametrize("closing", ["2>&-", "2> /dev/full"])
def test_the_code_says_what_standard_error_cannot(shell: Run, words: str, code: int, closing: str) -> None:
    assert shell(f"graphfix {words} {closing}").returncode == code


@pytest.mark.parametrize(
    ("words", "code"),
    [("check total.py", 1), ("check clean.py", 0), ("diff -q total.py", 1), ("rule", 0), ("--help", 0), ("--version", 0)],
)
def test_a_reader_that_is_gone_changes_no_code(shell: Run, words: str, code: int) -> None:
    done = shell(f"{sys.executable} -c 'import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
                 f"os.execvp(sys.argv[1], sys.argv[1:])' graphfix {words}")  # fmt: skip
    assert (done.returncode, done.stderr) == (code, b"")


def test_no_file_gets_the_number_of_a_closed_stream(shell: Run, tmp_path: Path, loops: SimpleNamespace) -> None:
    shell("graphfix apply total.py <&- >&- 2>&-")
    assert (tmp_path / "total.py").read_text() == loops.total_fixed
    (tmp_path / "total.py").write_text(loops.total)
    assert shell("graphfix check --output-format json --output-file told.json -q total.py <&- >&- 2>&-").returncode == 1
    assert shell("graphfix check --output-format json total.py").stdout == (tmp_path / "told.json").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["clean.py", "told.json", "total.py"]


@pytest.mark.parametrize("words", ["check --jobs 4 many", "diff --jobs 4 many", "apply --jobs 4 many", "verify total.py"])
@pytest.mark.parametrize("number", [7, 10])
def test_too_few_file_descriptors_are_2(shell: Run, tmp_path: Path, loops: SimpleNamespace, words: str, number: int) -> None:
    (tmp_path / "many").mkdir()
    for count in range(40):
        (tmp_path / f"many/f{count}.py").write_text(loops.total)
    done = shell(f"ulimit -n {number}; exec graphfix {words}")
    assert done.returncode == 2
    assert done.stderr == b"graphfix: error: too many open files\n"


def test_one_file_needs_few_file_descriptors(shell: Run) -> None:
    assert shell("ulimit -n 7; exec graphfix check total.py").returncode == 1


BREAKS = """
import sys
import graphfix.cli.check
def run(*words):
    raise {error}
graphfix.cli.check.run = run
sys.argv = ["graphfix", "check", *sys.argv[1:]]
from graphfix.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("KeyError('odd')", "internal error: KeyError: 'odd' (<string>:5)"),
        ("RecursionError('deep\\x1b[31m')", "internal error: RecursionError: deep\\x1b[31m (<string>:5)"),
        ("OSError(5, 'Input/output error', 'x\\ny')", "error: input/output error: x\\ny"),
        ("MemoryError", "error: out of memory"),
        ("EOFError", "internal error: EOFError (<string>:5)"),
        ("SystemExit('why')", None),
    ],
)
def test_a_fault_of_the_command_line_is_2(tmp_path: Path, error: str, said: str | None) -> None:
    words = [sys.executable, "-c", BREAKS.format(error=error), "."]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.lstrip("\n") == (f"graphfix: {said}\n" if said else "")  # typer starts a line at an end of input
    assert "Traceback" not in done.stderr
    told = subprocess.run([*words, "--verbose"], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 2
    assert ("Traceback" in told.stderr) is bool(said)


@pytest.mark.parametrize(
    "words",
    [
        ["rule"],
        ["rule", "GF101"],
        ["check", "--output-format", "sarif", "total.py"],
        ["--help"],
        ["check", "--help"],
        ["verify", "-h"],
    ],
)
def test_without_docstrings_everything_is_said(shell: Run, tmp_path: Path, words: list[str]) -> None:
    shown = [
        subprocess.run([sys.executable, *flags, "-m", "graphfix", *words], cwd=tmp_path, capture_output=True)
        for flags in ([], ["-OO"])
    ]
    assert shown[0].stdout == shown[1].stdout != b""
    assert shown[0].returncode == shown[1].returncode
    assert shown[1].stderr == b""
