"""What graphfix says of one program, as plain records.

Each record has a `kind`: "file" (how its analysis ended), "finding", "proof" (what was asked of a fix, and what is left open of it),
"run" (one run of an entry), "health" (what runs come to, by which repairs are tried) and "repair" (what all fixes together make of the
file).
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from graphfix.analysis.explore import Explorer, Tape
from graphfix.analysis.runs import Run
from graphfix.autograd.health import Health
from graphfix.model import Finding, Fix
from graphfix.obligations.inquiry import Open
from graphfix.obligations.obligations import Proof
from graphfix.rewrite import fixpoint
from graphfix.run import engine, limits
from graphfix.run.cache import Cache, opened
from graphfix.run.engine import Analysis
from graphfix.run.precedence import told_once
from graphfix.run.selection import Wanted, every
from graphfix.run.stack import with_room
from graphfix.run.texts import Texts
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex
from graphfix.source.reading import read_bytes
from graphfix.source.text import Source

Record = dict[str, Any]
PARTS = {"findings": ("finding",), "proofs": ("proof",), "entries": ("run", "health"), "repairs": ("repair",)}
SECONDS = 300.0  # of a file that never ends: far more than any takes, as results must not depend on the clock
DEEP = 10_000  # frames, as graphfix has them
RULES = ("GF9",)  # that are told only where they are asked for
WANTED = {"safe": Wanted(extend=RULES), "unsafe": Wanted(extend=RULES, unsafe=True)}


@dataclass(frozen=True)
class Program:
    """One file of a corpus: its `name` there, its place, and the folder of its project."""

    name: str
    path: Path
    root: Path


@dataclass
class Notes:
    """What one analysis went through: its runs, and what it asked about fixes."""

    program: Program
    records: list[Record] = field(default_factory=list)

    def note_runs(self, tape: Tape) -> None:
        steps = {id(each.recording): each.steps for each in tape.interpreters}
        self.records += [{"kind": "run", **run_record(run, steps[id(run.recording)])} for run in tape.runs]

    def note_question(self, proof: Proof, finding: Finding, opened: list[Open]) -> None:
        documents = proof.evidence.flow.code.documents.values()
        fix = finding.fix
        assert fix is not None
        record = {
            "kind": "proof",
            "rule": finding.code,
            "place": self.site(proof.place_of(finding), proof.evidence.program.files),
            "ground": fix.ground.name,
            "operations": [type(each).__name__ for each in fix.operations],
            "open": [self.open_record(each, list(documents)) for each in opened],
        }
        self.records.append(record)

    def open_record(self, each: Open, documents: list[Document]) -> Record:
        contradicted = {"contradicted": True} if each.contradicted else {}
        return {"site": self.site(each.site, documents), "reason": each.reason, **contradicted}

    def site(self, node: ast.AST, documents: list[Document]) -> str:
        for document in documents:
            if node in document.parents:
                span = document.span(node)
                path = Path(document.path)
                where = "" if same(path, self.program.path) else f"{inside(path, self.program.root)}:"
                return where + place(LineIndex(document.text), span.start, span.end)
        return f"{getattr(node, 'lineno', 0)}"


def same(one: Path, two: Path) -> bool:
    return one == two or one.resolve() == two.resolve()


def inside(path: Path, root: Path) -> str:
    """The path from the folder of its project."""
    path, root = path.resolve(), root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def place(index: LineIndex, start: int, end: int) -> str:
    return f"{index.where(start)}-{index.where(end)}"


def run_record(run: Run, steps: int) -> Record:
    forced = sorted(f"{site.lineno}{'+' if side else '-'}" for site, side in run.policy.forced.items())  # type: ignore[attr-defined]
    recording = run.recording
    walks = {"walks": len(recording.walks), "hits": sum(len(walk.hits) for walk in recording.walks)}
    more = {"left": len(recording.left), "answers": len(run.answers)}
    return {
        "entry": f"{run.entry.kind.name.lower()} {run.entry.name}".strip(),
        "policy": " ".join([run.policy.kind.name.lower(), *forced]),
        "steps": steps,
        "ended": recording.ended_by.__name__ if recording.ended_by else "finished",
        **{name: count for name, count in {**walks, **more}.items() if count},
    }


@contextmanager
def watched(notes: Notes) -> Iterator[None]:
    """Note what is explored and asked in the block; runs that only try a repair are part of a question."""
    explore, open_of = Explorer.explore, Proof.open_of

    def explored(explorer: Explorer) -> Tape:
        tape = explore(explorer)
        if not (explorer.substitutions or tape.settled):
            notes.note_runs(tape)
        return tape

    def asked(proof: Proof, finding: Finding) -> Iterator[Open]:
        opened = list(dict.fromkeys(open_of(proof, finding)))
        notes.note_question(proof, finding, opened)
        yield from opened

    with mock.patch.object(Explorer, "explore", explored), mock.patch.object(Proof, "open_of", asked):
        yield


def records(program: Program, parts: frozenset[str], kept: Path) -> list[Record]:
    """What graphfix says of a program, as far as it belongs to these `parts`. `kept`: where to keep what is worked out of each project."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    kinds = {"file", *(kind for part in parts for kind in PARTS[part])}
    try:
        with mock.patch.object(limits, "SECONDS", SECONDS), limits.limited_time():
            made = with_room(lambda: list(_records(program, kinds, kept)))
    except limits.TookTooLong:
        made = [file_record(program, "took too long")]
    return [{"file": program.name, **record} for record in made if record["kind"] in kinds]


