"""What people type who come from other tools: what graphfix calls it, or that there is none."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from graphfix.cli.front import ClickException, NoSuchOption, UsageError
from graphfix.report.escape import escaped

if TYPE_CHECKING:
    from graphfix.cli.front import Context

_NO_FORMATTER = "there is none: graphfix formats nothing, and leaves the layout as it is"
_ANY_PYTHON = "there is none: files of any Python are read as they are"
# an option of ruff, black, flake8, cargo, git or mypy: what does it here. One of another command of graphfix is looked up there
OPTIONS = {
    "--allow-no-vcs": "there is none: outside of git nothing is refused",
    "--allow-staged": "it is called --allow-dirty",
    "--check": "there is none: graphfix check writes nothing, and exits 1 where there are findings",
    "--colour": "it is called --color",
    "--count": "it is called --statistics",
    "--diff": "it is a command: graphfix diff",
    "--disable-noqa": "there is none: a comment that silences stays in force",
    "--exclude": "it is called --extend-exclude; what is left out anyway stays left out",
    "--exit-non-zero-on-fix": "there is none: graphfix diff exits 1 where something is to be fixed",
    "--explain": "it is a command: graphfix rule CODE",
    "--extend-fixable": "there is none: choose rules with --select, and --unsafe-fixes",
    "--extend-ignore": "it is called --ignore",
    "--extend-per-file-ignores": "it is a setting: per-file-ignores",
    "--fix": "it is a command: graphfix apply",
    "--fix-only": "there is none: graphfix apply --exit-zero fixes, and exits 0 whatever is left",
    "--fixable": "there is none: choose rules with --select",
    "--force": "it is called --allow-dirty",
    "--format": "it is called --output-format",
    "--ignore-noqa": "there is none: a comment that silences stays in force",
    "--in-place": "it is a command: graphfix apply",
    "--include": "there is none: name the paths",
    "--line-length": _NO_FORMATTER,
    "--max-line-length": _NO_FORMATTER,
    "--no-color": "it is called --color never",
    "--no-colour": "it is called --color never",
    "--no-fix": "there is none: without --fix graphfix check writes nothing",
    "--per-file-ignores": "it is a setting: per-file-ignores",
    "--preview": "there is none: optional findings are told where --select names their rule",
    "--py": _ANY_PYTHON,
    "--show-files": "there is none: --verbose says what was left out",
    "--show-fixes": "there is none: graphfix apply lists the files and codes, graphfix diff shows the fixes",
    "--show-settings": "it is a command: graphfix config",
    "--show-source": "there is none: the text format shows the source anyway",
    "--stdin-display-name": "it is called --stdin-filename",
    "--stdin-file-path": "it is called --stdin-filename",
    "--target-version": _ANY_PYTHON,
    "--unfixable": "there is none: leave rules out with --ignore",
    "--workers": "it is called --jobs",
    "-i": "it is a command: graphfix apply",
    "-l": _NO_FORMATTER,
    "-n": "it is called --dry-run",
    "-t": _ANY_PYTHON,
    "-V": "it is called graphfix --version",
    "-w": "it is called --jobs",
}
COMMANDS = {
    "baseline": "it is called graphfix check --write-baseline FILE",
    "explain": "it is called graphfix rule CODE",
    "fix": "it is called graphfix apply",
    "fmt": _NO_FORMATTER,
    "format": _NO_FORMATTER,
    "lint": "it is called graphfix check",
    "linter": "it is called graphfix rule",
    "patch": "it is called graphfix diff",
    "restore": "there is none: graphfix apply ends with what to type",
    "revert": "there is none: graphfix apply ends with what to type",
    "rules": "it is called graphfix rule",
    "settings": "it is called graphfix config",
    "test": "it is called graphfix verify",
    "undo": "there is none: graphfix apply ends with what to type",
    "version": "it is called graphfix --version",
}
ITSELF = {"--fix": "apply", "--diff": "diff", "--dry-run": "diff"}  # what a command does without being asked
FEW = 3  # commands that are named
_NO_COMMAND = re.compile(r"No such command ['\"](.*?)['\"]\.", re.DOTALL)


def hint(error: ClickException) -> str | None:
    """The one line for an option or a command that is not there; nothing for any other error."""
    if isinstance(error, NoSuchOption) and error.ctx is not None:
        return _option(error.option_name, error.ctx)
    unknown = _NO_COMMAND.match(error.format_message())
    if isinstance(error, UsageError) and error.ctx is not None and unknown:
        return _command(unknown[1], error.ctx)
    return None


def _option(name: str, context: Context) -> str:
    if isinstance(context.command, TyperGroup):
        head, own = f"graphfix has no option {escaped(name)} in front of a command", ""
    else:
        own = context.command.name or ""
        head = f"graphfix {own} has no option {escaped(name)}"
    with_it = [f"graphfix {other}" for other, command in _commands().items() if name in _flags(command)]
    if not own and with_it:
        return f"{head}: it comes behind one, as in {with_it[0]} {name}"
    if ITSELF.get(name) == own:
        return f"{head}: it is what the command does"
    if name in OPTIONS:
        return f"{head}: {OPTIONS[name]}"
    if with_it:
        return f"{head}: {_listed(with_it)}"
    near = difflib.get_close_matches(name, _flags(context.command), n=1, cutoff=0.75)
    if near:
        return f"{head}, did you mean {near[0]}?"
    if own in ("trace", "verify"):
        return f"{head}: options of your script come behind --"
    return f"{head}; graphfix {own + ' ' if own else ''}--help lists them"


def _command(name: str, context: Context) -> str:
    head = f"graphfix has no command {escaped(name)}"
    if name in COMMANDS:
        return f"{head}: {COMMANDS[name]}"
    if os.path.lexists(name) or name == "-":
        return f"{head}: for a path, type graphfix check {escaped(name)}"
    commands: list[str] = list(context.command.commands) if isinstance(context.command, TyperGroup) else []
    near = difflib.get_close_matches(name, commands, n=1)
    return f"{head}, did you mean {near[0]}?" if near else f"{head}; graphfix --help lists them"


def _commands() -> Mapping[str, Any]:
    """All commands with their options; what was called has those of one."""
    from typer.main import get_group

    from graphfix.cli.app import application

    return get_group(application()).commands


def _flags(command: Any) -> list[str]:
    """How the options of a command are typed."""
    return [flag for one in command.params if one.param_type_name == "option" for flag in (*one.opts, *one.secondary_opts)]


def _listed(words: list[str]) -> str:
    """Who has it."""
    if len(words) == 1:
        return f"{words[0]} has it"
    if len(words) > FEW:
        words = [*words[: FEW - 1], "others"]
    return f"{', '.join(words[:-1])} and {words[-1]} have it"
