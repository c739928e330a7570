"""One file from its bytes to its outcome: what a worker does, and the one place that survives any failure."""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit, Finding, Fix, Label
from graphfix.models.words import spelled_by_code, spells
from graphfix.run import limits
from graphfix.run.collection import uncollected
from graphfix.run.elsewhere import parts_of
from graphfix.run.limits import TOO_LONG, TookTooLong, limited_time
from graphfix.run.outcome import Fixed, Outcome, Stage, Status
from graphfix.run.selection import Wanted, every
from graphfix.run.stack import with_room
from graphfix.run.suppression import suppressions
from graphfix.run.texts import NotKept, Texts
from graphfix.source.decode import decode_text, read_bytes, writes_ascii
from graphfix.source.errors import Skipped, SourceError
from graphfix.source.homes import changed_by, changes_others
from graphfix.source.real import real_path
from graphfix.source.text import Source

if TYPE_CHECKING:
    from graphfix.interpreter.witness import Witness
    from graphfix.rewrite.fixpoint import Repaired
    from graphfix.run.baseline import Baseline, Known
    from graphfix.run.cache import Cache
    from graphfix.run.engine import Analysis
    from graphfix.settings.scope import Scope

# trees within the gate's depth still need some frames per level in the analysis
_FRAMES = 10_000
_NOQA = re.compile(rb"noqa", re.IGNORECASE)


@dataclass(frozen=True)
class Job:
    """What to do with each file; plain data, so that it can travel to a worker.

    `scopes`: the settings by the folder from which on they hold, None for everywhere else; without any, `wanted` holds.
    `stages`: tell what a file is after each rule's repairs. `ahead`: without repairs, tell what these would bring to light, too.
    `elsewhere`: with the edits, also those of fixes that change several files.
    `cache`: what earlier runs have worked out, and where to keep what this one does.
    `tellers`: for each file the further ones whose programs show something of it; None where that is to be found out. `unheard`: for
    files of which further programs were not asked, why.
    `examined`: the real paths of all files of the run. `beside`: texts that files of the project are taken to have.
    `groups`: for each file that a fix changes together with others, all of these.
    `named`: files that somebody asked for by name, which are parsed whatever they hold.
    `is_blamed`: a run has failed there, as in `analyse_blamed`. `witness`: what traced runs have shown.
    """

    roots: tuple[Path, ...]
    wanted: Wanted = Wanted()
    repair: bool = False
    edits: bool = False
    debug: bool = False
    scopes: Mapping[Path | None, Scope] = field(default_factory=dict)
    baseline: Baseline | None = None
    stages: bool = False
    ahead: bool = False
    is_blamed: bool = False
    witness: Witness | None = None
    named: frozenset[Path] = frozenset()
    cache: Cache | None = None
    tellers: Mapping[Path, tuple[Path, ...]] | None = None
    unheard: Mapping[Path, str] = field(default_factory=dict)
    groups: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    beside: Mapping[Path, str] = field(default_factory=dict)
    examined: frozenset[Path] = frozenset()
    elsewhere: bool = False

    @property
    def keeps(self) -> bool:
        """Whether what is worked out is kept for later runs: what a traced run says holds for that run alone."""
        return self.cache is not None and self.witness is None

    def texts(self, path: Path, *, only_recalls: bool = False) -> Texts:
        """The texts that the file at `path` goes through."""
        return Texts(
            path,
            self.roots,
            lambda each: self.wanted_for(each).conventions,
            self.cache if self.keeps else None,
            entries=self.tellers.get(Path(real_path(path)), ()) if self.tellers is not None else None,
            unheard=self.unheard.get(Path(real_path(path)), ""),
            examined=self.examined,
            beside=self.beside,
            is_blamed=self.is_blamed,
            only_recalls=only_recalls,
        )

    def wanted_for(self, path: Path) -> Wanted:
        """What is wanted of the file at `path`."""
        wanted = self._wanted_for(path)
        if self.witness is None:
            return wanted
        return replace(wanted, conventions=replace(wanted.conventions, witness=self.witness))

    def _wanted_for(self, path: Path) -> Wanted:
        if not self.scopes:
            return self.wanted
        scope = self._scope_of(Path(os.path.abspath(path)).parent)
        return self.wanted if scope is None else scope.wanted_for(path)

    def _scope_of(self, folder: Path) -> Scope | None:
        """The scope of the closest folder that has one, found out once for each folder: trees may be deep."""
        below = []
        while folder not in self._met and folder not in self.scopes and folder != folder.parent:
            below.append(folder)
            folder = folder.parent
        found = self._met[folder] if folder in self._met else self.scopes.get(folder, self.scopes.get(None))
        self._met.update(dict.fromkeys(below, found))
        return found

    @cached_property
    def _met(self) -> dict[Path, Scope | None]:
        return {}


