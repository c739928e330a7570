"""The table of commands and the declarations of options fit together."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.models import ArgumentInfo

from graphfix.cli.app import COMMANDS, Command
from graphfix.cli.effective_options import settled
from graphfix.cli.options import DECLARED, Options, picked
from graphfix.cli.usage import _write_parameters
from graphfix.settings.keys import BY_NAME

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(params=COMMANDS, ids=[command.name for command in COMMANDS])
def command(request: pytest.FixtureRequest) -> Command:
    return request.param


def flags_of(name: str) -> list[str]:
    """How an option is typed; typer takes the first flag of an annotation for a default until it makes the command."""
    typed = DECLARED[name].metadata["typed"]
    given = [typed.default, *(typed.param_decls or ())]
    return [flag for word in given if isinstance(word, str) for flag in word.split("/") if flag.startswith("-")]


def test_each_command_has_its_module(command: Command) -> None:
    assert callable(import_module(f"graphfix.cli.{command.name}").run)


def test_no_command_has_an_option_or_a_flag_twice(command: Command) -> None:
    names = [one.name for one in picked(command.picks)]
    flags = [flag for one in picked(command.picks) for flag in flags_of(one.name)]
    assert len(set(names)) == len(names)
    assert len(set(flags)) == len(flags)


def test_no_option_is_declared_in_vain() -> None:
    assert {one.name for command in COMMANDS for one in picked(command.picks)} == set(DECLARED)


def test_a_pick_that_names_nothing_is_told() -> None:
    with pytest.raises(AssertionError, match="selektion"):
        list(picked(("selektion",)))


def test_the_settings_that_options_stand_for_are_there() -> None:
    assert {one.metadata["setting"] for one in DECLARED.values()} - {""} <= set(BY_NAME)


def test_what_is_typed_again_has_the_flag_of_its_name() -> None:
    again = {name: flags_of(name)[0] for name, one in DECLARED.items() if one.metadata["again"]}
    assert again == {name: f"--{name.replace('_', '-')}" for name in again}


def test_what_makes_the_same_again_is_what_was_typed_and_no_setting() -> None:
    given = Options(select=["GF101,GF2"], ignore=["GF201", "GF3"], baseline="", isolated=True, verify="make", jobs=3)
    typed = settled(given).reproduce
    assert typed == (
        "--select", "GF101,GF2", "--ignore", "GF201", "--ignore", "GF3", "--baseline", "", "--verify", "make", "--isolated",
    )  # fmt: skip


@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_flag_is_typed_again_only_where_it_was_set(wanted: bool | None) -> None:
    given = replace(Options(isolated=True), unsafe_fixes=wanted)
    assert ("--unsafe-fixes" in settled(given).reproduce) is bool(wanted)
    assert settled(given).unsafe is bool(wanted)


def test_the_usage_line_has_the_arguments_as_they_are_declared(command: Command, graphfix: Run) -> None:
    typed = [DECLARED[one.name].metadata["typed"] for one in picked(command.picks)]
    arguments = [one.metavar for one in typed if isinstance(one, ArgumentInfo)]
    usage, _, _ = graphfix(command.name, "--help").stdout.decode().partition("\n\n")
    assert usage.split() == f"Usage: graphfix {command.name} [OPTIONS] {' '.join(arguments)}".split()


def test_an_argument_is_listed_as_it_is_typed() -> None:
    """Also by versions of typer that write a type behind it."""
    listed: list[tuple[str, str]] = []
    typed = SimpleNamespace(param_type_name="argument", metavar="[PATHS]...", get_help_record=lambda ctx: ("[PATHS]... <list[str]>", "Files."))
    formatter = SimpleNamespace(section=lambda heading: nullcontext(), write_dl=listed.extend)
    _write_parameters(SimpleNamespace(get_params=lambda ctx: [typed]), None, formatter)
    assert listed == [("[PATHS]...", "Files.")]


@pytest.mark.parametrize("words", [(), ("check",), ("trace",)])
def test_help_is_a_command_and_in_groups(graphfix: Run, words: tuple[str, ...]) -> None:
    done = graphfix("help", *words)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == graphfix(*words, "--help").stdout
    headings = [line.removesuffix(":") for line in done.stdout.decode().splitlines() if line[:1].isalpha() and line.endswith(":")]
    if not words:
        assert headings == [*dict.fromkeys(command.panel for command in COMMANDS), "Options"]
    else:
        assert headings[0] == "Arguments" and headings[-2:] == ["Settings", "Options"]
        assert {"Selection", "Fixes", "Output", "Analysis"} <= set(headings) or words == ("trace",)


def test_a_command_says_what_its_own_arguments_and_options_are(command: Command, graphfix: Run) -> None:
    assert set(command.texts) <= {one.name for one in picked(command.picks)}
    said = " ".join(graphfix(command.name, "--help").stdout.decode().split())
    for one in picked(command.picks):
        assert command.texts.get(one.name, one.metadata["typed"].help) in said
    if command.name == "trace":
        assert "fixtures" not in said and "verdict" not in said


def test_a_folder_without_programs_is_named(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("text")
    (tmp_path / "x.py").write_text("x = 1\n")
    done = graphfix("check", "docs", "x.py")
    assert (done.returncode, done.stderr) == (0, b"warning: no Python files or notebooks under docs\n")
    assert graphfix("check", ".").stderr == b""
    # what is left out on purpose is there
    assert graphfix("check", "--extend-exclude", "*.py", ".").stderr == b""


@pytest.mark.parametrize(("words", "said"), [(["--jobs", "two"], "'two' is not a whole number"), (["--jobs", "1.5"], "'1.5' is not a whole number")])
def test_a_number_is_asked_for_in_plain_words(graphfix: Run, words: list[str], said: str) -> None:
    done = graphfix("check", *words, ".")
    assert done.returncode == 2 and said in done.stderr.decode() and "range" not in done.stderr.decode()
