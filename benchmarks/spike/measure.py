"""How many entries the summaries clear, what that costs, what it loses, and why the others are not cleared."""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from benchmarks.golden.corpora import Corpus
from benchmarks.golden.recording import DEEP, SECONDS, Program
from benchmarks.golden.store import read as read_golden
from benchmarks.spike.baseline import Record, name_of
from benchmarks.spike.questions import Questions, Verdict
from benchmarks.spike.sight import Files
from graphfix.analysis.explore import Explorer
from graphfix.run import engine, limits
from graphfix.run.precedence import told_once
from graphfix.run.selection import Wanted
from graphfix.run.stack import with_room
from graphfix.source.decode import decode
from graphfix.source.lines import LineIndex
from graphfix.source.reading import read_bytes

Found = tuple[str, str, int, int]


@dataclass
class Figures:
    """Of one corpus."""

    name: str
    files: int = 0
    simulated: int = 0  # files with an entry
    entries: int = 0
    cleared: int = 0
    cleared_files: int = 0
    sound: int = 0  # entries of programs in which nothing is found
    sound_cleared: int = 0
    walking: int = 0  # files of which an entry goes backward
    walking_cleared: int = 0
    spared: float = 0.0  # CPU of the runs of what is cleared
    today: float = 0.0
    cost: float = 0.0
    findings: int = 0
    violations: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    why: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def measured(corpus: Corpus, base: dict[str, Record], golden: Path | None, *, optional: bool, replay: bool) -> Figures:
    """The figures of a corpus. `replay`: run graphfix again without what is cleared, and compare what it finds."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    figures = Figures(corpus.name)
    files = Files()
    root: Path | None = None
    shown: set[Found] = set()
    kept: set[Found] = set()
    simulated: set[str] = set()  # the programs of which an entry is left
    for program in corpus.programs():
        if program.root != root:
            root, files = program.root, Files()
        record = base[program.name]
        figures.files += 1
        figures.today += record["cpu"]
        found = findings_in(record, program, optional=optional)
        shown |= found
        if not record["entries"]:
            kept |= found
            continue
        verdicts = asked(program, record, files, figures)
        cleared = {each.name for each in verdicts if not each.why(optional=optional)}
        simulated |= {program.name} if len(cleared) < len(record["entries"]) else set()
        note(figures, program, record, verdicts, cleared, optional=optional)
        if found and cleared and replay:
            kept |= replayed(program, set(record["entries"]) - cleared, optional=optional)
        elif len(cleared) < len(record["entries"]):
            kept |= found
    figures.findings = len(shown)
    figures.violations = [f"{rule} {short(path, corpus)} {row_of(path, start)}" for rule, path, start, _ in sorted(shown - kept)]
    if golden is not None:
        figures.violations += sorted(missing_from(shown, golden, corpus, simulated, optional=optional))
    return figures


def asked(program: Program, record: Record, files: Files, figures: Figures) -> list[Verdict]:
    """The verdict on each entry of a file; one that cannot be asked is not cleared."""
    began = time.process_time()
    verdicts: list[Verdict] = []
    try:
        questions = Questions(program.path.resolve(), (program.root.resolve(),), files, record["entries"])
        for name in record["entries"]:
            verdicts.append(questions.ask(name))
        # what one entry has walked is known to be trained in the others
        for verdict in verdicts:
            questions.again(verdict)
    except Exception as error:
        figures.crashes.append(f"{program.name}: {type(error).__name__}: {error}")
        verdicts = [Verdict(name, {("crash", program.name): None}) for name in record["entries"]]
    figures.cost += time.process_time() - began
    return verdicts


def note(
    figures: Figures, program: Program, record: Record, verdicts: list[Verdict], cleared: set[str], *, optional: bool
) -> None:
    figures.simulated += 1
    figures.entries += len(verdicts)
    figures.cleared += len(cleared)
    if not findings_in(record, program, optional=optional):
        figures.sound += len(verdicts)
        figures.sound_cleared += len(cleared)
    figures.cleared_files += len(cleared) == len(verdicts)
    if any(verdict.walks for verdict in verdicts):
        figures.walking += 1
        figures.walking_cleared += len(cleared) == len(verdicts)
    figures.spared += sum(record["entries"][name][1] for name in cleared)
    for verdict in verdicts:
        reasons = dict(verdict.why(optional=optional))
        for reason, place in reasons.items():
            figures.why[reason] += 1
            figures.examples[reason].append(f"{figures.name}/{program.name} {verdict.name}: {place}")
        if len(reasons) == 1:
            figures.alone[next(iter(reasons))] += 1


def findings_in(record: Record, program: Program, *, optional: bool) -> set[Found]:
    return {
        (each["rule"], str(Path(each["path"] or program.path).resolve()), *each["span"])
        for each in record["findings"]
        if optional or not each["optional"]
    }


@contextmanager
def only(entries: set[str]) -> Iterator[None]:
    """Simulate no other entries than these."""
    run_entry = Explorer.run_entry

    def some(explorer: Explorer, entry: object, start: object) -> object:
        return run_entry(explorer, entry, start) if name_of(entry) in entries else []  # type: ignore[arg-type]

    with mock.patch.object(Explorer, "run_entry", some):
        yield


def replayed(program: Program, entries: set[str], *, optional: bool) -> set[Found]:
    """What graphfix finds if it simulates only these entries."""
    if not entries:
        return set()
    text = decode(program.path, read_bytes(program.path)).text
    with mock.patch.object(limits, "SECONDS", SECONDS), limits.limited_time(), only(entries):
        analysis = with_room(
            lambda: engine.analyse(program.path.resolve(), text, (program.root.resolve(),), counts=Wanted().counts(text))
        )
    return {
        (each.code, str(Path(each.path or program.path).resolve()), each.span.start, each.span.end)
        for each in told_once(analysis.findings)
        if optional or not each.optional
    }


def missing_from(shown: set[Found], golden: Path, corpus: Corpus, simulated: set[str], *, optional: bool) -> Iterator[str]:
    """The findings of the golden file that today's analysis does not show, of programs of which nothing is simulated any more."""
    rows = {(rule, path, row_of(path, start)) for rule, path, start, _ in shown}
    aliased = {
        (rule, row) for rule, _, row in rows
    }  # the golden file tells what lies in an imported file under the name of who imports it
    for name, records in read_golden(golden).items():
        for each in records if name not in simulated else ():
            if each["kind"] == "finding" and (optional or not each.get("optional")):
                key = (each["rule"], str((corpus.path / name).resolve()), each["place"].rpartition("-")[0].rpartition(":")[0])
                if key not in rows and (key[0], key[2]) not in aliased:
                    yield f"only golden: {each['rule']} {name} {each['place']}"


