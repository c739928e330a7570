"""How long one command takes before and beside the analysis: CPU and clock of runs of `graphfix` about one short file.

`python3 -m benchmarks.start [--runs N] [--command COMMAND]`: COMMAND is another graphfix, such as one installed without `-e`, whose modules
are found faster. On a machine that does other work, too, the least seconds of CPU say most. The first row is Python alone.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sources import ordinary

WITHOUT_TORCH = """\
import os


def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


print(total([1, 2, 3]), os.getcwd())
"""
LOOP = """\
import torch
from torch import nn


def train(model, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0
    for _ in range(epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total


if __name__ == "__main__":
    data = [(torch.randn(4, 3), torch.tensor([0, 1, 0, 1])) for _ in range(10)]
    print(train(nn.Linear(3, 2), data, 3))
"""
FILES = {"plain.py": WITHOUT_TORCH, "loop.py": LOOP, "long.py": ordinary(), "finding.py": LOOP.replace("loss.item()", "loss")}
CASES = (
    ("--version", ("--version",)),
    ("--help", ("--help",)),
    ("check --help", ("check", "--help")),
    ("a file without PyTorch", ("check", "--no-cache", "plain.py")),
    ("a training loop", ("check", "--no-cache", "loop.py")),
    ("the same from the cache", ("check", "loop.py")),
    ("an ordinary file", ("check", "--no-cache", "long.py")),
    ("the same from the cache", ("check", "long.py")),
    ("a finding with a fix", ("check", "--no-cache", "finding.py")),
    ("the same from the cache", ("check", "finding.py")),
    ("the patch of the fix", ("diff", "--no-cache", "finding.py")),
)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.start")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--command", default=shlex.join((sys.executable, "-m", "graphfix")), help="the graphfix that is measured")
    given = parser.parse_args(words)
    command = shlex.split(given.command)
    print(f"{'milliseconds':<28} {'CPU, least':>12} {'median':>8} {'clock, least':>14} {'median':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text)
        show("Python alone", repeated((sys.executable, "-c", "pass"), Path(folder), given.runs))
        for name, case in CASES:
            show(name, repeated((*command, *case), Path(folder), given.runs))
    return 0


def show(name: str, seconds: Sequence[tuple[float, float]]) -> None:
    """One row of the table."""
    computing, clock = ([1000 * one for one in column] for column in zip(*seconds))
    least, middle = min, statistics.median
    print(f"{name:<28} {least(computing):12.0f} {middle(computing):8.0f} {least(clock):14.0f} {middle(clock):8.0f}", flush=True)


def repeated(command: Sequence[str], folder: Path, runs: int) -> list[tuple[float, float]]:
    """Seconds of CPU and by the clock of each run; one before them writes bytecode and fills the cache."""
    return [measured(command, folder) for _ in range(runs + 1)][1:]


def measured(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Seconds of CPU, with those of child processes, and by the clock."""
    # pip compiles what it installs; a checkout whose bytecode is not written would be compiled in every process
    environment = {**os.environ, "GRAPHFIX_CACHE_DIR": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    problems = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        print(f"{shlex.join(command)}: exit code {process.returncode}: {problems.decode()}", file=sys.stderr)
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - started


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
