"""How long `graphfix check` takes over folders: anew, with its cache, and ruff beside it.

`python3 -m benchmarks.speed FOLDER ... [--other COMMAND]`; ruff has to be installed. Each tool runs in processes of its own, one after the
other, with a cache of its own that begins empty. Printed are seconds by the clock, seconds of CPU with all child processes, and the
most memory that one process took.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from graphfix.files.discovery import discover

RUFF = ("ruff", "check", "--select", "F,B,PERF", "--exit-zero", "--quiet")
GRAPHFIX = (sys.executable, "-I", "-m", "graphfix")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.speed")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--other", help="another graphfix, such as that of an older commit in its own environment")
    given = parser.parse_args(words)
    for folder in given.folders:
        files = len(discover([folder]).files)
        if not files:
            parser.error(f"{folder}: nothing to check there; is it ignored by git?")
        print(f"{folder} ({files} files)")
        with tempfile.TemporaryDirectory() as kept:
            for name, command in commands(given.other, Path(kept)):
                clock, computing, memory = measured(command, folder, Path(kept))
                print(f"  {name:<28} {clock:8.2f} s  {computing:8.2f} s of CPU  {memory >> 10:6} MiB")
    return 0


def commands(other: str | None, kept: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Each measurement with its command; the second run of a tool finds what the first has kept."""
    check = (*GRAPHFIX, "check", "--quiet", "--output-format", "concise", ".")
    ruff = (*RUFF, "--cache-dir", str(kept / "ruff"), ".")
    rows = [("graphfix, anew", (*check, "--no-cache")), ("graphfix, first", check), ("graphfix, second", check)]
    if other is not None:
        rows.append(("the other graphfix", (*shlex.split(other), "check", "--quiet", ".")))
    return [*rows, ("ruff, anew", (*RUFF, "--no-cache", ".")), ("ruff, first", ruff), ("ruff, second", ruff)]


def measured(command: Sequence[str], folder: Path, kept: Path) -> tuple[float, float, int]:
    """Seconds by the clock, seconds of CPU, and the most KiB of one process."""
    environment = {**os.environ, "GRAPHFIX_CACHE_DIR": str(kept / "graphfix")}
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 2):
        print(f"{shlex.join(command)}: exit code {process.returncode}", file=sys.stderr)
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
