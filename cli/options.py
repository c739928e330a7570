"""Option types shared by the commands."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graphfix.settings.resolver import Resolver


class OutputFormat(str, enum.Enum):
    """How findings are written."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"
    RDJSON = "rdjson"


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


class Split(str, enum.Enum):
    """What gets a pull request of its own."""

    RULE = "rule"
    FOLDER = "folder"
    OWNER = "owner"


class ForgeKind(str, enum.Enum):
    """What a host of repositories runs."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True)
class Options:
    """What the user asked for, the same for every command that examines files.

    `settings` has what the settings files say, with the command line on top; without it, only what stands here counts.
    """

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    stdin_filename: Path | None = None
    jobs: int = 0
    quiet: bool = False
    verbose: bool = False
    form: OutputFormat = OutputFormat.TEXT
    output_file: Path | None = None
    statistics: bool = False
    force_exclude: bool = False
    baseline: Path | None = None
    strict: bool = False
    settings: Resolver | None = None

    @property
    def stdin(self) -> bool:
        """Whether the code comes from standard input."""
        return "-" in self.paths


Paths = Annotated[list[str] | None, typer.Argument(metavar="[PATHS]...", help="Files, notebooks or folders, or - for stdin.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="CODES", help="Only these codes or prefixes, with their optional findings."),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="CODES", help="Not these codes or prefixes.")]
ExtendSelect = Annotated[list[str] | None, typer.Option("--extend-select", metavar="CODES", help="These codes or prefixes, too.")]
ExtendExclude = Annotated[
    list[str] | None,
    typer.Option("--extend-exclude", metavar="PATTERNS", help="Files and folders to leave out."),
]
ForceExclude = Annotated[
    bool | None,
    typer.Option(
        "--force-exclude/--no-force-exclude",
        help="Leave out excluded files even where they are named.",
        show_default=False,
    ),
]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Take settings from this file only.")]
Isolated = Annotated[bool, typer.Option("--isolated", help="Read no settings files.")]
Unsafe = Annotated[
    bool | None,
    typer.Option("--unsafe-fixes/--no-unsafe-fixes", help="Also fixes that may change what a run computes.", show_default=False),
]
BaselineFile = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Pass over the findings that this file lists; '' for none.",
        show_default=False,
    ),
]
WriteBaseline = Annotated[
    Path | None,
    typer.Option("--write-baseline", metavar="FILE", help="List all findings in this file, as those to pass over from now on."),
]
ReportUnused = Annotated[
    bool | None,
    typer.Option(
        "--report-unused-suppressions/--no-report-unused-suppressions",
        help="Exit 1 where a suppression silences nothing.",
        show_default=False,
    ),
]
Format = Annotated[OutputFormat | None, typer.Option("--output-format", help="How findings are written.", show_default=False)]
OutputFile = Annotated[
    Path | None, typer.Option("--output-file", "-o", metavar="FILE", help="Write the findings there, not to standard output.")
]
PatchFile = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the patch there.")]
ByRule = Annotated[
    Path | None, typer.Option("--by-rule", metavar="DIR", help="Write one patch for each rule there, to be applied in order.")
]
Statistics = Annotated[bool, typer.Option("--statistics", help="Count findings by rule and by what can be done about them.")]
StdinFilename = Annotated[Path | None, typer.Option("--stdin-filename", metavar="PATH", help="Name of stdin's code.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=0, metavar="N", help="Processes; 0 for one per processor.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tracebacks of internal errors, what was refused or left out.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing, print the patch as diff does.")]
AllowDirty = Annotated[bool, typer.Option("--allow-dirty", help="Write files that git could not restore.")]
Restart = Annotated[bool, typer.Option("--restart", help="Forget the answers of a review that was stopped.")]
Branch = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch to make.")]
Base = Annotated[str, typer.Option("--base", metavar="BRANCH", help="The branch to merge into: the one that is checked out.")]
CheckCommand = Annotated[
    str, typer.Option("--check", metavar="COMMAND", help="Run this in a copy with the repairs; no branch where it fails.")
]
Push = Annotated[str, typer.Option("--push", metavar="REMOTE", help="Push the branch there.")]
Open = Annotated[bool, typer.Option("--open", help="Open the pull request, with a token from the environment.")]
Draft = Annotated[bool, typer.Option("--draft", help="Open it as a draft.")]
Update = Annotated[bool, typer.Option("--update", help="Make the branch, and the text of its open pull request, anew.")]
SplitBy = Annotated[
    Split | None, typer.Option("--split", help="One branch for each rule, top folder or owner of files.", show_default=False)
]
Forge = Annotated[
    ForgeKind | None,
    typer.Option("--forge", help="What the remote's host runs, where its name does not say.", show_default=False),
]
TextFile = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the pull request's text there.")]
ConfigFormat = Annotated[ListFormat, typer.Option("--output-format", help="How the settings are listed.")]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the settings instead.")]
Cases = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only these fixtures, such as gru_state.")]
Devices = Annotated[Device, typer.Option("--device", help="Where to run; all: on each device that is present.")]
VerdictForm = Annotated[ListFormat, typer.Option("--output-format", help="How verdicts are written.")]
Fixtures = Annotated[Path | None, typer.Option("--fixtures", metavar="DIR", help="Another folder of fixtures than the bundled.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw one fixture's graphs, or the script's, as .svg or .png.")
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCRIPT] [-- ARGS]...", help="A script of yours, and what it is started with; none for the fixtures."
    ),
]
Module = Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module, as for python -m.")]
PythonName = Annotated[
    str | None, typer.Option("--python", metavar="PYTHON", help="The interpreter to run the script with.", show_default=False)
]
ProjectFolder = Annotated[
    Path | None,
    typer.Option("--project", metavar="DIR", help="What is copied and repaired: the script's git work tree, or its folder."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of torch, random, numpy and hashes in all runs.")]
Timeout = Annotated[float, typer.Option("--timeout", min=1, metavar="SECONDS", help="The time that each run may take.")]
VerifyCommand = Annotated[
    str | None,
    typer.Option("--verify", metavar="COMMAND", help="Keep the fixes with which this command runs, and computes what it did."),
]
Selected = Annotated[list[str] | None, typer.Option("--select", metavar="CODES", help="Only these codes or prefixes.")]
