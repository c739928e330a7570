"""What people type who come from other tools is answered in one line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main

from graphfix.cli.app import COMMANDS, application
from graphfix.cli.foreign import COMMANDS as OTHER_COMMANDS
from graphfix.cli.foreign import OPTIONS as OTHER_OPTIONS
from graphfix.report.forms import FORMS

Run = Callable[..., subprocess.CompletedProcess[bytes]]
NO_FORMATTER = "there is none: graphfix formats nothing, and leaves the layout as it is"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check --exclude x .", "graphfix check has no option --exclude: it is called --extend-exclude"),
        ("check --line-length 88 .", f"graphfix check has no option --line-length: {NO_FORMATTER}"),
        ("check --line-length=88 .", f"graphfix check has no option --line-length: {NO_FORMATTER}"),
        ("check -l 88 .", f"graphfix check has no option -l: {NO_FORMATTER}"),
        ("apply --fix-only .", "graphfix apply has no option --fix-only: there is none: graphfix apply --exit-zero fixes"),
        ("check --show-fixes .", "graphfix check has no option --show-fixes: there is none: graphfix apply lists"),
        ("apply --fix", "graphfix apply has no option --fix: it is what the command does"),
        ("apply --diff", "graphfix apply has no option --diff: it is a command: graphfix diff"),
        ("diff --fix", "graphfix diff has no option --fix: it is a command: graphfix apply"),
        ("diff --dry-run", "graphfix diff has no option --dry-run: it is what the command does"),
        ("diff --allow-dirty", "graphfix diff has no option --allow-dirty: graphfix check, graphfix apply and others have it"),
        ("pr --write-baseline x", "graphfix pr has no option --write-baseline: graphfix check has it"),
        ("check --statistic", "graphfix check has no option --statistic, did you mean --statistics?"),
        ("check --qqqqqq", "graphfix check has no option --qqqqqq; graphfix check --help lists them"),
        ("check -xq", "graphfix check has no option -x; graphfix check --help lists them"),
        ("trace x.py --lr 3", "graphfix trace has no option --lr: options of your script come behind --"),
        ("verify x.py --epochs 3", "graphfix verify has no option --epochs: options of your script come behind --"),
        (
            "--config x check",
            "graphfix has no option --config in front of a command: it comes behind one, as in graphfix check --config",
        ),
        ("--force-exclude check", "graphfix has no option --force-exclude in front of a command: it comes behind one, as in"),
        ("--statistics .", "graphfix has no option --statistics in front of a command: it comes behind one, as in"),
        ("--verison", "graphfix has no option --verison in front of a command, did you mean --version?"),
        ("--qqqqqq", "graphfix has no option --qqqqqq in front of a command; graphfix --help lists them"),
        ("format .", f"graphfix has no command format: {NO_FORMATTER}"),
        ("lint .", "graphfix has no command lint: it is called graphfix check"),
        ("fix .", "graphfix has no command fix: it is called graphfix apply"),
        (".", "graphfix has no command .: for a path, type graphfix check ."),
        ("here.py", "graphfix has no command here.py: for a path, type graphfix check here.py"),
        ("-", "graphfix has no command -: for a path, type graphfix check -"),
        ("chek .", "graphfix has no command chek, did you mean check?"),
        ("qqqqqq", "graphfix has no command qqqqqq; graphfix --help lists them"),
        ("\x1b[31m", "graphfix has no command \\x1b[31m; graphfix --help lists them"),
        ("check --\x1b[31m", "graphfix check has no option --\\x1b[31m; graphfix check --help lists them"),
    ],
)
def test_it_is_one_line_and_exit_2(tmp_path: Path, graphfix: Run, words: str, said: str) -> None:
    (tmp_path / "here.py").write_text("x = 1\n")
    done = graphfix(*words.split(" "))
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"graphfix: error: {said}")
    assert line == f"graphfix: error: {said}" or len(said) < len(line) < 160


@pytest.mark.parametrize("words", [["check", "--config", "none.toml"], ["check", "--force-exclude"], ["check", "--statistics"]])
def test_what_is_there_is_not_foreign(graphfix: Run, words: list[str]) -> None:
    assert b"has no" not in graphfix(*words).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check --jobs x", "invalid value for '--jobs' / '-j': 'x' is not a whole number; graphfix check --help says more"),
        ("check --color alwais", "'alwais' is not one of 'auto', 'always', 'never'; did you mean always?"),
        ("cache sice", "'sice' is not one of 'dir', 'size', 'clean'; did you mean size?"),
        ("check --select", "option '--select' requires an argument"),
        ("rule a b", "got unexpected extra argument(s) (b); graphfix rule --help says more"),
        ("verify --timeout 0", "0.0 is not in the range x>=1; graphfix verify --help says more"),
        ("cache \x1b[31m", "'\\x1b[31m' is not one of 'dir', 'size', 'clean'; graphfix cache --help says more"),
        ("check --config none.toml", "--config: no such file: none.toml"),
        ("help chek", "graphfix has no command chek, did you mean check?"),
    ],
)
def test_other_misuse_is_one_line_too(graphfix: Run, words: str, said: str) -> None:
    done = graphfix(*words.split(" "))
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("graphfix: error: ") and said in line.replace("argument (", "argument(s) (")


@pytest.mark.parametrize("listed", [f"--output-format [{'|'.join(FORMS)}] ", "--color [auto|always|never] "])
def test_help_lists_what_an_option_takes(graphfix: Run, listed: str) -> None:
    assert listed in " ".join(graphfix("check", "--help").stdout.decode().split())


def test_what_an_option_does_not_take_is_one_line_with_what_it_does(graphfix: Run) -> None:
    done = graphfix("check", "--output-format", "jsno", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    said = f"invalid value for '--output-format': 'jsno' is not one of {', '.join(map(repr, FORMS))}; did you mean json?"
    assert done.stderr.decode() == f"graphfix: error: {said}\n"


def test_every_answer_names_what_is_there() -> None:
    commands = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    flags = {flag for command in commands.values() for one in command.params for flag in one.opts} | {"--help", "--version", "--"}
    for said in (*OTHER_OPTIONS.values(), *OTHER_COMMANDS.values()):
        assert set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", said)) <= flags, said
        named = set(re.findall(r"graphfix ([a-z]+)", said)) - {"formats"}
        assert named <= {one.name for one in COMMANDS}, said


def test_no_answer_is_given_for_what_is_there() -> None:
    commands = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    assert not set(OTHER_COMMANDS) & set(commands)
    everywhere = set.intersection(*({flag for one in command.params for flag in one.opts} for command in commands.values()))
    assert not set(OTHER_OPTIONS) & everywhere
