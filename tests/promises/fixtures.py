"""The fixtures, for the promises that hold on all of them."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.selection import Wanted

FOLDER = Path(__file__).parents[2] / "fixtures"
PAIRS = sorted(path.parent for path in FOLDER.glob("*/*/after.py"))
SCRIPTS = sorted(FOLDER.rglob("*.py"))


def label(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def selection(path: Path) -> tuple[str, ...]:
    """The code that has to be named to see what `path` shows: that of an optional finding."""
    case = path.relative_to(FOLDER).parts
    return (case[0].partition("-")[0],) if case[1].startswith("optional_") else ()


def repaired(path: Path, data: bytes | None = None, unsafe: bool = True) -> Outcome:
    """The outcome of `apply` on the file at `path`, or on `data` in its stead; nothing is written."""
    return examine(path, Job((path.parent,), Wanted(selection(path), unsafe=unsafe), repair=True), data)
