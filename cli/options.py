"""Every option of the command line, declared once: how it is typed, what it is called here, what it stands for."""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphfix.report.forms import FORMS

if TYPE_CHECKING:
    from graphfix.settings.resolver import Resolver


class ListFormat(str, enum.Enum):
    """For people or for machines."""

    TEXT = "text"
    JSON = "json"


class Device(str, enum.Enum):
    """Where fixtures are run."""

    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"
    ALL = "all"


class Stock(str, enum.Enum):
    """What is done with the cache."""

    DIR = "dir"
    SIZE = "size"
    CLEAN = "clean"


class Action(str, enum.Enum):
    """What is done with a campaign."""

    INIT = "init"
    PLAN = "plan"
    RUN = "run"
    STATUS = "status"
    REPORT = "report"
    UPDATE = "update"
    CLOSE = "close"


class Engine(str, enum.Enum):
    """Where a campaign's repositories are worked on."""

    LOCAL = "local"
    DASK = "dask"


class ReportFormat(str, enum.Enum):
    """How a campaign is told of."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class Split(str, enum.Enum):
    """What gets a pull request of its own."""

    RULE = "rule"
    FOLDER = "folder"
    OWNER = "owner"


class ForgeKind(str, enum.Enum):
    """What a host of repositories runs."""

    GITHUB = "github"
    GITLAB = "gitlab"


class When(str, enum.Enum):
    """Where lines are coloured; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


STANDARD_OUTPUT = Path("-")

# options that always come together: a command that picks the group has all of them, in the order of their declarations
SELECTION = "selection"
SETTINGS = "settings"
PROCESS = "process"


def option(*flags: str, default: object = None, group: str = "", setting: str = "", again: bool = False, **typed: Any) -> Any:
    """A field of `Options` that is typed as `flags`.

    `setting`: the setting that it takes the place of. `again`: it decides what is repaired, so that who makes the same
    repairs again has to type it again.
    """
    return field(
        default=default, metadata={"typed": typer.Option(*flags, **typed), "group": group, "setting": setting, "again": again}
    )


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