@dataclass(frozen=True)
class _Confined:
    """What is wanted and was not accepted before, as far as the kind of file has room for it.

    `is_asked_for_all`: also what is not wanted, as a baseline is that may list it.
    """

    wanted: Wanted
    source: Source
    known: Known | None
    is_asked_for_all: bool

    def counts(self, text: str) -> Callable[[Finding], bool]:
        return every if self.is_asked_for_all else self.wanted.counts(text)

    def visible(self, text: str, findings: Sequence[Finding]) -> list[Finding]:
        visible = self.wanted.visible(text, findings)
        if self.known is not None:
            visible = self.known.without(text, findings, visible)
        return self.source.confined(text, visible)

    def counted(self, outcome: Outcome, *, all_seen: bool) -> Outcome:
        """The outcome with what the baseline hid, and what it lists in vain where all that it may list was looked for."""
        if self.known is None:
            return outcome
        return replace(outcome, known=self.known.met, stale=self.known.stale if all_seen else 0)

    def applies(self, fix: Fix | None) -> bool:
        return fix is not None and not changes_others(fix) and self.wanted.applies(fix)


def examine(path: Path, job: Job, data: bytes | None = None) -> Outcome:
    """The outcome of the file at `path` (or of `data` in its stead); raises nothing but a keyboard interrupt."""
    started = time.perf_counter()
    with uncollected(is_done=True):
        outcome = with_room(lambda: _examined(path, job, data))
    return replace(outcome, seconds=time.perf_counter() - started)


def recalled(path: Path, job: Job) -> Outcome | None:
    """The outcome of the file at `path`, as `examine` gives it, where earlier runs have worked out all that it is made of."""
    started = time.perf_counter()
    try:
        outcome = _examined(path, job, None, only_recalls=True)
    except NotKept:
        return None
    # whatever is wrong with what was kept, a worker may find out
    return replace(outcome, seconds=time.perf_counter() - started) if outcome.status is not Status.INTERNAL else None


def _examined(path: Path, job: Job, data: bytes | None, *, only_recalls: bool = False) -> Outcome:
    given = data is not None or path in job.named or job.is_blamed
    texts = job.texts(path, only_recalls=only_recalls)

    def look() -> Outcome:
        found = read_bytes(path) if data is None else data
        if only_recalls:
            texts.decoded(found)  # what nobody has parsed is for the workers
        if given or texts.unheard or _may_matter(path, found, job) or texts.may_be_told_of:
            return _limited_examination(texts, job, found)
        if path.suffix == ".py":
            decode_text(path, found)
        return Outcome(path, before=found, after=found, passed_over=True)

    return survived(path, job, look)


def survived(path: Path, job: Job, look: Callable[[], Outcome]) -> Outcome:
    """What `look` gives of the file at `path`, or what went wrong with it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    try:
        return look()
    except SourceError as error:
        status = Status.SKIPPED if isinstance(error, Skipped) else Status.UNREADABLE
        return Outcome(path, status, error.reason, error.row, error.column, error.cell)
    except MemoryError:
        return Outcome(path, Status.SKIPPED, f"it takes more than {limits.MEMORY >> 30} GiB of memory")
    except NotKept:
        raise
    except Exception as error:  # the worker boundary: a fault of graphfix costs one file, and is named
        if job.debug:
            traceback.print_exc()
        return Outcome(path, Status.INTERNAL, _named(error))


def _limited_examination(texts: Texts, job: Job, data: bytes) -> Outcome:
    """The outcome of a file, or that it would cost too much; then nothing of it is told or kept, and nothing is changed."""
    try:
        if texts.unheard == TOO_LONG:  # in this run
            raise TookTooLong
        with limited_time():
            outcome = _examination(texts, job, data)
    except TookTooLong:
        return Outcome(texts.path, before=data, after=data, unfinished=TOO_LONG)
    texts.keep()
    return outcome


def _examination(texts: Texts, job: Job, data: bytes) -> Outcome:
    source = texts.decoded(data)
    if suppressions(source.text).skip_file:
        return Outcome(texts.path, before=source.data, after=source.data, left_out=source.left_out)
    outcome = _repaired(source, job, texts) if job.repair else _checked(source, job, texts)
    return replace(outcome, left_out=source.left_out)


def _may_matter(path: Path, data: bytes, job: Job) -> bool:
    """Whether the file may hold anything to tell: what cannot is not parsed, and its syntax is nobody's concern here."""
    if not writes_ascii(data) or b"graphfix" in data or b"GF" in data and _NOQA.search(data):
        return True  # comments that speak to graphfix are looked at wherever they stand
    if (spells if path.suffix == ".ipynb" else spelled_by_code)(data):
        return True
    conventions = job.wanted_for(path).conventions
    return any(word.encode() in data for word in conventions.walking) or conventions.saw(path)


