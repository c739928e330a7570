"""How fast each stage is, and how long a user waits for one file.

usage: python3 -m benchmarks.analysis [PATHS]

Prints files/s and MB/s of each stage over PATHS (the bundled fixtures without any), then the wall time of
`graphfix check` in a fresh process on a generated 300-line script and on a generated deep 5,000-line one.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sources import deep, ordinary
from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Explorer, Tape
from graphfix.codemods import RULES
from graphfix.files.discovery import discover
from graphfix.rewrite.fixpoint import repair
from graphfix.run.engine import is_relevant
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts
from graphfix.source.decode import read
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.guard import parse
from graphfix.source.text import Source

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = 3


@dataclass
class Stage:
    """What one stage did. `size` counts bytes of source."""

    name: str
    seconds: float = 0.0
    files: int = 0
    size: int = 0

    def timed(self, source: Source, work: Callable[[], object]) -> object:
        started = time.perf_counter()
        result = work()
        self.seconds += time.perf_counter() - started
        self.files += 1
        self.size += len(source.data)
        return result

    def line(self) -> str:
        seconds = self.seconds or 1e-9
        return f"{self.name:14} {self.files:5} files {self.files / seconds:10.0f} files/s {self.size / seconds / 1e6:8.2f} MB/s"


def stages_over(paths: Iterable[Path]) -> list[Stage]:
    """Every file through every stage; a file that graphfix would not look at ends after the parser."""
    reading, parsing, taping, ruling, rewriting = made = [Stage(n) for n in ("read, decode", "parse", "tape", "rules", "rewrite")]
    for path in paths:
        try:
            source = read(path)
            reading.timed(source, lambda path=path: read(path))
            parse(source.text)
        except SourceError:
            continue
        parsing.timed(source, lambda text=source.text: ast.parse(text))
        if not is_relevant(source.text):
            continue
        tape = taping.timed(source, lambda s=source: Explorer(Document(str(s.path), s.text), (s.path.parent,)).explore())
        assert isinstance(tape, Tape)
        found = ruling.timed(source, lambda tape=tape: findings(tape))
        if found:
            rewriting.timed(source, lambda s=source: repair(Texts(s.path, (s.path.parent,)), s.text, Wanted()))
    return made


def findings(tape: Tape) -> list[object]:
    evidence = Evidence(tape, Facts(tape), tuple(rule.cuts for rule in RULES))
    return [finding for rule in RULES for finding in rule.find(evidence)]


def cold(text: str, *words: str) -> list[float]:
    """Wall times of `graphfix check` on `text`, each in a fresh process, all but the first with compiled modules."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.py")
        path.write_text(text, "utf-8")
        # pip compiles what it installs; a checkout whose bytecode is not written would be compiled in every process
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, *words, "-m", "graphfix", "check", "-q", str(path)]
        for _ in range(1 + RUNS):
            started = time.perf_counter()
            subprocess.run(command, capture_output=True, check=False, env=environment)
            times.append(time.perf_counter() - started)
    return times[1:]


def report_cold(name: str, text: str, target: float) -> None:
    times = sorted(cold(text))
    lines = text.count("\n")
    print(f"{name:14} {lines:5} lines {times[0]:6.2f} s best {times[len(times) // 2]:6.2f} s median (target {target} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", default=[FIXTURES])
    options = parser.parse_args()
    for stage in stages_over(discover([path for path in options.paths if path.exists()]).files):
        print(stage.line())
    print("\ncold start of `graphfix check`, one process each")
    report_cold("ordinary", ordinary(), 0.5)
    report_cold("deep", deep(), 5)


if __name__ == "__main__":
    main()
