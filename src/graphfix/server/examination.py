"""One text of an editor through the analysis, under the settings of the file that it is the text of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graphfix.files.discovery import JUNK, is_passed_over
from graphfix.files.place import project_root
from graphfix.lazy_dataclass import dataclass
from graphfix.run.baseline import BaselineError, load
from graphfix.run.cache import Cache, opened
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.store import Refused
from graphfix.settings.errors import SettingsError
from graphfix.settings.resolver import Resolver
from graphfix.source.decode import encoded, read_bytes
from graphfix.source.errors import SourceError


@dataclass(frozen=True)
class Found:
    """What `graphfix check` tells of the text."""

    outcome: Outcome


@dataclass(frozen=True)
class Repaired:
    """What `graphfix apply` makes of the text, where that is another one."""

    text: str


@dataclass(frozen=True)
class Trouble:
    """Why the text was not examined, where its author cannot see that in it."""

    reason: str


Step = Found | Repaired | Trouble


def examined(path: Path, text: str, folders: tuple[Path, ...]) -> Iterator[Step]:
    """What comes of `text` in the place of the file at `path`; nothing where the settings leave that out.

    `folders`: those that are open in the editor.
    """
    try:
        job = job_for(path, folders)
    except (SettingsError, BaselineError) as error:
        yield Trouble(str(error))
        return
    try:
        data, encoding = encoded(text)
    except SourceError:
        return  # nor does Python read it
    if job is None:
        return
    job = replace(job, cache=_cache(job, path, data))
    outcome = examine(path, job, data)
    yield Found(outcome)
    wanted = job.wanted_for(path)
    if any(wanted.applies(finding.fix) for finding in outcome.findings):
        done = examine(path, replace(job, repair=True, edits=False, elsewhere=False, ahead=False), data)
        if done.changed:
            yield Repaired(done.after.decode(encoding))


def _cache(job: Job, path: Path, data: bytes) -> Cache | None:
    """What runs over the project have kept; what is not in its file is gone with the next keystroke, and not kept for them."""
    try:
        kept = opened(job.roots)
    except Refused:
        return None
    try:
        saved = read_bytes(path) == data
    except SourceError:
        saved = False
    return replace(kept, aside=None if saved else {}) if kept is not None else None


def job_for(path: Path, folders: tuple[Path, ...]) -> Job | None:
    """What to do with the file at `path`, as `check` in its folder would; None where a walk of the editor's folders leaves it out.

    Raises `SettingsError` or `BaselineError` where something is wrong with the settings.
    """
    resolver = Resolver()
    if _is_left_out(path, folders, resolver):
        return None
    baseline = resolver.whole_run(path.parent)["baseline"]
    return Job(
        (project_root(Path(os.path.realpath(path.parent))),),
        edits=True,
        elsewhere=True,
        scopes=resolver.scopes([path]),
        baseline=load(Path(baseline)) if baseline else None,
        ahead=True,
    )


def _is_left_out(path: Path, folders: tuple[Path, ...], resolver: Resolver) -> bool:
    around = [folder for folder in folders if path.is_relative_to(folder)]
    if around:
        return is_passed_over(path, max(around, key=lambda folder: len(folder.parts)), resolver.excludes)
    # beside the folders that are open lies what somebody else maintains; without any, the file alone is
    return resolver.excludes(path, False) or bool(folders and JUNK & set(path.parts))
