"""How many calls that runs make does the call graph name, how many does it leave open, and does it miss any?

usage: python -m benchmarks.calls_against_runs FILE_OR_FOLDER...

Runs each Python file (of a folder: each `before.py`, or else each file), in a fork of this process, and compares each call from its own
code into its own code with what the call graph says of the instruction that makes it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.flow_against_runs import files_in
from tests.calls.calls_made import Compared, compared

LIMIT = 60.0


def look(path: Path) -> list[Compared]:
    """The calls of one program."""
    return list(compared(path.read_text("utf-8")))


def _begin() -> None:
    os.chdir(tempfile.mkdtemp())
    sys.argv = ["train.py"]
    sys.stdout = sys.stderr = open(os.devnull, "w")


def main(names: list[str]) -> int:
    """Print the calls that are missed, and the counts; 1 where there is one."""
    importlib.import_module("torch")  # once, for all forks
    files = [file for name in names for file in files_in(Path(name).resolve())]
    named = left_open = missed = ended = 0
    for file in files:
        with multiprocessing.get_context("fork").Pool(1, _begin) as pool:
            try:
                calls = pool.apply_async(look, (file,)).get(LIMIT)
            except Exception:  # a program that is there to fail
                ended += 1
                continue
        named += sum(call.is_named for call in calls)
        left_open += sum(call.is_open and not call.is_named for call in calls)
        for call in (each for each in calls if not each.is_named and not each.is_open):
            missed += 1
            print(f"{file}:{call.text}")
    print(f"{len(files)} programs, of which {ended} end in an error: {named} calls named, {left_open} left open, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
