"""Whether programs behave under the probe as without: what they print, how they end, and in which order they call what.

usage: python -m benchmarks.transparent FOLDER... [--limit SECONDS] [--workers N]

Runs each Python file below the folders in a copy of its own, seeded, in forks of one import of torch: twice without the instrument,
then under each of its modes. Printed is each difference, and how many programs were compared. A program that prints something else
when it is run again is compared by its end alone, and counted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import runpy
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHOUT, AGAIN = "without", "without, again"
MODES = ("plain", "saved", "traced")
SERVE = "--serve-probe"
CHOICE = "BENCHMARK_OF_THE_PROBE"  # in the environment of the server's fork
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Behaviour:
    """What is seen of a run from outside. `last`: the last line on stderr, where it ended badly."""

    code: int | None
    stdout: str
    last: str


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="for each run")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    options = parser.parse_args(words)
    programs = [(folder, path) for folder in options.folders for path in sorted(folder.rglob("*.py"))]
    seen = behaviours(programs, (WITHOUT, AGAIN, *MODES), options.limit, options.workers)
    unsteady = [first != again for first, again in zip(seen[WITHOUT], seen[AGAIN])]
    found = 0
    for mode in MODES:
        for at, (folder, path) in enumerate(programs):
            first, again, now = seen[WITHOUT][at], seen[AGAIN][at], seen[mode][at]
            if now.code not in (first.code, again.code) if unsteady[at] else now != first:
                found += 1
                print(f"{folder / path} ({mode}):\n  without {shown(first, now)}\n  with    {shown(now, first)}")
    print(f"{len(programs)} programs, {sum(unsteady)} of them compared by their end alone: {found} differences")
    return 1 if found else 0


def behaviours(
    programs: Sequence[tuple[Path, Path]], modes: Sequence[str], limit: float = 120.0, workers: int = 2
) -> dict[str, list[Behaviour]]:
    """How each program, which lies below the folder named with it, behaves in each mode."""
    from graphfix.verify.launch import Job, launch_all

    with tempfile.TemporaryDirectory() as kept:
        jobs: list[Job] = []
        for mode in modes:
            for folder, path in programs:
                copy = copied(folder, path.relative_to(folder), Path(kept, str(len(jobs))))
                chosen = {CHOICE: mode}
                jobs.append(Job(copy.name, folder=copy.parent, seed=0, saved=mode == "saved", limit=limit, environment=chosen))
        runs = dict(launch_all(jobs, workers, (sys.executable, str(Path(__file__).resolve()), SERVE)))
        each = [
            Behaviour(run.exit_code, masked(run.stdout, kept), masked(last_line(run.stderr), kept) if run.exit_code else "")
            for _, run in sorted(runs.items(), key=lambda item: item[0])
        ]
        return {mode: each[at * len(programs) : (at + 1) * len(programs)] for at, mode in enumerate(modes)}


def copied(folder: Path, inside: Path, target: Path) -> Path:
    """The path of a copy of the program, with what lies beside it."""
    target.mkdir()
    if len(inside.parts) > 1:
        shutil.copytree(folder / inside.parts[0], target / inside.parts[0], symlinks=True)
    else:
        shutil.copy(folder / inside, target)
    return target / inside


def last_line(stderr: str) -> str:
    return stderr.strip().rpartition("\n")[2]


def masked(text: str, folder: str) -> str:
    """`text` without what differs from one process to another."""
    return re.sub(re.escape(folder) + r"/\d+", "FOLDER", ADDRESS.sub("0x", text))


def shown(one: Behaviour, other: Behaviour) -> str:
    """What `one` has that `other` has not."""
    if one.code != other.code or one.stdout == other.stdout:
        return f"ends with {one.code}: {one.last}"
    lines, others = one.stdout.splitlines(), other.stdout.splitlines()
    at = next((at for at, line in enumerate(lines) if at >= len(others) or line != others[at]), len(lines))
    return f"prints in line {at + 1}: {lines[at] if at < len(lines) else '(nothing)'}"


def serve(probe: str, *words: str) -> None:
    """Be the probe's server, of which each fork lays the instrument over torch or not."""
    runpy.run_path(probe)["load"]()
    start, script = (importlib.import_module(f"_graphfix_probe.{name}") for name in ("start", "script"))
    watch = vars(script)["_start_watching"]

    def chosen(report: Any) -> None:
        mode = os.environ.pop(CHOICE)
        if mode in (WITHOUT, AGAIN):
            vars(script)["_sow"](report.request.seed)
            return
        report.request.trace = 0 if mode == "traced" else -1
        watch(report)

    vars(script)["_start_watching"] = chosen
    start.main(list(words))


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        serve(*sys.argv[2:])
    else:
        sys.exit(main())
