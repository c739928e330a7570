"""Which programs show something of which further files, and which files fixes change together.

Found out before any file is told of, so that each program is run once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphfix.run.collection import uncollected
from graphfix.run.elsewhere import may_change
from graphfix.run.examine import Job, survived
from graphfix.run.limits import TookTooLong, limited_time
from graphfix.run.outcome import Outcome
from graphfix.run.stack import with_room
from graphfix.run.task import Task
from graphfix.run.texts import Told
from graphfix.run.workers import each_of
from graphfix.source.decode import read_bytes

Kept = Mapping[bytes, object]


@dataclass(frozen=True)
class Plan:
    """For each file that further programs show something of, these (`tellers`); for each that fixes change with others, all of them (`groups`)."""

    tellers: Mapping[Path, tuple[Path, ...]]
    groups: Mapping[Path, tuple[Path, ...]]


def planned(files: Sequence[Path], job: Job, jobs: int) -> Job:
    """The job, which knows for each of the `files` whose programs show something of it, and with which others it is changed."""
    asked = list(map(str, files)), job.wanted.conventions, {str(folder): scope.wanted.conventions for folder, scope in job.scopes.items()}
    known = job.cache.plan(asked) if job.cache is not None else None
    if not isinstance(known, Plan):
        known = plan_for(files, job, jobs)
        if job.cache is not None:
            job.cache.keep_plan(asked, known)
    examined = frozenset(Path(os.path.realpath(file)) for file in files)
    return replace(job, tellers=known.tellers, groups=known.groups, examined=examined)


def plan_for(files: Sequence[Path], job: Job, jobs: int) -> Plan:
    """What the programs that come to the files show something of."""
    from graphfix.project.importers import all_importing, programs_of

    own = {Path(os.path.realpath(file)): file for file in files}
    entries = [*own, *all_importing(own, job.roots)]
    found: dict[Path, list[Path]] = {}
    together: list[tuple[Path, ...]] = []
    for entry, (told, kept) in zip(entries, each_of(entries, job, jobs, Task(told_from, nothing)), strict=True):
        if job.cache is not None and job.cache.aside is not None:
            job.cache.aside.update(kept)
        together += [group for group in told.together if own.keys() >= set(group) and all(map(may_change, group))]
        for file in told.files:
            found.setdefault(file, []).append(entry)
    tellers = {}
    for file, telling in found.items():
        close = programs_of(file, job.roots)
        tellers[file] = tuple(sorted(set(telling).intersection(close), key=close.index))
    return Plan(tellers, grouped(together))


def grouped(together: Iterable[Sequence[Path]]) -> Mapping[Path, tuple[Path, ...]]:
    """For each file of these sets of files, all that hang together with it, over however many sets."""
    group_of: dict[Path, set[Path]] = {}
    for each in together:
        group = set(each).union(*(group_of.get(file, ()) for file in each))
        group_of.update(dict.fromkeys(group, group))
    return {file: tuple(sorted(group)) for file, group in group_of.items()}


def told_from(entry: Path, job: Job, data: bytes | None = None) -> tuple[Told, Kept]:
    """What the program that begins in `entry` shows something of, with what was worked out for it where no database keeps that.

    Whatever is wrong with it is told where it is examined.
    """
    from graphfix.project.importers import names_imported
    from graphfix.project.leading import leads_on, targets

    texts = job.texts(entry)
    found = [Told()]

    def look() -> Outcome:
        source = read_bytes(entry)
        # who imports none of the project's files shows nothing of another one
        if targets(entry, names_imported(entry), texts.roots) and leads_on(entry, texts.roots):
            with contextlib.suppress(TookTooLong), limited_time():
                found.append(texts.tells(texts.decoded(source).text))
                texts.keep()
        return Outcome(entry)

    with uncollected(is_done=True):
        with_room(lambda: survived(entry, job, look))
    return found[-1], texts.news if job.cache is not None and job.cache.aside is not None else {}


def nothing(entry: Path) -> tuple[Told, Kept]:
    """What a program shows that took its worker down."""
    return Told(), {}
