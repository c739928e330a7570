"""The typer application: each command gathers its options and hands over.

Help is given as an argument: `python -OO` takes docstrings away.
"""

import sys
from typing import Any

import typer
import typer.core

from graphfix.cli import options as o

# with rich, typer escapes the brackets of its help for a markup that is off here
typer.core.HAS_RICH = False

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from graphfix import __version__

        typer.echo(f"graphfix {__version__}")
        raise typer.Exit()


@app.callback(help="Finds and repairs misuse of PyTorch's autograd graph.")
def graphfix(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    for stream in (sys.stdout, sys.stderr):
        # a name that the terminal's encoding cannot show must not end the run
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@app.command(short_help="Report findings.", help="Report findings; exit 1 if there are any.")
def check(
    paths: o.Paths = None,
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    unsafe_fixes: o.Unsafe = None,
    baseline: o.BaselineFile = None,
    write_baseline: o.WriteBaseline = None,
    report_unused_suppressions: o.ReportUnused = None,
    output_format: o.Format = None,
    output_file: o.OutputFile = None,
    statistics: o.Statistics = False,
    config: o.Config = None,
    isolated: o.Isolated = False,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    chosen = _options(locals())
    from graphfix.cli.check import run

    raise typer.Exit(run(chosen, write_baseline))


@app.command(
    short_help="Print the patch that apply would make.",
    help="Print the patch that apply would make; exit 1 if there are findings.",
)
def diff(
    paths: o.Paths = None,
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    unsafe_fixes: o.Unsafe = None,
    baseline: o.BaselineFile = None,
    output: o.PatchFile = None,
    by_rule: o.ByRule = None,
    statistics: o.Statistics = False,
    config: o.Config = None,
    isolated: o.Isolated = False,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    chosen = _options(locals())
    from graphfix.cli.diff import Target, run

    raise typer.Exit(run(chosen, Target(output, by_rule)))


@app.command(short_help="Fix in place.", help="Fix in place; exit 1 if findings are left.")
def apply(
    paths: o.Paths = None,
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    unsafe_fixes: o.Unsafe = None,
    baseline: o.BaselineFile = None,
    dry_run: o.DryRun = False,
    allow_dirty: o.AllowDirty = False,
    verify: o.VerifyCommand = None,
    timeout: o.Timeout = 600,
    output_format: o.Format = None,
    output_file: o.OutputFile = None,
    statistics: o.Statistics = False,
    config: o.Config = None,
    isolated: o.Isolated = False,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    chosen = _options(locals())
    from graphfix.cli.apply import run

    raise typer.Exit(run(chosen, dry_run=dry_run, allow_dirty=allow_dirty, verify=verify, timeout=timeout))


@app.command(
    short_help="Decide on each finding at the terminal.",
    help="""Decide on each finding at the terminal; exit 1 if any are left.

        Shows the story and the fix, safe or not, and asks. Files change at the end, once that is confirmed; a review that was
        stopped goes on where it was.
    """,
)
def review(
    paths: o.Paths = None,
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    baseline: o.BaselineFile = None,
    allow_dirty: o.AllowDirty = False,
    restart: o.Restart = False,
    config: o.Config = None,
    isolated: o.Isolated = False,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    chosen = _options(locals())
    from graphfix.cli.review import run

    raise typer.Exit(run(chosen, allow_dirty=allow_dirty, restart=restart))


@app.command(
    short_help="Turn the fixes into a branch and a pull request.",
    help="""Make a branch, one commit for each rule, and the text of a pull request.

        The work tree has to be clean and stays as it is: commits are made beside it. Runs code only with --check and --verify.
    """,
)
def pr(
    paths: o.Paths = None,
    branch: o.Branch = "graphfix/autograd",
    base: o.Base = "",
    check: o.CheckCommand = "",
    verify: o.VerifyCommand = None,
    timeout: o.Timeout = 600.0,
    push: o.Push = "",
    open: o.Open = False,
    draft: o.Draft = False,
    update: o.Update = False,
    split: o.SplitBy = None,
    forge: o.Forge = None,
    output: o.TextFile = None,
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    unsafe_fixes: o.Unsafe = None,
    baseline: o.BaselineFile = None,
    config: o.Config = None,
    isolated: o.Isolated = False,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    given = locals()
    chosen = _options(given)
    from graphfix.cli.delivery import Wish
    from graphfix.cli.effective_options import words_of
    from graphfix.cli.pr import run

    kind = forge.value if forge is not None else ""
    wish = Wish(branch, base, check, verify or "", push, kind, split, open, draft, update, output, timeout, words_of(given))
    raise typer.Exit(run(chosen, wish))


@app.command(
    short_help="Show the settings of a file and their origin.",
    help="Show the settings that hold for a file, and where each comes from.",
)
def config(
    path: str = typer.Argument(".", metavar="[PATH]", help="The file or folder whose settings are wanted."),
    select: o.Select = None,
    extend_select: o.ExtendSelect = None,
    ignore: o.Ignore = None,
    extend_exclude: o.ExtendExclude = None,
    force_exclude: o.ForceExclude = None,
    unsafe_fixes: o.Unsafe = None,
    jobs: o.Jobs = None,
    config: o.Config = None,
    isolated: o.Isolated = False,
    output_format: o.ConfigFormat = o.ListFormat.TEXT,
    schema: o.Schema = False,
) -> None:
    from graphfix.cli.config import run

    given = {name: value for name, value in locals().items() if name != "output_format"}
    raise typer.Exit(run(path, given, as_json=output_format is o.ListFormat.JSON, schema=schema))


@app.command(
    short_help="Run fixtures, or a script, before and after repair.",
    help="""Run the fixtures, or a script of yours, before and after the repairs.

        Runs code: without SCRIPT the bundled fixtures, with the PyTorch of this Python. Each shows its fault before, runs clean and
        flat after, and computes the same, on each device; exit 1 if any falls short.

        With SCRIPT, a copy of its project as it is and one with the fixes, one after the other with the same seed and arguments:
        is the error gone, are the numbers the same, does the graph stay flat? Nothing in your tree changes. Exit 0 verified,
        1 it falls short, 2 no verdict, as where a second run of the original gives other numbers than the first.
    """,
)
def verify(
    words: o.Words = None,
    module: o.Module = False,
    python: o.PythonName = None,
    project: o.ProjectFolder = None,
    seed: o.Seed = 0,
    timeout: o.Timeout = 600,
    unsafe_fixes: o.Unsafe = None,
    select: o.Selected = None,
    case: o.Cases = None,
    device: o.Devices = o.Device.ALL,
    output_format: o.VerdictForm = o.ListFormat.TEXT,
    plot: o.Plot = None,
    fixtures: o.Fixtures = None,
    config: o.Config = None,
    isolated: o.Isolated = False,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
) -> None:
    if words:
        from graphfix.cli.verify_script import Script
        from graphfix.cli.verify_script import run as run_script

        script = Script(words[0], tuple(words[1:]), module, python, project, seed, timeout, output_format, plot)
        given = {name: value for name, value in locals().items() if name != "output_format"}
        raise typer.Exit(run_script(script, _options({**given, "paths": None})))
    from graphfix.cli.verify_fixtures import Wish, run

    jobs = jobs or 0
    raise typer.Exit(run(Wish(tuple(select or ()), tuple(case or ()), device, output_format, plot, fixtures, jobs, quiet)))


@app.command(help="Explain one rule, or list all.")
def rule(code: str = typer.Argument("", metavar="[CODE]", help="A rule's code; all rules without it.")) -> None:
    from graphfix.cli.rule import run

    raise typer.Exit(run(code))


def _options(given: dict[str, Any]) -> o.Options:
    """What a command's parameters come to, with the settings files."""
    from graphfix.cli.effective_options import settled

    return settled(given)