@dataclass(frozen=True, eq=False, repr=False)
class Options:
    """What the user asked for, of every command: each picks the fields that it has by name or by group.

    `settled` puts what the settings files say in the place of what was not typed, and leaves their `settings` here, and what was
    `typed`.
    """

    paths: list[str] | None = argument(metavar="[PATHS]...", help="Files, notebooks or folders, or - for stdin.")
    stock: Stock = argument(Stock.DIR, metavar=either(Stock), help="Where it is, how large, or take it away.")
    path: str = argument(".", metavar="[PATH]", help="The file or folder whose settings are wanted.")
    code: str = argument("", metavar="[CODE]", help="A rule's code or name; all rules without it.")
    words: list[str] | None = argument(
        metavar="[SCRIPT] [-- ARGS]...", help="A script of yours, and what it is started with; none for the fixtures."
    )

    select: list[str] | None = option(
        "--select",
        metavar="CODES",
        help="Only these codes, prefixes or names, with their optional findings; ALL for all.",
        group=SELECTION,
        setting="select",
        again=True,
    )
    extend_select: list[str] | None = option(
        "--extend-select",
        metavar="CODES",
        help="These codes, prefixes or names, too.",
        group=SELECTION,
        setting="extend-select",
        again=True,
    )
    ignore: list[str] | None = option(
        "--ignore", metavar="CODES", help="Not these codes, prefixes or names.", group=SELECTION, setting="ignore", again=True
    )
    extend_exclude: list[str] | None = option(
        "--extend-exclude",
        metavar="PATTERNS",
        help="Files and folders to leave out.",
        group=SELECTION,
        setting="extend-exclude",
        again=True,
    )
    force_exclude: bool | None = option(
        "--force-exclude/--no-force-exclude",
        help="Leave out excluded files even where they are named.",
        show_default=False,
        group=SELECTION,
        setting="force-exclude",
        again=True,
    )
    unsafe_fixes: bool | None = option(
        "--unsafe-fixes/--no-unsafe-fixes",
        help="Also fixes that may change what a run computes.",
        show_default=False,
        setting="unsafe-fixes",
        again=True,
    )
    baseline: str | None = option(
        "--baseline",
        metavar="FILE",
        help="Pass over the findings that this file lists; '' for none.",
        show_default=False,
        setting="baseline",
        again=True,
    )
    evidence: list[Path] | None = option(
        "--evidence",
        metavar="FILE",
        help="Use evidence saved by graphfix trace --save.",
        show_default=False,
        again=True,
    )
    config: Path | None = option(
        "--config", metavar="FILE", help="Take settings from this file only.", group=SETTINGS, again=True
    )
    isolated: bool = option("--isolated", default=False, help="Read no settings files.", group=SETTINGS, again=True)
    stdin_filename: Path | None = option("--stdin-filename", metavar="PATH", help="Name of stdin's code.")
    jobs: int | None = option(
        "--jobs", "-j", min=0, metavar="N", help="Processes; 0 for one per processor.", group=PROCESS, setting="jobs"
    )
    no_cache: bool = option("--no-cache", default=False, help="Neither use nor keep what runs have found.", group=PROCESS)
    quiet: bool = option("--quiet", "-q", default=False, help="No summary.", group=PROCESS)
    verbose: bool = option(
        "--verbose", "-v", default=False, help="Tracebacks of internal errors, what was refused or left out.", group=PROCESS
    )

    color: When = option(
        "--color",
        default=When.AUTO,
        metavar=either(When),
        help="Colours; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say.",
    )

    # what is written of findings
    write_baseline: Path | None = option(
        "--write-baseline", metavar="FILE", help="List all findings in this file, as those to pass over from now on."
    )
    report_unused_suppressions: bool | None = option(
        "--report-unused-suppressions/--no-report-unused-suppressions",
        help="Exit 1 where a suppression silences nothing.",
        show_default=False,
        setting="report-unused-suppressions",
    )
    output_format: str | None = option(
        "--output-format",
        **one_of(FORMS),
        help="How findings are written.",
        show_default=False,
        setting="output-format",
    )
    output_file: Path | None = option(
        "--output-file", "-o", metavar="FILE", help="Write the findings there, not to standard output."
    )
    statistics: bool = option("--statistics", default=False, help="Count findings by rule and by what can be done about them.")
    watch: bool = option("--watch", default=False, help="Check again what a change touches, until Ctrl-C.")

    exit_zero: bool = option("--exit-zero", default=False, help="Exit 0 even if there are findings.")
    fix: bool = option("--fix", default=False, help="Apply safe fixes (same as `graphfix apply`).")
    diff: bool = option("--diff", default=False, help="Do as diff does, instead of telling the findings; nothing is written.")

    # diff
    patch_file: Path | None = option("--output", "-o", metavar="FILE", help="Write the patch there.")
    by_rule: Path | None = option("--by-rule", metavar="DIR", help="Write one patch for each rule there, to be applied in order.")

    # apply and review
    dry_run: bool = option("--dry-run", default=False, help="Write nothing, print the patch as diff does.")
    kept_patch: Path | None = option(
        "--output", metavar="FILE", help="Leave the patch of what was changed there, for git apply -R.", show_default=False
    )
    allow_dirty: bool = option("--allow-dirty", default=False, help="Write files that git could not restore.")
    verify: str | None = option(
        "--verify",
        metavar="COMMAND",
        help="Keep the fixes with which this command runs, and computes what it did.",
        again=True,
    )
    timeout: float = option("--timeout", default=600, min=1, metavar="SECONDS", help="The time that each run may take.")
    restart: bool = option("--restart", default=False, help="Forget the answers of a review that was stopped.")

    # pr
    branch: str = option("--branch", default="graphfix/autograd", metavar="NAME", help="The branch to make.")
    base: str = option("--base", default="", metavar="BRANCH", help="The branch to merge into: the one that is checked out.")
    check: str = option(
        "--check", default="", metavar="COMMAND", help="Run this in a copy with the repairs; no branch where it fails."
    )
    push: str = option("--push", default="", metavar="REMOTE", help="Push the branch there.")
    open: bool = option("--open", default=False, help="Open the pull request, with a token from the environment.")
    draft: bool = option("--draft", default=False, help="Open it as a draft.")
    update: bool = option("--update", default=False, help="Make the branch, and the text of its open pull request, anew.")
    split: Split | None = option(
        "--split", metavar=either(Split), help="One branch for each rule, top folder or owner of files.", show_default=False
    )
    forge: ForgeKind | None = option(
        "--forge", metavar=either(ForgeKind), help="What the remote's host runs, where its name does not say.", show_default=False
    )
    text_file: Path | None = option("--output", "-o", metavar="FILE", help="Write the pull request's text there.")

    # campaign
    action: Action = argument(Action.STATUS, metavar=either(Action), help="What is done with it.")
    campaign: Path = argument(Path("."), metavar="[FOLDER]", help="The campaign's folder.")
    push_all: bool = option("--push", default=False, help="run, update: push the branches.")
    open_all: bool = option(
        "--open", default=False, help="run, update: open or renew the pull requests, with a token from the environment."
    )
    retry_failed: bool = option("--retry-failed", default=False, help="run: begin anew with the repositories that have failed.")
    withdraw: bool = option("--withdraw", default=False, help="close: close the pull requests that are open, too.")
    from_findings: list[Path] | None = option(
        "--from-findings", metavar="FILE", help="plan, run: the repositories and rules of earlier findings, as SARIF or JSON."
    )
    workers: int | None = option("--workers", min=1, metavar="N", help="Repositories at a time.", show_default=False)
    engine: Engine = option(
        "--engine", default=Engine.LOCAL, metavar=either(Engine), help="Work on this machine, or on a Dask cluster."
    )
    scheduler: str = option("--scheduler", default="", metavar="ADDRESS", help="The scheduler of the Dask cluster.")
    report_format: ReportFormat = option(
        "--output-format", default=ReportFormat.TEXT, metavar=either(ReportFormat), help="report: how it is written."
    )

    # rule
    no_pager: bool = option("--no-pager", default=False, help="Print a long page at once, without a pager.")

    # config
    settings_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="How the settings are listed."
    )
    schema: bool = option("--schema", default=False, help="Print the JSON schema of the settings instead.")

    # verify
    module: bool = option("--module", "-m", default=False, help="SCRIPT is the name of a module, as for python -m.")
    python: str | None = option("--python", metavar="PYTHON", help="The interpreter to run the script with.", show_default=False)
    project: Path | None = option(
        "--project", metavar="DIR", help="What is copied and repaired: the script's git work tree, or its folder."
    )
    seed: int = option("--seed", default=0, metavar="N", help="The seed of torch, random, numpy and hashes in all runs.")
    only: list[str] | None = option("--select", metavar="CODES", help="Only these codes, prefixes or names.", setting="select")
    case: list[str] | None = option("--case", metavar="NAME", help="Only these fixtures, such as gru_state.")
    device: Device = option(
        "--device", default=Device.ALL, metavar=either(Device), help="Where to run; all: on each device that is present."
    )
    verdict_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="How verdicts are written."
    )
    plot: Path | None = option("--plot", metavar="FILE", help="Draw one fixture's graphs, or the script's, as .svg or .png.")
    fixtures: Path | None = option("--fixtures", metavar="DIR", help="Another folder of fixtures than the bundled.")

    # trace
    max_iterations: int = option(
        "--max-iterations", default=0, min=0, metavar="N", help="End the program after N backward passes; 0: as it likes."
    )
    after: float | None = option(
        "--after", min=0.1, metavar="SECONDS", help="End the program after this time.", show_default=False
    )
    apply_fixes: bool = option("--apply", default=False, help="Make the repairs that are shown, as apply does.")
    save: Path | None = option("--save", metavar="FILE", help="Keep what the run told, as JSON.")

    # why
    error: list[str] | None = argument(metavar="[FILE | MESSAGE]...", help="A log, or what PyTorch says; without it, stdin.")
    frames_in: Path | None = option("--project", metavar="PATH", help="Where the code of the traceback is: a folder or notebook.")
    why_format: ListFormat = option(
        "--output-format", default=ListFormat.TEXT, metavar=either(ListFormat), help="How the explanation is written."
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
