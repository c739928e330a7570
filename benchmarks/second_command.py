"""What a command costs after another one has analysed the project: CPU of each, and its share of the first analysis.

`python3 -m benchmarks.second_command FOLDER [--runs N] [--command COMMAND]`: FOLDER is copied without its history, and committed. `check`
analyses the copy first; every other command then finds what that run has kept, and nothing more. Told are the least seconds of CPU of N
runs, with those of all child processes; then without the start, which is what `check` takes for one file without PyTorch; and what
that is of the first analysis. A campaign clones the project to another place: its `plan` is a first analysis, its `run` goes by that.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphfix.files.discovery import discover

IDENTITY = {f"GIT_{role}_{what}": "benchmark@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
OWN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": ""}
FIRST = ("check", ".")
SECOND = (
    FIRST,
    ("diff", "."),
    ("check", "--select", "GF101", "."),
    ("check", "--output-format", "json", "."),
    ("check", "--output-format", "github", "."),
    ("check", "--unsafe-fixes", "."),
    ("pr", "--update", "."),
    ("apply", "."),
)


@dataclass(frozen=True)
class Place:
    """Where commands run. `kept`: the folder of their cache."""

    command: tuple[str, ...]
    project: Path
    kept: Path

    def seconds(self, *words: str, folder: Path | None = None) -> float:
        """The CPU that one command takes, in the project or in a `folder` of it."""
        environment = {**os.environ, **IDENTITY, **OWN, "GRAPHFIX_CACHE_DIR": str(self.kept)}
        process = subprocess.Popen(
            (*self.command, *words), cwd=folder or self.project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        problems = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            print(f"graphfix {shlex.join(words)}: exit code {process.returncode}: {problems.decode()}", file=sys.stderr)
        return usage.ru_utime + usage.ru_stime

    def begin(self, kept: Path | None) -> None:
        """The project as it was committed, and a cache that holds what `kept` does, or nothing."""
        git(self.project, "checkout", "--quiet", ".")
        shutil.rmtree(self.kept, ignore_errors=True)
        if kept is not None:
            shutil.copytree(kept, self.kept)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.second_command")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--command", default=shlex.join((sys.executable, "-m", "graphfix")), help="the graphfix that is measured")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(os.path.realpath(temporary))
        place = Place(tuple(shlex.split(given.command)), here / "project", here / "kept")
        shutil.copytree(given.folder, place.project, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        committed(place.project)
        measure(place, here, given.runs)
    return 0


def measure(place: Place, here: Path, runs: int) -> None:
    """Print all rows."""
    (here / "plain").mkdir()
    (here / "plain/plain.py").write_text("x = 1\n")
    start = min(place.seconds("check", "--no-cache", ".", folder=here / "plain") for _ in range(runs + 1))
    files = discover([place.project]).files
    print(f"{len(files)} files; the start takes {start:.2f} s")
    print(f"{'CPU in seconds':<36} {'all':>8} {'without the start':>18} {'of the first':>13}")
    first = least(runs, lambda: place.begin(None), lambda: place.seconds(*FIRST))
    row("check, the first", first, start, first)
    kept = here / "first"
    shutil.copytree(place.kept, kept)
    for words in SECOND:
        seconds = least(runs, lambda: place.begin(kept), partial(place.seconds, *words))
        row(shlex.join(words[:-1]), seconds, start, first)
    inner = Counter(file.relative_to(place.project).parts[0] for file in files if file.parent != place.project)
    for name, number in inner.most_common(1):
        folder = place.project / name
        seconds = least(runs, lambda: place.begin(kept), partial(place.seconds, "check", ".", folder=folder))
        row(f"check, in {name} ({number} files)", seconds, start, first)
    place.begin(None)
    campaign = here / "campaign"
    campaign.mkdir()
    (campaign / "campaign.toml").write_text(f"[targets]\nurls = {json.dumps([place.project.as_uri()])}\n")
    for action in ("plan", "run"):
        row(f"campaign {action}", place.seconds("campaign", action, "--quiet", str(campaign)), start, first)


def least(runs: int, begin: Callable[[], None], seconds: Callable[[], float]) -> float:
    """The least seconds of some runs, before each of which all is as it was."""
    found = []
    for _ in range(runs):
        begin()
        found.append(seconds())
    return min(found)


def row(name: str, seconds: float, start: float, first: float) -> None:
    """One row of the table."""
    own = max(0.0, seconds - start)
    print(f"{name:<36} {seconds:8.2f} {own:18.2f} {own / (first - start):13.1%}", flush=True)


def committed(folder: Path) -> None:
    """Make a folder a repository with one commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")


def git(folder: Path, *words: str) -> None:
    subprocess.run(("git", *words), cwd=folder, check=True, env={**os.environ, **IDENTITY, **OWN})


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
