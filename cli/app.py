"""The typer application: each command gathers its options and hands over."""

import sys

import typer

from graphfix.cli import options as o

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Finds and repairs misuse of PyTorch's autograd graph.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from graphfix import __version__

        typer.echo(f"graphfix {__version__}")
        raise typer.Exit()


@app.callback()
def graphfix(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Finds and repairs misuse of PyTorch's autograd graph."""
    for stream in (sys.stdout, sys.stderr):
        # a name that the terminal's encoding cannot show must not end the run
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@app.command()
def check(
    paths: o.Paths = None,
    select: o.Select = None,
    ignore: o.Ignore = None,
    unsafe_fixes: o.Unsafe = False,
    output_format: o.Format = o.OutputFormat.TEXT,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = 0,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Report findings; exit 1 if there are any."""
    from graphfix.cli.check import run

    chosen = _options(paths, select, ignore, unsafe_fixes, stdin_filename, jobs, quiet, verbose)
    raise typer.Exit(run(chosen, output_format))


@app.command()
def diff(
    paths: o.Paths = None,
    select: o.Select = None,
    ignore: o.Ignore = None,
    unsafe_fixes: o.Unsafe = False,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = 0,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Print the patch that apply would make; exit 1 if there are findings."""
    from graphfix.cli.diff import run

    raise typer.Exit(run(_options(paths, select, ignore, unsafe_fixes, stdin_filename, jobs, quiet, verbose)))


@app.command()
def apply(
    paths: o.Paths = None,
    select: o.Select = None,
    ignore: o.Ignore = None,
    unsafe_fixes: o.Unsafe = False,
    dry_run: o.DryRun = False,
    allow_dirty: o.AllowDirty = False,
    output_format: o.Format = o.OutputFormat.TEXT,
    stdin_filename: o.StdinFilename = None,
    jobs: o.Jobs = 0,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Fix in place; exit 1 if findings are left."""
    from graphfix.cli.apply import run

    chosen = _options(paths, select, ignore, unsafe_fixes, stdin_filename, jobs, quiet, verbose)
    raise typer.Exit(run(chosen, output_format, dry_run=dry_run, allow_dirty=allow_dirty))


@app.command()
def verify(
    select: o.Selected = None,
    case: o.Cases = None,
    device: o.Devices = o.Device.ALL,
    output_format: o.VerdictForm = o.VerdictFormat.TEXT,
    plot: o.Plot = None,
    fixtures: o.Fixtures = None,
    jobs: o.Jobs = 0,
    quiet: o.Quiet = False,
) -> None:
    """Run the fixtures before and after their repairs; exit 1 if any falls short.

    Runs code: the bundled fixtures, with the PyTorch of this Python. Each shows its fault before, runs clean and flat after,
    and computes the same, on each device.
    """
    from graphfix.cli.verify import Wish, run

    raise typer.Exit(run(Wish(tuple(select or ()), tuple(case or ()), device, output_format, plot, fixtures, jobs, quiet)))


@app.command()
def rule(code: str = typer.Argument("", metavar="[CODE]", help="A rule's code; all rules without it.")) -> None:
    """Explain one rule, or list all."""
    from graphfix.cli.rule import run

    raise typer.Exit(run(code))


def _options(
    paths: o.Paths,
    select: o.Select,
    ignore: o.Ignore,
    unsafe: bool,
    stdin_filename: o.StdinFilename,
    jobs: int,
    quiet: bool,
    verbose: bool,
) -> o.Options:
    return o.Options(
        tuple(paths or ["."]), tuple(select or ()), tuple(ignore or ()), unsafe, stdin_filename, jobs, quiet, verbose
    )