def file_record(program: Program, ended: str, **more: object) -> Record:
    try:
        digest = hashlib.sha256(program.path.read_bytes()).hexdigest()[:16]
    except OSError:
        digest = ""
    return {"kind": "file", "digest": digest, "ended": ended, **{name: said for name, said in more.items() if said}}


def _records(program: Program, kinds: set[str], kept: Path) -> Iterator[Record]:
    texts = Texts(program.path, (program.root,), cache=opened_once(program.root, kept))
    try:
        source = texts.decoded(read_bytes(program.path))
    except SourceError as error:
        yield file_record(program, f"unreadable: {error.reason}")
        return
    notes = Notes(program)
    if kinds & {"run", "proof", "health"}:
        with watched(notes):  # what is kept goes through nothing
            own = engine.analyse(program.path.resolve(), source.text, (program.root.resolve(),), counts=every)
        if own.health is not None:
            notes.records.append(health_record(own.health))
    analysis = texts.analysed(source.text, every)
    faults = [f"{fault.code}: {type(fault.error).__name__}: {fault.error}" for fault in analysis.faults]
    yield file_record(program, analysis.unfinished or "analysed to the end", faults=faults)
    for finding in told_once(analysis.findings):
        yield finding_record(program, source, texts, finding)
    yield from notes.records
    if "repair" in kinds:
        yield from repair_records(source, texts, analysis)
    texts.keep()


@functools.lru_cache(maxsize=1)
def opened_once(root: Path, kept: Path) -> Cache | None:
    """What is worked out of the project at `root`, where a program is asked by each file that it comes to."""
    return opened((root,), kept)


def health_record(health: Health) -> Record:
    """Of each run, how many nodes each walk gives a gradient that may be used, with a cross at the end where one raises."""
    walks = [" ".join([*map(str, counts), *(["x"] if raises else [])]) for counts, raises in health.walks]
    said = {"walks": walks, "misused": health.misused, "empty": health.empty}
    return {"kind": "health", **{name: value for name, value in said.items() if value}}


def finding_record(program: Program, source: Source, texts: Texts, finding: Finding) -> Record:
    index = source.index()
    fix = finding.fix
    story = [f"{each.step} {label_place(program, source, each.path, each.span.start, each.span.end)}" for each in finding.story]
    said: Record = {
        "message": finding.message,
        "severity": finding.severity.value,
        "optional": finding.optional,
        "unfixed": finding.unfixed,
        "by_hand": finding.by_hand,
        "symptoms": [str(getattr(each, "title", "") or getattr(each, "value", each)) for each in finding.symptoms],
        "story": story,
        "told": [each.message for each in finding.story],
    }
    record: Record = {"kind": "finding", "rule": finding.code, "place": place(index, finding.span.start, finding.span.end)}
    record |= {name: value for name, value in said.items() if value}
    if fix is not None:
        record |= {"applicability": fix.applicability.value, "title": fix.title, "doubt": fix.doubt}
        record |= {"operations": [type(each).__name__ for each in fix.operations], "patch": patch_of(source.text, texts, fix)}
    return record


def label_place(program: Program, source: Source, path: str, start: int, end: int) -> str:
    if same(Path(path), program.path):
        return place(source.index(), start, end)
    try:
        index = LineIndex(read_bytes(Path(path)).decode("utf-8", "replace"))
        return f"{inside(Path(path), program.root)}:{place(index, start, end)}"
    except (SourceError, OSError):
        return f"{Path(path).name}:{start}-{end}"


def patch_of(text: str, texts: Texts, fix: Fix) -> list[str]:
    """What a fix changes, line by line; why it is refused, where it is."""
    if not fix.operations:
        return []
    made = texts.applied(text, [fix])
    refused = [f"refused: {why}" for _, why in made.refused]
    return [*refused, *([] if made.parses else ["does not parse"]), *patch(text, made.text)]


def patch(before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]


def repair_records(source: Source, texts: Texts, analysis: Analysis) -> Iterator[Record]:
    """What the safe fixes make of the file together, and what all of them make of it."""
    for name, wanted in WANTED.items():
        if not any(wanted.applies(finding.fix) for finding in wanted.visible(source.text, analysis.findings)):
            continue
        done = fixpoint.repair(texts, source.text, wanted)
        said: Record = {
            "passes": done.passes,
            "refused": [f"{finding.code} {why}" for finding, why in done.refused],
            "broken": [f"{finding.code} {why}" for finding, why in done.broken],
            "left": [finding.code for finding in done.left],
            "ended": done.unfinished,
        }
        yield {"kind": "repair", "wanted": name, **{k: v for k, v in said.items() if v}, "patch": patch(source.text, done.text)}
