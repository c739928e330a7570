"""Every option of the command line, declared once: how it is typed, what it is called here, what it stands for."""

from collections.abc import Iterable, Iterator
from dataclasses import Field, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphfix.cli import completion
from graphfix.cli.choices import Action, Device, Engine, ForgeKind, ListFormat, ReportFormat, Split, Stock, When
from graphfix.lazy_dataclass import dataclass, fields
from graphfix.report.forms import FORMS

if TYPE_CHECKING:
    from graphfix.settings.resolver import Resolver


STANDARD_OUTPUT = Path("-")

# options that always come together: a command that picks the group has all of them, in the order of their declarations
SELECTION = "selection"
SETTINGS = "settings"
PROCESS = "process"

# headings of the help, in the order in which it has them
SELECTED = "Selection"
FIXES = "Fixes"
BRANCH = "Branch and pull request"
REPOSITORIES = "Repositories"
RUNNING = "Running code"
OUTPUT = "Output"
ANALYSIS = "Analysis"
SETTINGS_FILES = "Settings"
PANELS = (SELECTED, FIXES, BRANCH, REPOSITORIES, RUNNING, OUTPUT, ANALYSIS, SETTINGS_FILES)


def option(
    *flags: str, panel: str, default: object = None, group: str = "", setting: str = "", again: bool = False, **typed: Any
) -> Any:
    """A field of `Options` that is typed as `flags`.

    `panel`: the heading below which help has it. `setting`: the setting that it takes the place of. `again`: it decides what is repaired, so that who makes
    the same repairs again has to type it again.
    """
    typer_option = typer.Option(*flags, rich_help_panel=panel, **typed)
    return field(default=default, metadata={"typed": typer_option, "group": group, "setting": setting, "again": again})


def argument(default: object = None, **typed: Any) -> Any:
    """A field of `Options` that is typed without a flag."""
    return field(default=default, metadata={"typed": typer.Argument(**typed), "group": "", "setting": "", "again": False})


def either(names: Iterable[str]) -> str:
    """How help writes that one of these is taken: versions of typer write it in forms of their own."""
    return f"[{'|'.join(names)}]"


def one_of(names: Iterable[str]) -> dict[str, Any]:
    """How an option is typed that takes one of these names, where an `Enum` would list them a second time."""
    offered = tuple(names)

    def parse(text: str) -> str:
        if text not in offered:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, offered))}.")
        return text

    def complete(incomplete: str) -> list[str]:
        return [name for name in offered if name.startswith(incomplete)]

    return {"parser": parse, "metavar": either(offered), "autocompletion": complete}


def _commands(incomplete: str) -> list[tuple[str, str]]:
    from graphfix.cli.app import COMMANDS

    return [(one.name, one.short_help) for one in COMMANDS if one.name.startswith(incomplete)]


