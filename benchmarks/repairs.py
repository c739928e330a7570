"""How many generated programs that raise an error of autograd does graphfix repair?

usage: python3 -m benchmarks.repairs [--programs N] [--seed S] [--jobs J] [-v]

Each program runs as it is; where it raises such an error, it runs again with its safe fixes, and with all of its fixes. With -v the seeds of
those that still raise are printed, each with its error and the findings that are left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generated.programs import program
from benchmarks.generated.running import run, warm
from graphfix.rewrite.fixpoint import repair
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts

OF_AUTOGRAD = ("a second time", "inplace operation", "one of the variables needed")


@dataclass(frozen=True)
class Repaired:
    """The errors of a program: as it is, with its safe fixes, and with all; `left`: what is found then."""

    seed: int
    error: str
    safe: str
    unsafe: str
    left: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description="how many generated programs that raise are repaired?")
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    warm()
    seeds = range(options.seed, options.seed + options.programs)
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=100) as pool:
        raised = [found for found in pool.imap(of_seed, seeds, chunksize=4) if found is not None]
    if options.verbose:
        for each in raised:
            if each.unsafe:
                print(f"seed {each.seed}: {each.unsafe[:80]}", *each.left, sep="\n    ")
    safe, unsafe = sum(not each.safe for each in raised), sum(not each.unsafe for each in raised)
    print(f"{len(raised)} of {options.programs} programs raise; {safe} are repaired by safe fixes, {unsafe} by all fixes")


def of_seed(seed: int) -> Repaired | None:
    """What becomes of the program with this seed; None where it raises no error of autograd."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    text = program(seed)
    error = run(text).error
    if not any(words in error for words in OF_AUTOGRAD):
        return None
    safe, _ = fixed(text, Wanted())
    unsafe, left = fixed(text, Wanted(unsafe=True))
    return Repaired(seed, error, run(safe).error, run(unsafe).error, left)


def fixed(text: str, wanted: Wanted) -> tuple[str, tuple[str, ...]]:
    """The text with the fixes that are wanted, and what is found then."""
    path = Path("/nowhere/train.py")
    done = repair(Texts(path, (path.parent,), lambda _: wanted.conventions), text, wanted)  # type: ignore[arg-type]
    return done.text, tuple(f"{finding.code} {finding.message}: {finding.unfixed}" for finding in done.left)


if __name__ == "__main__":
    main()