def _named(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = str(error).strip().splitlines()
    return type(error).__name__ + (f": {message[0]}" if message else "") + where


def _checked(source: Source, job: Job, texts: Texts) -> Outcome:
    wanted = _confined(source, job)
    analysis = texts.analysed(source.text, wanted.counts(source.text))
    later, analysis = _revealed(source, job, texts, analysis) if job.ahead else ([], analysis)
    told = [*analysis.findings, *later]
    found = wanted.visible(source.text, told)
    outcome = wanted.counted(Outcome(source.path, unused=_unused(source, told)), all_seen=job.ahead)
    return _with_findings(_limited(outcome, analysis), source, found, job, texts)


def _revealed(source: Source, job: Job, texts: Texts, analysis: Analysis) -> tuple[list[Finding], Analysis]:
    """The findings that only the repair of others shows, and the analysis with what went wrong on the way.

    A baseline has them all, whatever it passes over.
    """
    wanted = _Confined(job.wanted_for(source.path), source, None, job.baseline is not None)
    told = wanted.visible(source.text, analysis.findings)
    if not (_group_of(source, job) or any(wanted.applies(finding.fix) for finding in told)):
        return [], analysis
    from graphfix.rewrite.ahead import revealed

    done, _ = _mended(source, job, texts, wanted)
    findings = tuple(_doubted(finding, dict(done.harmful)) for finding in analysis.findings)
    return list(revealed(source.text, done)), replace(analysis, findings=findings, faults=done.faults, unfinished=done.unfinished)


def _doubted(finding: Finding, harmful: Mapping[Fix, str]) -> Finding:
    """A finding whose fix made a run worse when it was tried is told with a fix that its user has to decide on."""
    if finding.fix is None or finding.fix not in harmful:
        return finding
    why = Label(finding.path, finding.span, harmful[finding.fix])
    return replace(finding, fix=finding.fix.doubted(harmful[finding.fix]), story=(*finding.story, why))


def _limited(outcome: Outcome, analysis: Analysis | Repaired) -> Outcome:
    """The outcome with what the analysis did not get to."""
    faults = tuple((fault.code, _named(fault.error)) for fault in analysis.faults)
    return replace(outcome, faults=faults, unfinished=analysis.unfinished)


def _confined(source: Source, job: Job) -> _Confined:
    if job.baseline is None:
        return _Confined(job.wanted_for(source.path), source, None, False)
    from graphfix.run.baseline import Known

    return _Confined(job.wanted_for(source.path), source, Known(job.baseline.of(source.path)), True)


def _unused(source: Source, told: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    unused = suppressions(source.text).unused(told)
    if not unused:
        return ()
    index = source.index()
    return tuple((index.where(offset).rpartition(":")[0], code) for offset, code in unused)


def _group_of(source: Source, job: Job) -> tuple[Path, ...]:
    """The files that a fix changes together with this one, itself included; none where none does."""
    return job.groups.get(Path(real_path(source.path)), ())


def _mended(source: Source, job: Job, texts: Texts, wanted: _Confined) -> tuple[Repaired, frozenset[Path]]:
    """What repairs make of the file, with the further files that are changed together with it."""
    from graphfix.rewrite.fixpoint import repair

    group = _group_of(source, job)
    if not group:
        return repair(texts, source.text, wanted, looks_ahead=not job.repair), frozenset()
    from graphfix.run.joined import END, Each, Joined, changed_with, renamed, repaired_apart

    own = str(texts.real)
    members = {str(path): job.texts(path) for path in group}
    sources = {path: source if path == own else each.decoded(read_bytes(each.path)) for path, each in members.items()}
    filters = {path: wanted if path == own else _confined(each, job) for path, each in sources.items()}
    text = "".join(sources[path].text + END for path in members)
    done = repair(Joined(members), text, Each(tuple(members), filters))
    for each in members.values():
        each.keep()
    return renamed(repaired_apart(done, tuple(members), own), own, str(source.path)), changed_with(done, tuple(members), own)


def _repaired(source: Source, job: Job, texts: Texts) -> Outcome:
    wanted = _confined(source, job)
    done, together = _mended(source, job, texts, wanted)
    made = source.edited(done.text) if done.text != source.text else source
    left = done.left
    if left and made.text != done.text:  # their places are those of the text that they were found in
        again = texts.analysed(made.text, wanted.counts(made.text))
        left = tuple(wanted.visible(made.text, again.findings))
    outcome = Outcome(
        source.path, before=source.data, after=made.data, fixed=done.fixed, refused=done.refused, broken=done.broken,
        together=together,
    )  # fmt: skip
    if job.stages:
        outcome = replace(outcome, stages=tuple(_stages(source, done, texts)))
    return _with_findings(_limited(wanted.counted(outcome, all_seen=False), done), made, left, job, texts)


def _stages(source: Source, done: Repaired, texts: Texts) -> Iterator[Stage]:
    """The file as it goes through the passes rule by rule; it ends as what all repairs together make of it."""
    waiting: list[Finding] = []
    ends = [step.text for step in done.steps[1:]] + [done.text] * bool(done.steps)
    for number, (step, end) in enumerate(zip(done.steps, ends, strict=True)):
        rules = sorted({(finding.code, finding.name) for finding in (*step.fixed, *step.made)})
        for code, name in rules:
            waiting += [finding for finding in step.fixed if finding.code == code]
            # the fixes of one pass do not touch one another, so any part of them can be applied
            text = end
            if (code, name) != rules[-1]:
                made = texts.applied(step.text, [f.fix for f in step.made if f.code <= code and f.fix is not None])
                if not made.parses:
                    continue
                text = made.text
            yield Stage(number, code, name, source.edited(text).data, tuple(_fixed(source, step.text, waiting)))
            waiting = []


def _fixed(source: Source, text: str, findings: Sequence[Finding]) -> Iterator[Fixed]:
    """The `findings` in `text`, each with its place in the file as it was."""
    from graphfix.rewrite.origin import original_row

    index = source.index() if text == source.text else source.edited(text).index()
    for finding in findings:
        cell, row = index.cell(finding.span.start), index.place(finding.span.start)[0]
        if text != source.text:
            # the cells of a notebook are not compared one by one
            row = original_row(source.text, text, row) if cell is None else 0
        yield Fixed(finding, row, cell)


def _with_findings(outcome: Outcome, source: Source, found: Sequence[Finding], job: Job, texts: Texts) -> Outcome:
    if not found:
        return outcome
    found = [_makeable(finding, source, job) for finding in found]
    edits = tuple(_edits(source.text, finding, texts) for finding in found) if job.edits else ()
    others = tuple(_edits(source.text, finding.otherwise, texts) for finding in found) if job.edits else ()
    elsewhere = tuple(tuple(parts_of(source, finding)) for finding in found) if job.elsewhere else ()
    named = tuple(_named_alike(source.path, finding) for finding in found)
    return replace(outcome, findings=named, source=source, edits=edits, others=others, elsewhere=elsewhere)


def _makeable(finding: Finding, source: Source, job: Job) -> Finding:
    """The finding without a fix that would have to change, too, what this run does not change: it is made in all files or in none."""
    if not job.examined or finding.fix is None or not changes_others(finding.fix):
        return finding
    others = sorted(Path(path) for path in changed_by(finding) if path != finding.path)
    group = _group_of(source, job) if job.tellers is not None else job.examined
    left = next((path for path in others if path not in group), None)
    if left is None:
        return finding
    why = "is not to be changed" if left in job.examined else "is not among the files that were named"
    return finding.without_fix(f"the repair also changes {os.path.relpath(left)}, which {why}")


def _named_alike(path: Path, finding: Finding) -> Finding:
    """The finding with the files of its story named as its own is: from the working folder, unless that one is named in full."""
    others = {label.path for label in finding.story} - {finding.path}
    if path.is_absolute() or not others:
        return finding
    names = {each: os.path.relpath(each) for each in others}
    return replace(finding, story=tuple(replace(label, path=names.get(label.path, label.path)) for label in finding.story))


def _edits(text: str, finding: Finding, texts: Texts) -> tuple[Edit, ...]:
    """The edits of a fix in its file; none of one that changes others, too: nobody is to take the half of it."""
    if finding.fix is None or not finding.fix.operations or changes_others(finding.fix):
        return ()
    return texts.edits(text, finding.fix)