@functools.cache
def lines_of(path: str) -> LineIndex:
    return decode(Path(path), read_bytes(Path(path))).index()


def row_of(path: str, start: int) -> str:
    """The row, in a notebook with its cell, in which a finding begins."""
    return str(lines_of(path).where(start)).rpartition(":")[0]


def short(path: str, corpus: Corpus) -> str:
    """The path from the folder of its corpus."""
    root = corpus.path.resolve()
    return f"{corpus.name}/{Path(path).relative_to(root)}" if Path(path).is_relative_to(root) else path


def table(all_figures: Iterable[Figures]) -> Iterator[str]:
    """The figures as a table, and all of them together."""
    rows = list(all_figures)
    widths = (24, 6, 7, 8, 14, 16, 9, 8, 13, 13, 9, 5)
    names = ("corpus", "files", "simul.", "entries", "cleared", "of sound", "walking", "today", "cost", "spared", "findings", "lost")
    yield " ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    for each in [*rows, total(rows)]:
        cells = (
            each.name[:24],
            each.files,
            each.simulated,
            each.entries,
            f"{each.cleared} {share(each.cleared, each.entries):>5}",
            f"{each.sound_cleared}/{each.sound} {share(each.sound_cleared, each.sound):>5}",
            f"{each.walking_cleared}/{each.walking}",
            f"{each.today:.1f}s",
            f"{each.cost:.2f}s {share(each.cost, each.today):>5}",
            f"{each.spared:.1f}s {share(each.spared, each.today):>5}",
            each.findings,
            len(each.violations),
        )
        yield " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def total(rows: list[Figures]) -> Figures:
    made = Figures("all")
    for each in rows:
        for name in (
            "files",
            "simulated",
            "entries",
            "cleared",
            "cleared_files",
            "sound",
            "sound_cleared",
            "walking",
            "walking_cleared",
            "spared",
            "today",
            "cost",
            "findings",
        ):
            setattr(made, name, getattr(made, name) + getattr(each, name))
        made.violations += each.violations
        made.crashes += each.crashes
        made.why += each.why
        made.alone += each.alone
        for reason, examples in each.examples.items():
            made.examples[reason] += examples
    return made


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def reasons(figures: Figures, most: int) -> Iterator[str]:
    """Why entries are not cleared: how often, how often for that alone, and two of them."""
    for reason, count in figures.why.most_common(most):
        yield f"{count:>5} ({figures.alone[reason]:>4} alone)  {reason}"
        for example in spread(figures.examples[reason]):
            yield f"        {example}"


def spread(examples: list[str]) -> list[str]:
    return [examples[0], examples[len(examples) // 2]] if len(examples) > 1 else examples
