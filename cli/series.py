"""`graphfix diff --by-rule`: one patch for each rule, each against what the former ones leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.screen import ERR
from graphfix.examine import Job, examine
from graphfix.outcome import Status
from graphfix.report.report import Report

MAX_ROUNDS = 10
_OURS = re.compile(r"\d{2,}-GF\d{3}-[a-z0-9-]+\.patch")

Patch = Callable[[Path, bytes, bytes], bytes]


def write_series(report: Report, job: Job, folder: Path, patch: Patch) -> list[Path]:
    """Write the patches into `folder`, in the order in which they apply; those of an earlier run go."""
    texts = {outcome.path: outcome.before for outcome in report.changed}
    codes = sorted({(finding.code, finding.name) for finding in report.fixed})
    made: dict[Path, bytes] = {}
    for number, (code, name, data) in enumerate(_series(texts, codes, job, patch), 1):
        made[folder / f"{number:02d}-{code}-{name}.patch"] = data
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if _OURS.fullmatch(old.name) and old not in made:
                old.unlink()
    except OSError as error:
        session.fail(f"{folder}: {(error.strerror or str(error)).lower()}")
    for path, data in made.items():
        session.store_bytes(path, data)
    if any(texts[outcome.path] != outcome.after for outcome in report.changed):
        ERR.say("graphfix: rule by rule, these patches do not make quite what apply makes of all rules at once")
    return list(made)


def _series(texts: dict[Path, bytes], codes: list[tuple[str, str]], job: Job, patch: Patch) -> Iterator[tuple[str, str, bytes]]:
    """Code, name and patch of each step; `texts` go along. What a fix makes possible for an earlier rule comes in a new round."""
    for _ in range(MAX_ROUNDS):
        rested = True
        for code, name in codes:
            data = _step(texts, replace(job, only=code), patch)
            if data:
                rested = False
                yield code, name, data
        if rested:
            return


def _step(texts: dict[Path, bytes], job: Job, patch: Patch) -> bytes:
    parts = []
    for path, before in sorted(texts.items()):
        outcome = examine(path, job, before)
        if outcome.status is Status.EXAMINED and outcome.changed:
            parts.append(patch(path, before, outcome.after))
            texts[path] = outcome.after
    return b"".join(parts)
