"""One pull request or several: by rule, by top folder, or by whom CODEOWNERS names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from graphfix.installation import command
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.repository import NotMade
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome
from graphfix.run.workers import examined_here
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

OWNER_FILES = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


@dataclass(frozen=True)
class Part:
    """What goes into one branch. `slug`: the end of its name; nothing where all goes into one."""

    name: str
    slug: str
    outcomes: tuple[Outcome, ...]


def by_rule(outcomes: Sequence[Outcome], job: Job, codes: Iterable[str]) -> list[Part]:
    """One part for each rule, with what its repairs alone make of the files."""
    every = list(codes)
    wanted = {finding.code: finding.name for outcome in outcomes for finding in outcome.fixed}
    parts = []
    for code, name in sorted(wanted.items()):
        found = [_alone(outcome, job, code, every) for outcome in outcomes]
        if any(outcome.changed for outcome in found):
            parts.append(Part(f"{code} {name}", code.lower(), tuple(found)))
    return parts


def _alone(outcome: Outcome, job: Job, code: str, codes: Sequence[str]) -> Outcome:
    if not outcome.changed:
        return replace(outcome, findings=tuple(finding for finding in outcome.findings if finding.code == code))
    wanted = job.wanted_for(outcome.path)
    others = tuple(other for other in codes if other != code)
    only = replace(wanted, never=(*wanted.never, *others))
    return examined_here(outcome.path, replace(job, wanted=only, scopes={}), outcome.before)


def by_key(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> list[Part]:
    """One part for each key that a changed file has."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    parts, taken = [], set[str]()
    for name, group in sorted(groups.items()):
        if any(outcome.changed for outcome in group):
            slug = _slug(name, taken)
            taken.add(slug)
            parts.append(Part(name, slug, tuple(group)))
    return parts


def _slug(name: str, taken: set[str]) -> str:
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-").lower() or "other"
    number, made = 2, slug
    while made in taken:
        made, number = f"{slug}-{number}", number + 1
    return made


def folder_of(name: str) -> str:
    """The top folder of a file's name in the repository."""
    return name.partition("/")[0] if "/" in name else "top"


def owners(top: Path) -> Callable[[str], str]:
    """Tells the owners of a file's name, as the repository's CODEOWNERS has them: the last pattern that fits decides."""
    file = next((top / name for name in OWNER_FILES if os.path.isfile(top / name)), None)
    if file is None:
        raise NotMade(f"--split owner: there is no CODEOWNERS ({', '.join(OWNER_FILES)})")
    try:
        from codeowners import CodeOwners
    except ImportError as error:
        raise NotMade(f"--split owner needs the package codeowners: {command(extra='forge')}") from error
    try:
        known = CodeOwners(read_bytes(file).decode("utf-8", "replace"))
    except (ValueError, SourceError) as error:
        raise NotMade(f"{file}: {error}") from error

    def named(name: str) -> str:
        return " ".join(owner for _, owner in known.of(name)) or "unowned"

    return named
