"""Which programs show something of which further files, and which files fixes change together.

Found out before any file is told of, so that each program is run once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.project.share import TooDear, share_beside
from graphfix.run.collection import uncollected
from graphfix.run.elsewhere import may_change
from graphfix.run.examine import Job, survived
from graphfix.run.limits import TOO_LONG, TookTooLong, limited_time
from graphfix.run.outcome import Outcome
from graphfix.run.stack import with_room
from graphfix.run.task import Task
from graphfix.run.texts import RAN_OUT, Texts, Told
from graphfix.run.workers import each_of
from graphfix.source.decode import read_bytes
from graphfix.source.real import real_path

Kept = Mapping[bytes, object]


@dataclass(frozen=True)
class Plan:
    """For each file that further programs show something of, these (`tellers`), and why not all are asked (`unheard`).

    For each that fixes change with others, all of them (`groups`).
    """

    tellers: Mapping[Path, tuple[Path, ...]]
    groups: Mapping[Path, tuple[Path, ...]]
    unheard: Mapping[Path, str]


def planned(files: Sequence[Path], job: Job, jobs: int) -> Job:
    """The job, which knows for each of the `files` whose programs show something of it, and with which others it is changed."""
    asked = list(map(str, files)), job.wanted.conventions, {str(folder): scope.wanted.conventions for folder, scope in job.scopes.items()}
    known = job.cache.plan(asked, Plan) if job.cache is not None else None
    if known is None:
        known, lasts = plan_for(files, job, jobs)
        if job.cache is not None and lasts:
            job.cache.keep_plan(asked, known)
    examined = frozenset(Path(real_path(file)) for file in files)
    return replace(job, tellers=known.tellers, groups=known.groups, unheard=known.unheard, examined=examined)


def plan_for(files: Sequence[Path], job: Job, jobs: int) -> tuple[Plan, bool]:
    """What the programs that come to the files show something of, and whether another run would find the same: none took too long."""
    from graphfix.project.importers import programs_of

    own = [Path(real_path(file)) for file in files]
    asking = Asking(own, {file: programs_of(file, job.roots) for file in own}, job, jobs)
    asking.ask_all()
    found: dict[Path, set[Path]] = {}
    together: list[tuple[Path, ...]] = []
    for entry, told in asking.told.items():
        together += [group for group in told.together if set(own) >= set(group) and all(map(may_change, group))]
        for file in told.files:
            found.setdefault(file, set()).add(entry)
    tellers = {file: tuple(filter(found[file].__contains__, asking.heard_of(file))) for file in own if file in found}
    return Plan(tellers, grouped(together), asking.unheard), TOO_LONG not in {told.unheard for told in asking.told.values()}


class Asking:
    """Which programs are asked what they show of the files `own`: those that begin there, and those that are `close` to them.

    Each file has its own share for the further ones, the nearest first, so that it is told the same whichever others are asked with it.
    `told`: what each program told. `unheard`: why further ones were not asked for a file.
    """

    def __init__(self, own: Sequence[Path], close: Mapping[Path, Sequence[Path]], job: Job, jobs: int) -> None:
        self._own = dict.fromkeys(own)
        self._close = close
        self._job = job
        self._jobs = jobs
        self._left: dict[Path, int] = {}
        self._heard: dict[Path, list[Path]] = {file: [] for file in own}
        self.told: dict[Path, Told] = {}
        self.unheard: dict[Path, str] = {}

    def heard_of(self, file: Path) -> list[Path]:
        """The further programs that were asked for a file, the nearest first; those of the other files are asked anyway."""
        heard = {*self._own, *self._heard[file]}
        return [entry for entry in self._close[file] if entry in heard]

    def ask_all(self) -> None:
        """Ask the programs that begin in the files, and then the further ones: one for each file at a time, so that these go side by side."""
        self._ask(self._own)
        self.unheard = {file: TOO_LONG for file in self._own if self.told[file].unheard}
        self._left = {file: share_beside(self.told[file].steps) for file in self._own if file not in self.unheard}
        waiting = {file: deque(entry for entry in self._close[file] if entry not in self._own) for file in self._left}
        while waiting := {file: entries for file, entries in waiting.items() if entries and file not in self.unheard}:
            nearest = {file: entries.popleft() for file, entries in waiting.items()}
            shares: dict[Path, int | None] = {}
            for file, entry in nearest.items():
                shares[entry] = max(shares.get(entry) or 0, self._left[file])
            self._ask({entry: share for entry, share in shares.items() if not self._is_known(entry, share)})
            for file, entry in nearest.items():
                self._hear(file, entry)

    def _hear(self, file: Path, entry: Path) -> None:
        """Take in what a program tells, for one file, where the share of the file allows that."""
        told = self.told[entry]
        if told.unheard == TOO_LONG or told.steps > self._left[file]:
            self.unheard[file] = f"{entry.name}: {told.unheard or RAN_OUT}"
            return
        self._heard[file].append(entry)
        self._left[file] -= told.steps

    def _is_known(self, entry: Path, share: int | None) -> bool:
        """Whether a program was asked for as much before, or told all."""
        told = self.told.get(entry)
        return told is not None and (told.unheard != RAN_OUT or share is not None and told.steps > share)

    def _ask(self, shares: Mapping[Path, int | None]) -> None:
        """Ask these programs, each for no more than its share; None: for all that it takes."""
        task = Task(lambda entry, job, data: told_from(entry, job, shares[entry]), nothing)
        entries = list(shares)
        for entry, (told, kept) in zip(entries, each_of(entries, self._job, self._jobs, task), strict=True):
            if self._job.cache is not None and self._job.cache.aside is not None:
                self._job.cache.aside.update(kept)
            self.told[entry] = told


def grouped(together: Iterable[Sequence[Path]]) -> Mapping[Path, tuple[Path, ...]]:
    """For each file of these sets of files, all that hang together with it, over however many sets."""
    group_of: dict[Path, set[Path]] = {}
    for each in together:
        group = set(each).union(*(group_of.get(file, ()) for file in each))
        group_of.update(dict.fromkeys(group, group))
    return {file: tuple(sorted(group)) for file, group in group_of.items()}


def told_from(entry: Path, job: Job, share: int | None = None) -> tuple[Told, Kept]:
    """What the program that begins in `entry` shows something of, with what was worked out for it where no database keeps that.

    One that takes more than its `share` of steps shows nothing, nor one that takes too long. Whatever is wrong with it is told where it is examined.
    """
    from graphfix.project.importers import names_imported
    from graphfix.project.leading import leads_on, targets

    texts = job.texts(entry)
    found = [Told()]

    def look() -> Outcome:
        source = read_bytes(entry)
        # who imports none of the project's files shows nothing of another one
        if targets(entry, names_imported(entry), texts.roots) and leads_on(entry, texts.roots):
            try:
                with limited_time():
                    found.append(told_within(texts, texts.decoded(source).text, share))
                    texts.keep()
            except TookTooLong:
                found.append(Told(unheard=TOO_LONG))
        return Outcome(entry)

    with uncollected(is_done=True):
        with_room(lambda: survived(entry, job, look))
    return found[-1], texts.news if job.cache is not None and job.cache.aside is not None else {}


def told_within(texts: Texts, text: str, share: int | None) -> Told:
    """What the program that begins in `text` shows something of; nothing where it takes more than its share."""
    try:
        return texts.tells(text, share)
    except TooDear:
        return Told(steps=(share or 0) + 1, unheard=RAN_OUT)


def nothing(entry: Path) -> tuple[Told, Kept]:
    """What a program shows that took its worker down."""
    return Told(), {}
