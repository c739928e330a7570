"""Where a run has a tensor with a graph to which no way of the flow leads: a proof does not know of it.

usage: python -m benchmarks.flow_against_runs FILE_OR_FOLDER...

Runs each Python file (of a folder: each `before.py`, or else each file) by the executor of the tests on real torch, in a fork of this
process. Not counted are keys of mappings: the flow takes most of them for places in a tensor.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

from graphfix.source.document import Document
from tests.analysis.flow.shown_by_runs import unreached

LIMIT = 60.0


def files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(path.rglob("before.py")) or sorted(path.rglob("*.py"))


def look(path: Path) -> list[str]:
    """The expressions of a program that are not reached, with their lines."""
    missing, _ = unreached(Document(str(path), path.read_text("utf-8")))
    return [f"{path}:{node.lineno}: {ast.unparse(node)}" for node in missing]


def _begin() -> None:
    os.chdir(tempfile.mkdtemp())
    sys.argv = ["train.py"]
    sys.stdout = sys.stderr = open(os.devnull, "w")


def main(names: list[str]) -> int:
    """Print what is missing in each program; 1 where something is."""
    files = [file for name in names for file in files_in(Path(name).resolve())]
    holes = late = 0
    for file in files:
        with multiprocessing.get_context("fork").Pool(1, _begin) as pool:
            try:
                found = pool.apply_async(look, (file,)).get(LIMIT)
            except (multiprocessing.TimeoutError, SyntaxError, ValueError) as error:
                print(f"{file}: not looked at: {type(error).__name__}")
                late += 1
                continue
        print("\n".join(found), end="\n" if found else "")
        holes += bool(found)
    print(f"{len(files)} programs: {holes} have tensors that the flow does not know of, {late} were not looked at")
    return 1 if holes else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
