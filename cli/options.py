"""Option types shared by the commands."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


class OutputFormat(str, enum.Enum):
    """How findings are written."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"


class Device(str, enum.Enum):
    """Where fixtures are run."""

    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"
    ALL = "all"


class VerdictFormat(str, enum.Enum):
    """How verdicts are written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class Options:
    """What the user asked for, the same for every command that examines files."""

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    stdin_filename: Path | None = None
    jobs: int = 0
    quiet: bool = False
    verbose: bool = False

    @property
    def stdin(self) -> bool:
        """Whether the code comes from standard input."""
        return "-" in self.paths


Paths = Annotated[list[str] | None, typer.Argument(metavar="[PATHS]...", help="Files, notebooks or folders, or - for stdin.")]
Select = Annotated[list[str] | None, typer.Option("--select", metavar="CODES", help="Only these codes or prefixes, with their optional findings.")]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="CODES", help="Not these codes or prefixes.")]
Unsafe = Annotated[bool, typer.Option("--unsafe-fixes", help="Also fixes that may change what a run computes.")]
Format = Annotated[OutputFormat, typer.Option("--output-format", help="How findings are written.")]
StdinFilename = Annotated[Path | None, typer.Option("--stdin-filename", metavar="PATH", help="Name of stdin's code.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, metavar="N", help="Processes; 0 for one per processor.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tracebacks of internal errors, what was refused or left out.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing.")]
AllowDirty = Annotated[bool, typer.Option("--allow-dirty", help="Write files that git could not restore.")]
Cases = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only these fixtures, such as gru_state.")]
Devices = Annotated[Device, typer.Option("--device", help="Where to run; all: on each device that is present.")]
VerdictForm = Annotated[VerdictFormat, typer.Option("--output-format", help="How verdicts are written.")]
Fixtures = Annotated[Path | None, typer.Option("--fixtures", metavar="DIR", help="Another folder of fixtures than the bundled.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw one fixture's graphs into an .svg or .png.")]
Selected = Annotated[list[str] | None, typer.Option("--select", metavar="CODES", help="Only these codes or prefixes.")]
