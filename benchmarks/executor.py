"""Whether programs do the same where their lowered code is executed: what they print, and what they raise.

usage: python -m benchmarks.executor FILE_OR_FOLDER... [--limit SECONDS]

Runs each Python file, seeded, on real torch, in forks of one process: by CPython, and by the executor of the tests (`tests/ir/executor`).
Printed are the programs that differ, those that do not do the same when CPython runs them again, and how many are alike.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tests.ir.executor.modules import known, run

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Behaviour:
    """What a program printed, and the exception that it ended with; `error` of a program that took too long: `LIMIT`."""

    printed: str
    error: str


LIMIT = "takes too long"
Runner = Callable[[str, dict[str, object], str], None]


def by_python(text: str, namespace: dict[str, object], filename: str) -> None:
    exec(compile(text, filename, "exec", dont_inherit=True), namespace)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="for each run")
    options = parser.parse_args(words)
    files = [file for path in options.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    same = unsteady = 0
    for file in files:
        expected, got = behaviour(file, by_python, options.limit), behaviour(file, run, options.limit)
        if expected == got:
            same += 1
        elif behaviour(file, by_python, options.limit) != expected:
            unsteady += 1
            print(f"{file}: not the same twice under CPython")
        else:
            print(f"{file}:\n  CPython  {difference(expected, got)}\n  executor {difference(got, expected)}", flush=True)
    print(f"{len(files)} programs: {same} do the same, {len(files) - same - unsteady} differ, {unsteady} are not steady")
    return 1 if same + unsteady < len(files) else 0


def behaviour(file: Path, runner: Runner, limit: float = 120.0) -> Behaviour:
    """How a program behaves in a fork of this process, in an empty folder, with the folder of the file on its path."""
    prepare()
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(file, runner, sender))
    child.start()
    sender.close()
    try:
        found: Behaviour = receiver.recv() if receiver.poll(limit) else Behaviour("", LIMIT)
    except EOFError:
        found = Behaviour("", "ended without a word")
    if child.is_alive() and child.pid is not None and found.error == LIMIT:
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    return found


@cache
def prepare() -> None:
    """Import what programs need: each fork has it already. The first optimizer imports as much as torch itself."""
    import torch

    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)


def _run(file: Path, runner: Runner, sender: Connection) -> None:
    import torch

    torch.manual_seed(0)
    random.seed(0)
    sys.argv = [str(file)]
    sys.path.insert(0, str(file.resolve().parent))
    text, name = file.read_text("utf-8"), str(file.resolve())
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=name, __builtins__=__builtins__)
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, known("__main__", module), redirect_stdout(printed), redirect_stderr(io.StringIO()):
        os.chdir(folder)
        warnings.simplefilter("ignore")
        error = ended(runner, text, module.__dict__, name)
        os.chdir("/")
    sender.send(Behaviour(ADDRESS.sub("0x", printed.getvalue()), ADDRESS.sub("0x", error)))
    sender.close()


def ended(runner: Runner, text: str, namespace: dict[str, object], name: str) -> str:
    """The exception that the program ends with; nothing where it ends well."""
    try:
        runner(text, namespace, name)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def difference(one: Behaviour, other: Behaviour) -> str:
    """The first line that differs."""
    if one.error != other.error:
        return one.error or "ends well"
    lines, others = one.printed.splitlines(), [*other.printed.splitlines(), ""]
    return next((line for line, each in zip(lines, [*others, *[""] * len(lines)]) if line != each), "prints less")


if __name__ == "__main__":
    raise SystemExit(main())
