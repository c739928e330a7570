"""The typer application, made from the table of commands.

Help is given as an argument: `python -OO` takes docstrings away.
"""

import gc
import os
import sys
from collections.abc import Callable, Container, Mapping
from copy import copy
from dataclasses import Field, field
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
import typer.core

from graphfix.cli.choices import When
from graphfix.cli.options import PROCESS, SELECTION, SETTINGS, Options, picked
from graphfix.cli.usage import GroupedCommand, GroupedCommands
from graphfix.lazy_dataclass import dataclass

# with rich, typer escapes the brackets of its help for a markup that is off here
typer.core.HAS_RICH = False


@dataclass(frozen=True)
class Command:
    """A command is the module of its name, whose `run` takes the options that it picks and gives the exit code.

    `panel`: the heading below which help lists it. `texts`: what it says of options that other commands have in another sense.
    `examines`: the settings files have a say in its options. `lasts`: it stays until somebody ends it, or works on many projects, so
    that garbage counts. `forks`: it starts processes as only systems like Linux and macOS can.
    """

    name: str
    picks: tuple[str, ...]
    panel: str
    short_help: str
    help: str
    texts: Mapping[str, str] = field(default_factory=dict)
    examines: bool = True
    lasts: bool = False
    forks: bool = False


FIND, REPAIR, RUN, INTEGRATE, LEARN = "Find", "Repair", "Run", "Integrate", "Learn"

COMMANDS = (
    Command(
        "check",
        (
            "paths", "fix", "diff", SELECTION, "unsafe_fixes", "allow_dirty", "kept_patch", "baseline", "evidence", "write_baseline",
            "report_unused_suppressions", "add_noqa", "output_format", "output_file", "statistics", "exit_zero", "strict", "watch", "color",
            SETTINGS, "stdin_filename", PROCESS,
        ),
        FIND,
        "Report findings.",
        "Report findings. Exits 1 if there are any.",
    ),
    Command(
        "why",
        ("error", "frames_in", "why_format", "color", SETTINGS),
        FIND,
        "Explain an error: paste its traceback.",
        """Explain an error of PyTorch's autograd graph: the line that causes it, and how to repair it.

        Reads a traceback from standard input, from a log file, or from a notebook that shows the error. A message alone works,
        too: graphfix why "modified by an inplace operation". Exits 0 if the error is explained, 1 if not, 2 if there is no error.
        """,
    ),
    Command(
        "diff",
        (
            "paths", SELECTION, "unsafe_fixes", "baseline", "evidence", "patch_file", "by_rule", "statistics", "exit_zero", "strict", "color", SETTINGS,
            "stdin_filename", PROCESS,
        ),
        REPAIR,
        "Print the fixes as a patch.",
        "Print the patch that apply would make. Writes nothing, and exits 1 if there are findings.",
    ),
    Command(
        "apply",
        (
            "paths", SELECTION, "unsafe_fixes", "baseline", "evidence", "dry_run", "allow_dirty", "kept_patch", "verify", "timeout", "output_format",
            "output_file", "statistics", "exit_zero", "strict", "color", SETTINGS, "stdin_filename", PROCESS,
        ),
        REPAIR,
        "Apply the safe fixes in place.",
        "Apply the safe fixes in place. Exits 1 if findings are left.",
    ),
    Command(
        "review",
        ("paths", SELECTION, "baseline", "allow_dirty", "restart", "color", SETTINGS, PROCESS),
        REPAIR,
        "Decide on each finding at the terminal.",
        """Decide on each finding at the terminal. Exits 1 if any are left.

        Shows each finding with its fix, safe or not, and asks. Files are written at the end, once you confirm. An interrupted
        review continues where it stopped.
        """,
        lasts=True,
    ),
    Command(
        "trace",
        (
            "words", "module", "python", "max_iterations", "after", "apply_fixes", "unsafe_fixes", "allow_dirty",
            "verdict_format", "output_file", "save", "plot", "color", SETTINGS, "quiet",
        ),
        RUN,
        "Run a script and explain its autograd graphs.",
        """Run a script unchanged, and explain where its autograd graphs come from and go.

        Runs code: a script, a module (-m) or a notebook, with its own arguments, streams and exit code. If autograd raises an
        error, trace names the line that made the graph, the backward() that freed it and the name that carried it, or the line
        that wrote to a saved tensor. At the end it names graphs that grow, what keeps them alive, and graphs that were never
        used. The report goes to standard error.
        """,
        {
            "words": "Your script, then -- and its own arguments.",
            "verdict_format": "Format of the report.",
            "output_file": "Write the JSON report to this file instead of standard output.",
            "plot": "Draw the number of live nodes over time, as .svg or .png.",
        },
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "verify",
        (
            "words", "module", "python", "project", "seed", "timeout", "unsafe_fixes", "only", "case", "device",
            "verdict_format", "plot", "fixtures", "color", SETTINGS, "jobs", "quiet",
        ),
        RUN,
        "Run a script before and after the fixes.",
        """Run a script, or the bundled fixtures, before and after the fixes, and compare.

        Runs code. With a script: runs a copy of its project without the fixes and one with them, with the same seed and
        arguments. Is the error gone, are the numbers the same, does the graph stay flat? Your files are not changed. Exits 0 if
        verified, 1 if not, 2 if there is no verdict, such as when the original gives other numbers in a second run.

        Without a script: runs the bundled fixtures with the PyTorch of this Python. Each must show its fault before the fix, run
        clean after it, and compute the same, on each device. Exits 1 if any does not.
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "pr",
        (
            "paths", "branch", "base", "check", "verify", "timeout", "push", "open", "draft", "update", "split", "forge",
            "text_file", SELECTION, "unsafe_fixes", "baseline", SETTINGS, PROCESS,
        ),
        INTEGRATE,
        "Turn the fixes into a branch and a pull request.",
        """Create a branch with one commit per rule, and the text of a pull request.

        The work tree must be clean and is not changed: the commits are made beside it. Runs code only with --check and --verify.
        """,
        lasts=True,
    ),
    Command(
        "campaign",
        (
            "action", "campaign", "push_all", "open_all", "retry_failed", "withdraw", "from_findings", "workers", "engine",
            "scheduler", "report_format", "output_file", "quiet",
        ),
        INTEGRATE,
        "Repair many repositories.",
        """Repair many repositories: clone, analyse, repair, check, and offer branches and pull requests.

        init writes campaign.toml, which describes the campaign. plan finds and repairs, and shows what would be offered. run
        creates the branches; with --push and --open it offers them. status and report show the progress. update repeats what is
        out of date and follows the pull requests; with --push and --open it updates what was offered. close ends the campaign.
        An interrupted campaign continues where it stopped.
        """,
        {"output_file": "report: write it to this file instead of standard output."},
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "server",
        (),
        INTEGRATE,
        "Start the language server.",
        """Start the language server, which shows findings and fixes in an editor.

        It speaks over standard input and output: an editor starts it. Needs the extra graphfix[lsp].
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "rule", ("code", "color", "no_pager"), LEARN, "Explain a rule, or list all rules.", "Explain a rule, or list all rules.", examines=False
    ),
    Command(
        "config",
        ("path", SELECTION, "unsafe_fixes", "jobs", SETTINGS, "settings_format", "schema", "row"),
        LEARN,
        "Show the settings of a file and their origin.",
        """Show the settings that apply to a file, and the line that each comes from.

        With --row, show instead what a function of a library does with a tensor, and where that is written: in the project's settings, or
        in graphfix.
        """,
        examines=False,
    ),
    Command(
        "cache",
        ("stock",),
        LEARN,
        "Show or clean the cache of findings.",
        """Show or clean the cache of findings.

        A file is analysed again only if the file, its project, its settings or graphfix have changed. GRAPHFIX_CACHE_DIR names
        another folder for the cache.
        """,
        examines=False,
    ),
    Command(
        "help",
        ("topic",),
        LEARN,
        "Show the help of a command.",
        "Show the help of a command, as graphfix COMMAND --help does.",
        examines=False,
    ),
)  # fmt: skip


