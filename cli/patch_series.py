"""`graphfix diff --by-rule`: one patch for each rule, each against what the former ones leave."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from graphfix.cli import session
from graphfix.report.report import Report
from graphfix.rewrite.patch import BadPatch
from graphfix.run.series import steps

_OURS = re.compile(r"\d{2,}-GF\d{3}-[a-z0-9-]+\.patch")

Patch = Callable[[Path, bytes, bytes], bytes]


def write_series(report: Report, folder: Path, patch: Patch) -> list[Path]:
    """Write the patches into `folder`, in the order in which they apply; those of an earlier run go."""
    try:
        series = [
            (step.code, step.name, b"".join(patch(path, old, new) for path, old, new in step.files))
            for step in steps(report.changed)
        ]
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
