"""What graphfix does today with each file of a corpus: the entries that it simulates, what these cost, and what it finds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.golden.corpora import Corpus
from benchmarks.golden.recording import DEEP, SECONDS, Program
from graphfix.analysis.entries import EntryPoint
from graphfix.analysis.explore import Explorer
from graphfix.run import engine, limits
from graphfix.run.limits import spare_memory
from graphfix.run.precedence import told_once
from graphfix.run.selection import Wanted
from graphfix.run.stack import with_room
from graphfix.source.decode import decode
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

Record = dict[str, Any]


def name_of(entry: EntryPoint) -> str:
    return f"{entry.kind.name.lower()} {entry.name}".strip()


@contextmanager
def watched(entries: dict[str, list[float]]) -> Iterator[None]:
    """Note how often each entry is run, and the CPU time of that."""
    run_entry = Explorer.run_entry

    def noted(explorer: Explorer, entry: EntryPoint, start: Any) -> Any:
        began = time.process_time()
        made = run_entry(explorer, entry, start)
        if not explorer.substitutions:
            count = entries.setdefault(name_of(entry), [0, 0.0])
            count[0] += len(made)
            count[1] += time.process_time() - began
        return made

    with mock.patch.object(Explorer, "run_entry", noted):
        yield


def record_of(program: Program) -> Record:
    """One file: its entries, its CPU time, its findings."""
    entries: dict[str, list[float]] = {}
    made: Record = {"file": program.name, "entries": entries, "findings": [], "cpu": 0.0, "ended": ""}
    try:
        text = decode(program.path, read_bytes(program.path)).text
    except SourceError as error:
        return {**made, "ended": str(error.reason)}
    began = time.process_time()
    try:
        with mock.patch.object(limits, "SECONDS", SECONDS), limits.limited_time(), watched(entries):
            analysis = with_room(
                lambda: engine.analyse(program.path.resolve(), text, (program.root.resolve(),), counts=Wanted().counts(text))
            )
    except (SourceError, limits.TookTooLong) as error:
        return {**made, "ended": type(error).__name__, "cpu": time.process_time() - began}
    made["cpu"] = time.process_time() - began
    made["ended"] = analysis.unfinished
    made["findings"] = [
        {
            "rule": each.code,
            "path": str(each.path or ""),
            "span": [each.span.start, each.span.end],
            "optional": bool(each.optional),
        }
        for each in told_once(analysis.findings)
    ]
    return made


def write(corpus: Corpus, place: Path) -> None:
    """Write down what is done with each file of a corpus, unless that is there already."""
    if place.is_file():
        return
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    lines = []
    for program in corpus.programs():
        lines.append(json.dumps(record_of(program)))
        spare_memory()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n", "utf-8")


def kept(place: Path) -> dict[str, Record]:
    """What was written down, by file."""
    return {record["file"]: record for record in map(json.loads, place.read_text("utf-8").splitlines())}


def writing_all(corpora: Iterable[Corpus], folder: Path) -> None:
    for corpus in corpora:
        began = time.process_time()
        write(corpus, folder / f"{corpus.name}.jsonl")
        print(f"{corpus.name}: {time.process_time() - began:.0f} seconds of CPU", flush=True)