def _show_version(value: bool) -> None:
    if value:
        from graphfix import __version__

        typer.echo(f"graphfix {__version__}")
        raise typer.Exit()


def graphfix(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    for stream in (sys.stdout, sys.stderr):
        # a name that the terminal's encoding cannot show must not end the run
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _function(command: Command) -> Callable[..., None]:
    """What typer calls: a function that seems to have the picked options as its parameters."""

    def function(**given: Any) -> None:
        options = Options(**given).with_streams()
        if options.color is not When.AUTO:
            from graphfix.cli.terminal import Screen

            Screen.when = options.color.value
        if command.examines:
            from graphfix.cli.effective_options import settled

            options = settled(options)
        if command.lasts:
            gc.enable()
        if command.forks and not hasattr(os, "fork"):
            from graphfix.cli import session

            session.fail(f"{command.name} needs a system that can fork a process, such as Linux or macOS")
        raise typer.Exit(import_module(f"graphfix.cli.{command.name}").run(options))

    types = {one.name: Annotated[one.type, _typed(one, command.texts)] for one in picked(command.picks)}
    defaults = {one.name: one.default for one in picked(command.picks)}
    named = Parameter.POSITIONAL_OR_KEYWORD
    function.__annotations__ = types
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, named, default=defaults[name], annotation=types[name]) for name in types]
    )
    return function


def _typed(one: "Field[Any]", texts: Mapping[str, str]) -> Any:
    """How typer is told of an option, with the command's own text for it where it has one."""
    typed = one.metadata["typed"]
    if one.name in texts:
        typed = copy(typed)
        typed.help = texts[one.name]
    return typed


def application(words: Container[str] | None = None) -> typer.Typer:
    """All commands, each with its options; of those that are not among the `words` typed no more than the name and the short help.

    To make the options of all commands takes longer than to import typer.
    """
    app = typer.Typer(
        cls=GroupedCommands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help="Finds and repairs misuse of PyTorch's autograd graph.")(graphfix)
    for one in COMMANDS:
        is_wanted = words is None or one.name in words
        app.command(one.name, cls=GroupedCommand, short_help=one.short_help, help=one.help, rich_help_panel=one.panel)(
            _function(one) if is_wanted else _unasked
        )
    return app


def _unasked() -> None:
    """Stands for a command that is not called."""
