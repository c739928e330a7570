"""The texts that one file goes through: what is found in each, and what fixes make of it.

All of it is worked out once, whatever command asks for it, and kept by what it goes by. What is wanted of it, and how it is told, is
decided behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit, Finding, Fix
from graphfix.project.share import TooDear, share_beside
from graphfix.run import engine, relaid
from graphfix.run.engine import Analysis
from graphfix.run.glimpse import Glimpse, is_new
from graphfix.run.relaid import Sibling, analysis_of
from graphfix.run.selection import every
from graphfix.run.together import repaired_once, together
from graphfix.source.decode import decode, read
from graphfix.source.errors import SourceError
from graphfix.source.guard import parse, parses
from graphfix.source.homes import changed_by, lies_in, told_at_repair
from graphfix.source.reads import State, note_read, noted_reads
from graphfix.source.real import real_path
from graphfix.source.text import Source

if TYPE_CHECKING:
    from graphfix.run.cache import Cache
    from graphfix.run.unchanged import Met

Value = TypeVar("Value")

AS_THEY_ARE: Mapping[Path, str] = MappingProxyType({})
RAN_OUT = "the analysis budget ran out"


class NotKept(Exception):
    """Something has to be worked out."""


@dataclass(frozen=True)
class Tried:
    """What fixes make of a text, whether that parses, and which of them are in it, or are refused and why."""

    text: str
    parses: bool
    applied: tuple[Fix, ...]
    refused: tuple[tuple[Fix, str], ...]


@dataclass(frozen=True)
class Smallest:
    """The smallest edits that a fix comes down to."""

    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Told:
    """The further `files` of which a program shows something, and those, its own included, that fixes of it change `together`.

    `steps`: what that took. `unheard`: why it shows nothing, where it was not asked to the end.
    """

    files: tuple[Path, ...] = ()
    together: tuple[tuple[Path, ...], ...] = ()
    steps: int = 0
    unheard: str = ""


class Texts:
    """The texts of the file at `path`, with what earlier runs have kept of them in `cache`.

    `roots`: as `engine.analyse` takes them; `conventions`: of the settings that hold for a file. `is_blamed`: as `engine.analyse_blamed` does.
    `examined`: the files that are told of in the same run: what another file tells of and this one repairs is told there, if it is one.
    `beside`: texts that other files of the project are taken to have. `entries`: the further files whose programs show something of this
    one; None where that is to be found out. `unheard`: why further ones were not asked, where `entries` are given.
    `only_recalls`: raise `NotKept` where something has to be worked out.
    """

    def __init__(
        self,
        path: Path,
        roots: tuple[Path, ...],
        conventions: Callable[[Path], Conventions] = lambda path: NO_CONVENTIONS,
        cache: Cache | None = None,
        *,
        entries: Sequence[Path] | None = None,
        unheard: str = "",
        examined: Collection[Path] = (),
        beside: Mapping[Path, str] = AS_THEY_ARE,
        is_blamed: bool = False,
        only_recalls: bool = False,
    ) -> None:
        self.path = path
        # one name for it, wherever a run starts; who is a link stands among the files beside it
        self.real = Path(real_path(path.parent)) / path.name
        self.roots = tuple(Path(real_path(root)) for root in roots)
        self._conventions = conventions
        self._cache = cache
        self._entries = entries
        self._is_planned = entries is not None
        self.unheard = unheard
        self._examined = examined  # as it is: of each of many files, a set of all of them would be made
        self._beside = beside
        self._is_blamed = is_blamed
        self._only_recalls = only_recalls
        self._analyses: dict[bytes, Analysis] = {}
        self._read: dict[Path, str] = {}
        self._new: dict[bytes, tuple[object, Sequence[Met]]] = {}

    def decoded(self, data: bytes) -> Source:
        """The source in these bytes, whose text parses; or raise `SourceError`."""
        known = self._kept("source", Source, lambda: self._parsed(data), self.path.suffix, data)
        return replace(known, path=self.path, data=data)

    def _parsed(self, data: bytes) -> Source:
        source = decode(self.path, data)
        parse(source.text)
        return replace(source, data=b"")

    def analysed(
        self, text: str, counts: Callable[[Finding], bool] = every, beside: Mapping[Path, str] = AS_THEY_ARE
    ) -> Analysis:
        """What is wrong in `text`, as far as it counts, whichever program shows it; all that is not optional is proven, whatever counts.

        `beside`: further texts that other files of the project are taken to have.
        """
        taken = {**self._beside, **beside, self.real: text}
        others = {path: each for path, each in taken.items() if each != self._text_of(path)}
        own = self._program(self.real, text, without(others, self.real), counts)
        programs = {entry: taken[entry] if entry in taken else self._text_of(entry) for entry in self.entries}
        shown, unheard = self._shown({entry: each for entry, each in programs.items() if self._parses(each)}, others, counts, own.steps)
        moved: set[Finding] = set()
        told = [self._told_here(each, moved) for each in (own, *shown.values())]
        known = together(str(self.real), *told)
        known = replace(known, findings=repaired_once(known.findings, moved), unasked=repaired_once(known.unasked, moved))
        known = replace(known, unfinished=own.unfinished or self._unfinished(shown) or unheard)
        found = filter(counts, known.findings)
        return replace(known, findings=tuple(told_as(finding, str(self.real), str(self.path)) for finding in found), unasked=())

    def _shown(
        self, programs: Mapping[Path, str], others: Mapping[Path, str], counts: Callable[[Finding], bool], steps: int
    ) -> tuple[Mapping[Path, Analysis], str]:
        """What further programs do wrong, the nearest first, and why not all of them are asked; `steps`: what the own program took.

        Those that are told of in the same run are run anyway, and take nothing of the share.
        """
        shown: dict[Path, Analysis] = {}
        left = share_beside(steps)
        unheard = self.unheard
        for entry, text in programs.items():
            is_free = self._is_planned or entry in self._examined
            if not is_free and unheard:
                continue
            try:
                known = self._program(entry, text, without(others, entry), counts, None if is_free else left)
            except TooDear:
                unheard = f"{entry.name}: {RAN_OUT}"
            else:
                shown[entry] = known
                left -= 0 if is_free else known.steps
        return shown, unheard

    def _unfinished(self, shown: Mapping[Path, Analysis]) -> str:
        """Why a program that comes to this file was not analysed to the end, if that is not told of the program itself."""
        cut = (f"{entry.name}: {each.unfinished}" for entry, each in shown.items() if each.unfinished and entry not in self._examined)
        return next(cut, "")

    def _told_here(self, known: Analysis, moved: set[Finding]) -> Analysis:
        """The analysis, with the findings of files that are not told of, and that this one repairs, as its own: these are added to `moved`."""
        here = str(self.real)

        def told(finding: Finding) -> Finding:
            if finding.path == here or Path(finding.path) in self._examined or here not in changed_by(finding):
                return finding
            at_repair = told_at_repair(finding, here)
            moved.add(at_repair)
            return at_repair

        return replace(known, findings=tuple(map(told, known.findings)), unasked=tuple(map(told, known.unasked)))

    @property
    def entries(self) -> Sequence[Path]:
        """The further files whose programs come to this one, as far as they may show something of it."""
        if self._entries is None:
            from graphfix.project.importers import programs_of

            self._entries = programs_of(self.real, self.roots or (self.real.parent,))
        return self._entries

    @property
    def may_be_told_of(self) -> bool:
        """Whether this program, or one that comes to the file, may show something of it, by the bytes of what they import."""
        from graphfix.project.leading import leads_on

        roots = self.roots or (self.real.parent,)
        return leads_on(self.real, roots) or any(leads_on(entry, roots) for entry in self.entries)

    def tells(self, text: str, share: int | None = None) -> Told:
        """Of which further files the program that begins in `text` shows something; raises `TooDear` where it takes more than its share."""
        known = self._recalled(self._program_key("tells", self.real, text, {}), Told)
        if known is None:
            return told_by(self.real, self._program(self.real, text, {}, every, share))
        if share is not None and known.steps > share:
            raise TooDear
        return known

    def _program(
        self, entry: Path, text: str, others: Mapping[Path, str], counts: Callable[[Finding], bool], share: int | None = None
    ) -> Analysis:
        """What the program that begins in the file `entry` with content `text` does wrong, in whichever file; else as `tells`."""
        known = self._worked_out(entry, text, others, counts, share)
        if share is not None and known.steps > share:
            raise TooDear
        return known

    def _worked_out(
        self, entry: Path, text: str, others: Mapping[Path, str], counts: Callable[[Finding], bool], share: int | None
    ) -> Analysis:
        key = self._program_key("analysis", entry, text, others)
        known = self._analyses.get(key) or self._recalled(key, Analysis)
        is_own = entry == self.real and not others
        if known is None and is_own:
            known = self._relaid("analysis", text, Analysis, lambda found, move: analysis_of(found, move, str(self.real)))
        here = str(self.real)
        if known is None or any(counts(finding) for finding in known.unasked if lies_in(finding, here)):
            self._work_out()
            look = engine.analyse_blamed if self._is_blamed else engine.analyse
            wanted = counts if known is None else every
            conventions = self._conventions(entry)
            dear_key = self._program_key("dear", entry, text, others)
            if share is not None and share <= (self._recalled(dear_key, int) or -1):
                raise TooDear
            with noted_reads() as reads:
                try:
                    known = look(entry, text, self.roots, conventions, lambda each: not each.optional or wanted(each), others, share)
                except TooDear:
                    if share is not None and self._cache is not None:
                        self._new[dear_key] = share, self._met(reads, Analysis(), text)
                    raise
            if self._cache is not None and not known.faults:  # what went wrong may go right another time
                files = self._met(reads, known, text)
                self._new[key] = known, files
                self._new[self._program_key("tells", entry, text, others)] = told_by(entry, known), files
                self._note_sibling("analysis", text, is_own)
        self._analyses[key] = known
        return known

    def is_settled(self, text: str, repaired: str, fixed: Sequence[Finding], counts: Callable[[Finding], bool] = every) -> bool:
        """Whether the usual runs of what fixes have made of `text`, in which these findings are `fixed`, show nothing new, and are no worse.

        Not where other programs come to the file, or a text has a witness: only a whole analysis tells then.
        """
        usual = self.analysed(text, counts).usual
        if usual is None or self.entries or self._beside:
            return False
        now = self._glimpsed(repaired, usual)
        return now is not None and not now.health.worse_than(usual.health) and not is_new(now, text, usual, repaired, fixed)

    def _glimpsed(self, text: str, before: Glimpse) -> Glimpse | None:
        """What the usual runs of a text show, with the same entries as that `before`."""
        kind = f"glimpse {before.entries}"
        key = self._program_key(kind, self.real, text, {})
        known = self._recalled(key, Glimpse) or self._relaid(kind, text, Glimpse, relaid.glimpse_of)
        if known is None:
            self._work_out()
            with noted_reads() as reads:
                known = engine.glimpse(self.real, text, self.roots, self._conventions(self.real), AS_THEY_ARE, before.entries)
            if self._cache is not None and known is not None:
                self._new[key] = known, self._met(reads, Analysis(), text)
                self._note_sibling(kind, text, True)
        return known

    def _note_sibling(self, kind: str, text: str, is_own: bool) -> None:
        """Note that a text is known, for those that differ from it in comments and layout alone."""
        said = relaid.tokens_of(text) if is_own and self._is_script else None
        if said is not None:
            self._new[self._program_key(f"{kind} said", self.real, said.says, {})] = Sibling(text), ()

    def _relaid(self, kind: str, text: str, of: type[Value], place: Callable[[Value, relaid.Move], Value]) -> Value | None:
        """What is known of a text that says the same, with its places in this one; None where nothing is."""
        said = relaid.tokens_of(text) if self._is_script and self._cache is not None else None
        sibling = self._recalled(self._program_key(f"{kind} said", self.real, said.says, {}), Sibling) if said is not None else None
        before = relaid.tokens_of(sibling.text) if sibling is not None else None
        if said is None or sibling is None or before is None or before.says != said.says:
            return None
        known = self._recalled(self._program_key(kind, self.real, sibling.text, {}), of)
        try:
            return place(known, relaid.moving(before, said)) if known is not None else None
        except relaid.Elsewhere:
            return None

    @property
    def _is_script(self) -> bool:
        return self.path.suffix == ".py"

    def _met(self, reads: Mapping[Path, State], known: Analysis, text: str) -> Sequence[Met]:
        """The files that an analysis goes by; none where no later run asks."""
        if self._cache is None or self._cache.file is None:
            return ()
        from graphfix.run.unchanged import met

        labels = {label.path for finding in (*known.findings, *known.unasked) for label in finding.story}
        return met(reads, labels, text)

    def _program_key(self, kind: str, entry: Path, text: str, others: Mapping[Path, str]) -> bytes:
        """What names something of the program that begins in `entry`."""
        parts = str(entry), self._conventions(entry), self._is_blamed, text, {str(path): other for path, other in others.items()}
        return self._cache.key(kind, *parts, project=True) if self._cache is not None else repr((kind, *parts)).encode()

    def _parses(self, text: str) -> bool:
        """Whether a text of another file is Python: what is wrong with it is told where that file is looked at."""
        return self._kept("parses", bool, lambda: parses(text), text)

    def _text_of(self, path: Path) -> str:
        """The text of a file of the project, as it is now; empty where it cannot be read."""
        if path not in self._read:
            note_read(path)
            try:
                self._read[path] = read(path).text
            except (SourceError, OSError):
                self._read[path] = ""
        return self._read[path]

    def applied(self, text: str, fixes: Sequence[Fix]) -> Tried:
        """What those of the `fixes` that go together make of `text`."""
        return self._kept("tried", Tried, lambda: _tried(text, fixes), text, fixes)

    def edits(self, text: str, fix: Fix) -> tuple[Edit, ...]:
        """The smallest edits that a fix comes down to; none where it is refused."""
        return self._kept("edits", Smallest, lambda: _edits(text, fix), text, fix).edits

    @property
    def news(self) -> Mapping[bytes, object]:
        """What has been worked out, as `Cache.put` takes it."""
        return self._new

    def keep(self) -> None:
        """Keep what has been worked out."""
        if self._cache is not None:
            self._cache.put(self._new)

    def _kept(self, name: str, kind: type[Value], make: Callable[[], Value], *parts: object) -> Value:
        """What was kept by this `name` for the `parts`, or what `make` gives, which goes by them alone."""
        key = self._cache.key(name, *parts) if self._cache is not None else b""
        known = self._recalled(key, kind)
        if known is None:
            self._work_out()
            known = make()
            if self._cache is not None:
                self._new[key] = known, ()
        return known

    def _recalled(self, key: bytes, kind: type[Value]) -> Value | None:
        known, _ = self._new.get(key, (None, ()))
        if isinstance(known, kind):
            return known
        return self._cache.get(key, kind) if self._cache is not None else None

    def _work_out(self) -> None:
        if self._only_recalls:
            raise NotKept(self.path)


def _tried(text: str, fixes: Sequence[Fix]) -> Tried:
    from graphfix.rewrite import apply_fixes

    made = apply_fixes(text, fixes)
    return Tried(made.text, made.text == text or parses(made.text), made.applied, made.refused)


def _edits(text: str, fix: Fix) -> Smallest:
    from graphfix.rewrite import edits_of

    return Smallest(edits_of(text, fix))


def without(texts: Mapping[Path, str], path: Path) -> Mapping[Path, str]:
    """The texts of the other files."""
    return {each: text for each, text in texts.items() if each != path}


def told_by(entry: Path, known: Analysis) -> Told:
    """What the program that begins in `entry` shows something of."""
    found = {place[1] for place in known.refuted}
    together = set()
    for finding in (*known.findings, *known.unasked):
        changed = frozenset((finding.path, *changed_by(finding)))
        found |= changed
        together.update({changed} if len(changed) > 1 else ())
    files = tuple(sorted(Path(path) for path in found - {str(entry)}))
    return Told(files, tuple(sorted(tuple(map(Path, sorted(each))) for each in together)), known.steps)


def told_as(finding: Finding, real: str, name: str) -> Finding:
    """A finding in the file at `real` as one in the file called `name`."""
    if real == name:
        return finding
    story = tuple(replace(label, path=name) if label.path == real else label for label in finding.story)
    return replace(finding, path=name, story=story)
