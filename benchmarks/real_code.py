"""Run graphfix over a folder of real code, and compare what it finds with what it found before.

usage: python3 -m benchmarks.real_code FOLDER [--stored LIST] [--write] [--sample N] [--jobs N]

LIST has one finding a line. Findings that it lacks are shown with +, those that are gone with -. `--write` puts those of
this run into it. Exit 1: a file ended in an internal error, in a fix that breaks it, or the findings differ.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted
from graphfix.run.workers import examine_all, processors


@dataclass
class Tally:
    """What one run over a folder has shown."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)  # of graphfix
    findings: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome, folder: Path) -> None:
        self.outcomes[outcome.status.value] += 1
        self.add_faults(outcome, folder)
        name = outcome.path.relative_to(folder).as_posix()
        if outcome.source is not None:
            index = outcome.source.index()
            self.findings += [f"{name}:{index.place(found.span.start)[0]} {found.code}" for found in outcome.findings]

    def add_faults(self, outcome: Outcome, folder: Path) -> None:
        name = outcome.path.relative_to(folder).as_posix()
        self.faults += [f"{name}: {outcome.reason}"] if outcome.status is Status.INTERNAL else []
        self.faults += [f"{name}: {fault}" for fault in (*outcome.faults, *outcome.broken)]


def sampled(folder: Path, count: int) -> list[Path]:
    """Files below the folder, the same ones each time; all where `count` is 0."""
    # not as graphfix finds files: a folder of other people's code is often one that git ignores
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb") and path.is_file())
    return sorted(random.Random(0).sample(files, min(count, len(files)))) if count else files


def run_over(folder: Path, files: Sequence[Path], jobs: int) -> Tally:
    """Examine the files, and make the repairs of those with findings without writing them: that shows whether they break it."""
    tally = Tally()
    job = Job((folder,), Wanted(unsafe=True))
    found = []
    for outcome in examine_all(files, job, jobs):
        tally.add(outcome, folder)
        found += [outcome.path] if outcome.findings else []
    for outcome in examine_all(found, replace(job, repair=True), jobs):
        tally.add_faults(outcome, folder)
    return tally


def differences(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """What came and what went, each line as often as it did."""
    old, new = collections.Counter(before), collections.Counter(after)
    changed = [*((line, "-") for line in (old - new).elements()), *((line, "+") for line in (new - old).elements())]
    yield from (f"{sign} {line}" for line, sign in sorted(changed))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stored", type=Path, metavar="LIST")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--jobs", type=int, default=processors(), metavar="N")
    options = parser.parse_args(words)
    tally = run_over(options.folder, sampled(options.folder, options.sample), options.jobs)
    print(
        ", ".join(f"{count} {status}" for status, count in sorted(tally.outcomes.items())),
        f"{len(tally.findings)} findings",
        sep="; ",
    )
    for fault in tally.faults:
        print(f"! {fault}")
    changed: list[str] = []
    if options.stored is not None and options.write:
        options.stored.write_text("".join(f"{line}\n" for line in sorted(tally.findings)))
    elif options.stored is not None:
        changed = list(differences(options.stored.read_text().splitlines(), tally.findings))
        print(*changed, sep="\n", end="\n" if changed else "")
    return 1 if tally.faults or changed else 0


if __name__ == "__main__":
    sys.exit(main())