@dataclass(frozen=True, eq=False, repr=False)
class Options:
    """What the user asked for, of every command: each picks the fields that it has by name or by group.

    `settled` puts what the settings files say in the place of what was not typed, and leaves their `settings` here, and what was
    `typed`.
    """

    paths: list[str] | None = argument(
        metavar="[PATHS]...",
        help="Files, notebooks or folders to read; the current folder if none is given, - for standard input.",
    )
    stock: Stock = argument(Stock.DIR, metavar=either(Stock), help="Print its folder, print its size, or delete it.")
    path: str = argument(".", metavar="[PATH]", help="The file or folder to show the settings of.")
    code: str = argument(
        "", metavar="[CODE]", autocompletion=completion.one_rule, help="Code or name of a rule; without it, all rules are listed."
    )
    words: list[str] | None = argument(
        metavar="[SCRIPT] [-- ARGS]...",
        help="Your script, then -- and its own arguments; without a script, the bundled fixtures are run.",
    )

    select: list[str] | None = option(
        "--select",
        metavar="CODES",
        autocompletion=completion.rules,
        help="Run only these rules (codes, prefixes or names; ALL for all), their optional findings included.",
        panel=SELECTED,
        group=SELECTION,
        setting="select",
        again=True,
    )
    extend_select: list[str] | None = option(
        "--extend-select",
        metavar="CODES",
        autocompletion=completion.rules,
        help="Run these rules as well.",
        panel=SELECTED,
        group=SELECTION,
        setting="extend-select",
        again=True,
    )
    ignore: list[str] | None = option(
        "--ignore",
        metavar="CODES",
        autocompletion=completion.rules,
        help="Skip these rules (codes, prefixes or names).",
        panel=SELECTED,
        group=SELECTION,
        setting="ignore",
        again=True,
    )
    extend_exclude: list[str] | None = option(
        "--extend-exclude",
        metavar="PATTERNS",
        help="Skip files and folders that match these .gitignore patterns.",
        panel=SELECTED,
        group=SELECTION,
        setting="extend-exclude",
        again=True,
    )
    force_exclude: bool | None = option(
        "--force-exclude/--no-force-exclude",
        help="Skip excluded files even if they are named on the command line.",
        panel=SELECTED,
        show_default=False,
        group=SELECTION,
        setting="force-exclude",
        again=True,
    )
    unsafe_fixes: bool | None = option(
        "--unsafe-fixes/--no-unsafe-fixes",
        help="Include fixes that may change what a run computes.",
        panel=FIXES,
        show_default=False,
        setting="unsafe-fixes",
        again=True,
    )
    baseline: str | None = option(
        "--baseline",
        metavar="FILE",
        help="Hide the findings listed in this file; '' for no baseline.",
        panel=SELECTED,
        show_default=False,
        setting="baseline",
        again=True,
    )
    evidence: list[Path] | None = option(
        "--evidence",
        metavar="FILE",
        help="Use evidence saved by graphfix trace --save.",
        panel=ANALYSIS,
        show_default=False,
        again=True,
    )
    config: Path | None = option(
        "--config", metavar="FILE", help="Read settings from this file only.", panel=SETTINGS_FILES, group=SETTINGS, again=True
    )
    isolated: bool = option(
        "--isolated", default=False, help="Ignore all settings files.", panel=SETTINGS_FILES, group=SETTINGS, again=True
    )
    stdin_filename: Path | None = option(
        "--stdin-filename", metavar="PATH", help="Treat standard input as the file at this path.", panel=SELECTED
    )
    jobs: int | None = option(
        "--jobs",
        "-j",
        min=0,
        metavar="N",
        help="Number of processes; 0 for one per processor.",
        panel=ANALYSIS,
        group=PROCESS,
        setting="jobs",
    )
    no_cache: bool = option(
        "--no-cache", default=False, help="Neither read nor write the cache of findings.", panel=ANALYSIS, group=PROCESS
    )
    quiet: bool = option("--quiet", "-q", default=False, help="Print no summary and no progress.", panel=OUTPUT, group=PROCESS)
    verbose: bool = option(
        "--verbose",
        "-v",
        default=False,
        help="Print tracebacks of internal errors, and what was skipped or refused.",
        panel=OUTPUT,
        group=PROCESS,
    )

    color: When = option(
        "--color",
        default=When.AUTO,
        metavar=either(When),
        help="When to use colours; auto: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise.",
        panel=OUTPUT,
    )

    # what is written of findings
    write_baseline: Path | None = option(
        "--write-baseline", metavar="FILE", help="Write all findings to this file, for --baseline to hide.", panel=SELECTED
    )
    report_unused_suppressions: bool | None = option(
        "--report-unused-suppressions/--no-report-unused-suppressions",
        help="Exit 1 if a comment suppresses nothing.",
        panel=OUTPUT,
        show_default=False,
        setting="report-unused-suppressions",
    )
    output_format: str | None = option(
        "--output-format",
        **one_of(FORMS),
        help="Format of the findings.",
        panel=OUTPUT,
        show_default=False,
        setting="output-format",
    )
    output_file: Path | None = option(
        "--output-file", "-o", metavar="FILE", help="Write the findings to this file instead of standard output.", panel=OUTPUT
    )
    statistics: bool = option("--statistics", default=False, help="Count the findings by rule and by kind of fix.", panel=OUTPUT)
    watch: bool = option("--watch", default=False, help="Check again whenever a file changes, until Ctrl-C.", panel=ANALYSIS)

    exit_zero: bool = option("--exit-zero", default=False, help="Exit 0 even if there are findings.", panel=OUTPUT)
    strict: bool = option("--strict", default=False, help="Exit 2 if a file was not analysed to the end.", panel=OUTPUT)
    fix: bool = option("--fix", default=False, help="Apply safe fixes (same as graphfix apply).", panel=FIXES)
    diff: bool = option(
        "--diff", default=False, help="Print the fixes as a patch and write nothing (same as graphfix diff).", panel=FIXES
    )

    add_noqa: bool = option(
        "--add-noqa",
        default=False,
        help="Add a comment to each line with a finding that suppresses it, instead of reporting.",
        panel=FIXES,
    )

    # diff
    patch_file: Path | None = option("--output", "-o", metavar="FILE", help="Write the patch to this file.", panel=OUTPUT)
    by_rule: Path | None = option(
        "--by-rule",
        metavar="DIR",
        help="Write one patch per rule to this folder, numbered in the order to apply them.",
        panel=OUTPUT,
    )

    # apply and review
    dry_run: bool = option(
        "--dry-run", default=False, help="Write nothing; print the patch (same as graphfix diff).", panel=FIXES
    )
    kept_patch: Path | None = option(
        "--output",
        metavar="FILE",
        help="Save the patch to this file; git apply -R FILE undoes the fixes.",
        panel=FIXES,
        show_default=False,
    )
    allow_dirty: bool = option(
        "--allow-dirty", default=False, help="Write files even if git could not restore them.", panel=FIXES
    )
    verify: str | None = option(
        "--verify",
        metavar="COMMAND",
        help="Keep only fixes with which this command still succeeds and computes the same.",
        panel=FIXES,
        again=True,
    )
    timeout: float = option("--timeout", default=600, min=1, metavar="SECONDS", help="Time limit of each run.", panel=RUNNING)
    restart: bool = option("--restart", default=False, help="Discard the answers of an interrupted review.", panel=FIXES)

    # pr
    branch: str = option(
        "--branch", default="graphfix/autograd", metavar="NAME", help="Name of the branch to create.", panel=BRANCH
    )
    base: str = option(
        "--base", default="", metavar="BRANCH", help="Branch to merge into; the current branch if not given.", panel=BRANCH
    )
    check: str = option(
        "--check",
        default="",
        metavar="COMMAND",
        help="Run this command on a copy with the fixes; create no branch if it fails.",
        panel=RUNNING,
    )
    push: str = option("--push", default="", metavar="REMOTE", help="Push the branch to this remote.", panel=BRANCH)
    open: bool = option("--open", default=False, help="Open the pull request, with a token from the environment.", panel=BRANCH)
    draft: bool = option("--draft", default=False, help="Open the pull request as a draft.", panel=BRANCH)
    update: bool = option(
        "--update", default=False, help="Update the branch and the text of its open pull request.", panel=BRANCH
    )
    split: Split | None = option(
        "--split",
        metavar=either(Split),
        help="Create one branch per rule, per top-level folder or per code owner.",
        panel=BRANCH,
        show_default=False,
    )
    forge: ForgeKind | None = option(
        "--forge",
        metavar=either(ForgeKind),
        help="Software of the remote's host, if its name does not tell.",
        panel=BRANCH,
        show_default=False,
    )
    text_file: Path | None = option(
        "--output", "-o", metavar="FILE", help="Write the text of the pull request to this file.", panel=OUTPUT
    )

    # campaign
    action: Action = argument(Action.STATUS, metavar=either(Action), help="The step to take.")
    campaign: Path = argument(Path("."), metavar="[FOLDER]", help="Folder of the campaign.")
    push_all: bool = option("--push", default=False, help="run, update: push the branches.", panel=BRANCH)
    open_all: bool = option(
        "--open",
        default=False,
        help="run, update: open or update the pull requests, with a token from the environment.",
        panel=BRANCH,
    )
    retry_failed: bool = option(
        "--retry-failed", default=False, help="run: retry the repositories that failed.", panel=REPOSITORIES
    )
    withdraw: bool = option("--withdraw", default=False, help="close: also close the open pull requests.", panel=BRANCH)
    from_findings: list[Path] | None = option(
        "--from-findings",
        metavar="FILE",
        help="plan, run: take repositories and rules from earlier findings (SARIF or JSON).",
        panel=REPOSITORIES,
    )
    workers: int | None = option(
        "--workers", min=1, metavar="N", help="Number of repositories at a time.", panel=RUNNING, show_default=False
    )
    engine: Engine = option(
        "--engine", default=Engine.LOCAL, metavar=either(Engine), help="Work on this machine or on a Dask cluster.", panel=RUNNING
    )
    scheduler: str = option("--scheduler", default="", metavar="ADDRESS", help="Address of the Dask scheduler.", panel=RUNNING)
    report_format: ReportFormat = option(
        "--output-format", default=ReportFormat.TEXT, metavar=either(ReportFormat), help="report: its format.", panel=OUTPUT
    )

    # rule
    no_pager: bool = option("--no-pager", default=False, help="Print a long page without a pager.", panel=OUTPUT)

    # help
    topic: str = argument(
        "", metavar="[COMMAND]", autocompletion=_commands, help="The command; without it, all commands are listed."
    )

    # config
    settings_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="Format of the list.", panel=OUTPUT
    )
    schema: bool = option("--schema", default=False, help="Print the JSON schema of all settings instead.", panel=OUTPUT)
    row: str = option(
        "--row",
        default="",
        metavar="NAME",
        help="Print instead what is known of a function (mylib.losses.total) or method (.append).",
        panel=OUTPUT,
        show_default=False,
    )

    # verify
    module: bool = option("--module", "-m", default=False, help="SCRIPT is a module name, as with python -m.", panel=RUNNING)
    python: str | None = option(
        "--python",
        metavar="PYTHON",
        help="Python interpreter to run the script with; it needs PyTorch.",
        panel=RUNNING,
        show_default=False,
    )
    project: Path | None = option(
        "--project", metavar="DIR", help="Folder to copy and fix; by default the script's git work tree or folder.", panel=RUNNING
    )
    seed: int = option(
        "--seed", default=0, metavar="N", help="Seed of torch, random, numpy and hashes in all runs.", panel=RUNNING
    )
    only: list[str] | None = option(
        "--select",
        metavar="CODES",
        autocompletion=completion.rules,
        help="Use only these rules (codes, prefixes or names).",
        panel=SELECTED,
        setting="select",
    )
    case: list[str] | None = option("--case", metavar="NAME", help="Run only these fixtures, such as gru_state.", panel=SELECTED)
    device: Device = option(
        "--device",
        default=Device.ALL,
        metavar=either(Device),
        help="Device to run on; all: each device that is present.",
        panel=RUNNING,
    )
    verdict_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="Format of the verdicts.", panel=OUTPUT
    )
    plot: Path | None = option(
        "--plot", metavar="FILE", help="Draw the graph of one fixture, or of the script, as .svg or .png.", panel=OUTPUT
    )
    fixtures: Path | None = option(
        "--fixtures", metavar="DIR", help="Use the fixtures in this folder instead of the bundled ones.", panel=SELECTED
    )

    # trace
    max_iterations: int = option(
        "--max-iterations",
        default=0,
        min=0,
        metavar="N",
        help="Stop the program after N backward passes; 0 for no limit.",
        panel=RUNNING,
    )
    after: float | None = option(
        "--after", min=0.1, metavar="SECONDS", help="Stop the program after this time.", panel=RUNNING, show_default=False
    )
    apply_fixes: bool = option(
        "--apply", default=False, help="Apply the fixes that are shown (same as graphfix apply).", panel=FIXES
    )
    save: Path | None = option("--save", metavar="FILE", help="Save what the run showed as JSON, for --evidence.", panel=OUTPUT)

    # why
    error: list[str] | None = argument(
        metavar="[FILE | MESSAGE]...", help="A log file, or the error message; standard input if not given."
    )
    frames_in: Path | None = option(
        "--project", metavar="PATH", help="Folder or notebook that holds the code of the traceback.", panel=SELECTED
    )
    why_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="Format of the explanation.", panel=OUTPUT
    )

    # what `settled` adds
    settings: "Resolver | None" = None
    reproduce: tuple[str, ...] = ()
    typed: "Options | None" = None

    @property
    def places(self) -> tuple[str, ...]:
        """The paths to examine: where none is named the working directory, or standard input if that has a name."""
        return tuple(self.paths or ["." if self.stdin_filename is None else "-"])

    def with_streams(self) -> "Options":
        """The same, where - as the file to write is standard output."""
        names = ("output_file", "patch_file", "text_file")
        named: dict[str, Any] = {name: None for name in names if getattr(self, name) == STANDARD_OUTPUT}
        return replace(self, **named) if named else self

    @property
    def stdin(self) -> bool:
        """Whether the code comes from standard input."""
        return "-" in self.places

    @property
    def unsafe(self) -> bool:
        """Whether unsafe fixes are wanted."""
        return bool(self.unsafe_fixes)

    @property
    def form(self) -> str:
        """How findings are written, by its name in `FORMS`."""
        return self.output_format or "text"


DECLARED: dict[str, "Field[Any]"] = {one.name: one for one in fields(Options) if one.metadata}


def picked(picks: tuple[str, ...]) -> Iterator["Field[Any]"]:
    """The options that a command has, in the order of its picks, each the name of an option or of a group."""
    for pick in picks:
        found = [one for one in DECLARED.values() if pick in (one.name, one.metadata["group"])]
        assert found, f"no option and no group is called {pick}"
        yield from found
