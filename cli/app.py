"""The typer application, made from the table of commands.

Help is given as an argument: `python -OO` takes docstrings away.
"""

import gc
import os
import sys
from collections.abc import Callable, Container
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
import typer.core

from graphfix.cli.options import PROCESS, SELECTION, SETTINGS, Options, When, picked

# with rich, typer escapes the brackets of its help for a markup that is off here
typer.core.HAS_RICH = False


@dataclass(frozen=True)
class Command:
    """A command is the module of its name, whose `run` takes the options that it picks and gives the exit code.

    `examines`: the settings files have a say in its options. `lasts`: it stays until somebody ends it, or works on many projects, so
    that garbage counts. `forks`: it starts processes as only systems like Linux and macOS can.
    """

    name: str
    picks: tuple[str, ...]
    short_help: str | None
    help: str
    examines: bool = True
    lasts: bool = False
    forks: bool = False


COMMANDS = (
    Command(
        "check",
        (
            "paths", "fix", "diff", SELECTION, "unsafe_fixes", "allow_dirty", "kept_patch", "baseline", "evidence", "write_baseline",
            "report_unused_suppressions", "output_format", "output_file", "statistics", "exit_zero", "watch", "color", SETTINGS, "stdin_filename",
            PROCESS,
        ),
        "Report findings.",
        "Report findings; exit 1 if there are any.",
    ),
    Command(
        "diff",
        (
            "paths", SELECTION, "unsafe_fixes", "baseline", "evidence", "patch_file", "by_rule", "statistics", "exit_zero", "color", SETTINGS,
            "stdin_filename", PROCESS,
        ),
        "Print the patch that apply would make.",
        "Print the patch that apply would make; exit 1 if there are findings.",
    ),
    Command(
        "apply",
        (
            "paths", SELECTION, "unsafe_fixes", "baseline", "evidence", "dry_run", "allow_dirty", "kept_patch", "verify", "timeout", "output_format",
            "output_file", "statistics", "exit_zero", "color", SETTINGS, "stdin_filename", PROCESS,
        ),
        "Fix in place.",
        "Fix in place; exit 1 if findings are left.",
    ),
    Command(
        "review",
        ("paths", SELECTION, "baseline", "allow_dirty", "restart", "color", SETTINGS, PROCESS),
        "Decide on each finding at the terminal.",
        """Decide on each finding at the terminal; exit 1 if any are left.

        Shows the story and the fix, safe or not, and asks. Files change at the end, once that is confirmed; a review that was
        stopped goes on where it was.
        """,
        lasts=True,
    ),
    Command(
        "pr",
        (
            "paths", "branch", "base", "check", "verify", "timeout", "push", "open", "draft", "update", "split", "forge",
            "text_file", SELECTION, "unsafe_fixes", "baseline", SETTINGS, PROCESS,
        ),
        "Turn the fixes into a branch and a pull request.",
        """Make a branch, one commit for each rule, and the text of a pull request.

        The work tree has to be clean and stays as it is: commits are made beside it. Runs code only with --check and --verify.
        """,
        lasts=True,
    ),
    Command(
        "config",
        ("path", SELECTION, "unsafe_fixes", "jobs", SETTINGS, "settings_format", "schema"),
        "Show the settings of a file and their origin.",
        "Show the settings that hold for a file, and where each comes from.",
        examines=False,
    ),
    Command(
        "verify",
        (
            "words", "module", "python", "project", "seed", "timeout", "unsafe_fixes", "only", "case", "device",
            "verdict_format", "plot", "fixtures", "color", SETTINGS, "jobs", "quiet",
        ),
        "Run fixtures, or a script, before and after repair.",
        """Run the fixtures, or a script of yours, before and after the repairs.

        Runs code: without SCRIPT the bundled fixtures, with the PyTorch of this Python. Each shows its fault before, runs clean and
        flat after, and computes the same, on each device; exit 1 if any falls short.

        With SCRIPT, a copy of its project as it is and one with the fixes, one after the other with the same seed and arguments:
        is the error gone, are the numbers the same, does the graph stay flat? Nothing in your tree changes. Exit 0 verified,
        1 it falls short, 2 no verdict, as where a second run of the original gives other numbers than the first.
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "trace",
        (
            "words", "module", "python", "max_iterations", "after", "apply_fixes", "unsafe_fixes", "allow_dirty",
            "verdict_format", "output_file", "save", "plot", "color", SETTINGS, "quiet",
        ),
        "Run a program and tell where its graphs come from and go.",
        """Run a program of yours, unchanged, and tell the story of its autograd graphs.

        Runs code: SCRIPT, a module with -m, or a notebook, with its arguments, streams and exit code. At an error of autograd it
        tells which line made the graph, which backward() freed it, through which name it came back, or which line wrote to a
        saved tensor; at the end what grows, who holds it, and what was kept or built for nothing. Told on standard error.
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "why",
        ("error", "frames_in", "why_format", "color", SETTINGS),
        "Explain an error: paste its traceback.",
        """Explain an error of PyTorch's graph, and show the line that makes it and its repair.

        Reads a traceback from standard input, a log file, or a notebook with the error in it, in whatever form it was printed.
        A message alone (graphfix why "modified by an inplace operation") is explained. Exit 0 explained, 1 not, 2 no error.
        """,
    ),
    Command(
        "server",
        (),
        "Start the language server.",
        """Tell an editor of findings, with their fixes, while a file is written.

        A language server over standard input and output: editors start it. Needs the extra graphfix[lsp].
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command(
        "campaign",
        (
            "action", "campaign", "push_all", "open_all", "retry_failed", "withdraw", "from_findings", "workers", "engine",
            "scheduler", "report_format", "output_file", "quiet",
        ),
        "Repair many repositories.",
        """Repair many repositories: clone, analyse, repair, check, and offer branches and pull requests.

        init writes campaign.toml into a folder, which says what is done; plan finds and repairs beside the clones and shows what
        would be offered; run makes the branches, and with --push and --open offers them. Stopped at any moment, it goes on where it
        was. status and report tell how far it has come. update asks what became of the pull requests and does anew what has moved
        on, or of which something else is asked now; with --push and --open it renews what was offered. close ends it.
        """,
        examines=False,
        lasts=True,
        forks=True,
    ),
    Command("rule", ("code", "no_pager"), None, "Explain one rule, or list all.", examines=False),
    Command(
        "cache",
        ("stock",),
        "Where findings are kept from run to run.",
        """The cache of findings: its folder, its size, or clean it.

        The same file in the same project under the same settings has the same findings; GRAPHFIX_CACHE_DIR names another folder.
        """,
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


class _TyperCommand(typer.core.TyperCommand):
    """Its usage line has the arguments as they are declared: versions of typer put one more pair of brackets around them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [one.metavar or "" for one in self.params if one.param_type_name == "argument"]
        return [self.options_metavar or "", *arguments]


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

    types = {one.name: Annotated[one.type, one.metadata["typed"]] for one in picked(command.picks)}
    defaults = {one.name: one.default for one in picked(command.picks)}
    named = Parameter.POSITIONAL_OR_KEYWORD
    function.__annotations__ = types
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, named, default=defaults[name], annotation=types[name]) for name in types]
    )
    return function


def application(words: Container[str] | None = None) -> typer.Typer:
    """All commands, each with its options; of those that are not among the `words` typed no more than the name and the short help.

    To make the options of all commands takes longer than to import typer.
    """
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help="Finds and repairs misuse of PyTorch's autograd graph.")(graphfix)
    for one in COMMANDS:
        is_wanted = words is None or one.name in words
        app.command(one.name, cls=_TyperCommand, short_help=one.short_help, help=one.help)(
            _function(one) if is_wanted else _unasked
        )
    return app


def _unasked() -> None:
    """Stands for a command that is not called."""
