"""How long one waits for findings with `graphfix check --watch`, from the write of a file on.

usage: python3 -m benchmarks.watching FOLDER [--file F] [--edits N]

Copies FOLDER to a temporary place, watches it there, and writes F (the file that speaks of torch and has nearest to 300 lines) N times
with another comment at its end, then N times with another training loop that has a finding. Printed are the times from the write
to the findings of that file, and to those of all that it touches; and beside them how long one analysis of it takes in a process
that is warm, which no watcher can undercut.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from graphfix.files.discovery import discover
from graphfix.files.place import project_root
from graphfix.run.again import forget_files
from graphfix.run.examine import Job, examine

LINES = 300
PATIENCE = 60.0
STILL = 0.6  # seconds between two edits, as of somebody who types
CHECKED, END = "Still checking", "Watching for changes"
COMMENT = "\n# edit {n}\n"
LOOP = """

def benchmark_of_watching_{n}(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""


class Watcher:
    """A running `check --watch`, and what it says."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "graphfix", "check", "--watch", "--output-format", "concise", "."]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "GRAPHFIX_CACHE_DIR": str(folder / ".cache")},
            text=True,
        )

    def says(self) -> tuple[float, float, str]:
        """When it has told the findings of what was edited, when all of them, and what it said of them first."""
        assert self.process.stdout is not None
        first, early = "", 0.0
        for line in self.process.stdout:
            first = first or (line.rstrip("\n") if "checked again" in line else "")
            if line.startswith(CHECKED):
                early = time.perf_counter()
            if line.startswith(END):
                return early or time.perf_counter(), time.perf_counter(), first
        raise SystemExit("the watcher has ended")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--file", type=Path, help="the file that is edited, from FOLDER on")
    parser.add_argument("--edits", type=int, default=11, metavar="N")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as kept:
        folder = copied(options.folder, Path(kept, "project"))
        edited = folder / options.file if options.file is not None else chosen(folder)
        text = edited.read_text("utf-8")
        files = len(discover([folder]).files)
        print(f"{options.folder} ({files} files), {edited.relative_to(folder)} ({text.count(chr(10))} lines)")
        for name, more in (("a comment", COMMENT), ("a loop with a finding", LOOP)):
            texts = [text + more.format(n=number) for number in range(options.edits)]
            alone = statistics.median(analysed(edited, texts[:3]))
            early, late, said = watched(folder, edited, texts)
            edited.write_text(text, "utf-8")
            print(f"  {name}: {said}")
            print(f"    its analysis alone    {alone:6.3f} s median")
            print(f"    write to its findings {statistics.median(early):6.3f} s median {max(early):6.3f} s worst of {len(early)}")
            print(
                f"    write to all findings {statistics.median(late):6.3f} s median {max(late):6.3f} s worst of {len(late)}",
                flush=True,
            )
    return 0


def copied(folder: Path, target: Path) -> Path:
    """A copy of the folder without its history, and still a project."""
    shutil.copytree(folder, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    (target / ".git").mkdir()
    return target


def chosen(folder: Path) -> Path:
    """The file that is nearest to 300 lines and speaks of torch."""
    texts = {path: path.read_text("utf-8", "replace") for path in discover([folder]).files if path.suffix == ".py"}
    return min((path for path, text in texts.items() if "torch" in text), key=lambda path: abs(texts[path].count("\n") - LINES))


def analysed(path: Path, texts: Sequence[str]) -> list[float]:
    """Seconds for the analysis of each text, after a first that imports and compiles."""
    job = Job((project_root(path.parent),))
    seconds = []
    for text in (texts[0], *texts):
        forget_files()
        started = time.perf_counter()
        examine(path, job, text.encode())
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def watched(folder: Path, path: Path, texts: Sequence[str]) -> tuple[list[float], list[float], str]:
    """Seconds from each write to the findings of the file and to all findings, and what was said first."""
    watcher = Watcher(folder)
    early, late, said = [], [], ""
    try:
        watcher.says()
        for text in texts:
            time.sleep(STILL)
            started = time.perf_counter()
            path.write_text(text, "utf-8")
            soon, at_last, words = watcher.says()
            early.append(soon - started)
            late.append(at_last - started)
            said = said or words
    finally:
        watcher.end()
    return early, late, said


if __name__ == "__main__":
    raise SystemExit(main())
