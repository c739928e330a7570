"""`graphfix diff --by-rule`: one patch for each rule, each against what the former ones leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from graphfix.cli import session
from graphfix.report.report import Report
from graphfix.rewrite.patch import BadPatch

_OURS = re.compile(r"\d{2,}-GF\d{3}-[a-z0-9-]+\.patch")

Patch = Callable[[Path, bytes, bytes], bytes]


def write_series(report: Report, folder: Path, patch: Patch) -> list[Path]:
    """Write the patches into `folder`, in the order in which they apply; those of an earlier run go."""
    try:
        series = list(_series(report, patch))
    except BadPatch as error:
        session.fail(str(error))
    made = {folder / f"{number:02d}-{code}-{name}.patch": data for number, (code, name, data) in enumerate(series, 1)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if _OURS.fullmatch(old.name) and old not in made:
                old.unlink()
    except OSError as error:
        session.fail(f"{folder}: {(error.strerror or str(error)).lower()}")
    for path, data in made.items():
        session.store_bytes(path, data)
    return list(made)


def _series(report: Report, patch: Patch) -> Iterator[tuple[str, str, bytes]]:
    """Code, name and patch of each stage that changes anything; what only a later pass can fix comes behind."""
    texts = {outcome.path: outcome.before for outcome in report.changed}
    stages = {(stage.number, stage.code, stage.name) for outcome in report.changed for stage in outcome.stages}
    # passes that only one rule goes on with are one step
    for (code, name), group in groupby(sorted(stages), lambda key: key[1:]):
        step = set(group)
        parts = []
        for outcome in report.changed:
            reached = [stage.after for stage in outcome.stages if (stage.number, stage.code, stage.name) in step]
            if reached and reached[-1] != texts[outcome.path]:
                parts.append(patch(outcome.path, texts[outcome.path], reached[-1]))
                texts[outcome.path] = reached[-1]
        if parts:
            yield code, name, b"".join(parts)
