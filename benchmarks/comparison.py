"""What other tools say of the bundled fixtures: the figures of docs/comparison.md.

usage: python -m benchmarks.comparison [--folder FIXTURES] [--workers N]

Each tool that is installed reads, and anomaly mode runs, every script that shows a fault and has a repair. Printed is, for each tool, for
how many scripts it has a message that speaks of gradients, graphs or tensors: at a line that the repair changes, or next to one that it
adds, and anywhere in the script. Of anomaly mode, the lines of its tracebacks count.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from graphfix.verify.cases import Case, Kind, bundled, cases_in

ABOUT_GRAPHS = re.compile(r"grad|graph|backward|detach|tensor|\.item|\.data|volatile|variable\(", re.IGNORECASE)
AT_LINE = re.compile(r"^(?P<file>[^:\n]+):(?P<row>\d+)(?::\d+)?:\s*(?P<message>.*)$", re.MULTILINE)
SHOWN = re.compile(r'File "(?P<file>[^"]+)", line (?P<row>\d+)')
ANOMALY = "import sys, runpy, torch; torch.autograd.set_detect_anomaly(True); runpy.run_path(sys.argv[1], run_name='__main__')"
CACHE = Path(tempfile.gettempdir()) / "graphfix-comparison-mypy"  # of torch's modules, for all scripts
Named = Callable[[Path], Iterator[int]]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=bundled(), metavar="FIXTURES")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    options = parser.parse_args(words)
    cases = [case for case in cases_in(options.folder) if case.kind is Kind.PAIR]
    for name, tool in TOOLS.items():
        with ThreadPoolExecutor(options.workers) as pool:
            found = list(pool.map(lambda case, named=tool: rows_named(case, named), cases))
        there = sum(not rows.isdisjoint(changed_rows(case)) for case, rows in zip(cases, found))
        print(f"{name:<14} {there:>3} at the lines to change, {sum(map(bool, found)):>3} anywhere, of {len(cases)} scripts", flush=True)
    return 0


def rows_named(case: Case, tool: Named) -> set[int]:
    """The rows of the script at which the tool says something of gradients."""
    with tempfile.TemporaryDirectory() as folder:
        return set(tool(Path(shutil.copy(case.before, folder))))


def changed_rows(case: Case) -> set[int]:
    """The rows of the script that its repair removes, and those beside the rows that it adds."""
    before, after = case.before.read_text("utf-8").splitlines(), case.after.read_text("utf-8").splitlines()
    rows: set[int] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            rows.update(range(start + 1, end + 1) if end > start else (start, start + 1))
    return rows


def output(*words: str, folder: Path | None = None) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=folder)
    return done.stdout + done.stderr


def said(text: str) -> Iterator[int]:
    """The rows of messages, in the form `file:row:column: message`, that speak of gradients."""
    yield from (int(match["row"]) for match in AT_LINE.finditer(text) if ABOUT_GRAPHS.search(match["message"]))


def graphfix(script: Path) -> Iterator[int]:
    words = (sys.executable, "-m", "graphfix", "check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "json")
    for finding in json.loads(output(*words, str(script), folder=script.parent).partition("\n]")[0] + "\n]"):
        yield finding["location"]["row"]
        yield from (step["row"] for step in finding["story"])
        yield from (edit["location"]["row"] for edit in (finding["fix"] or {"edits": []})["edits"])


def ruff(script: Path) -> Iterator[int]:
    yield from said(output("ruff", "check", "--isolated", "--select", "ALL", "--preview", "--output-format", "concise", str(script)))


def torchfix(script: Path) -> Iterator[int]:
    yield from said(output("torchfix", "--select", "ALL", str(script)))


def mypy(script: Path) -> Iterator[int]:
    yield from said(output(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(CACHE), str(script)))


def anomaly_mode(script: Path) -> Iterator[int]:
    text = output(sys.executable, "-c", ANOMALY, str(script))
    yield from (int(match["row"]) for match in SHOWN.finditer(text) if match["file"] == str(script))


TOOLS: dict[str, Named] = {"graphfix": graphfix, "TorchFix": torchfix, "ruff": ruff, "mypy": mypy, "anomaly mode": anomaly_mode}

if __name__ == "__main__":
    sys.exit(main())
