"""What came of one file: the value that travels from the workers to the reports."""

from __future__ import annotations

import enum
from dataclasses import field, replace
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit, Finding
from graphfix.source.text import Source


class Status(enum.Enum):
    """How far graphfix got with a file."""

    EXAMINED = "examined"
    SKIPPED = "skipped"
    UNREADABLE = "unreadable"
    UNWRITABLE = "unwritable"
    INTERNAL = "internal error"


@dataclass(frozen=True)
class Fixed:
    """A finding that a fix took away, and its line (of the notebook's cell) in the file as it was; 0 where that has none."""

    finding: Finding
    row: int
    cell: int | None = None


@dataclass(frozen=True)
class Stage:
    """A file after the repairs of one rule in one pass, on top of those before."""

    number: int
    code: str
    name: str
    after: bytes
    fixed: tuple[Fixed, ...] = ()


@dataclass(frozen=True)
class Elsewhere:
    """What a fix does to a file, with the `text` that it was worked out for."""

    path: Path
    text: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Outcome:
    """Exactly one per file. `findings` lie in `source`; after a repair they are what is left.

    `faults`: the codes of rules that raised, and how; their findings are missing. `unfinished`: why the analysis ended early.
    `unused`: place and code of suppressions that silence nothing. `known` findings are hidden by the baseline, of which `stale`
    ones for this file are no more. `accepted`: the settings say that it may not be readable.
    `edits`: those of the fix of each finding, `others` those of its other repair, where that is asked for.
    `elsewhere`: for each finding whose fix changes other files, too, what it does to each file, where that is asked for.
    `together`: the real paths of further files that hold parts of its fixes: all of them are written, or none.
    `passed_over`: its bytes cannot matter, so that nobody has parsed it.
    `seconds`: how long it took.
    """

    path: Path
    status: Status = Status.EXAMINED
    reason: str = ""
    row: int = 0
    column: int = 0
    cell: int | None = None
    findings: tuple[Finding, ...] = ()
    edits: tuple[tuple[Edit, ...], ...] = ()
    others: tuple[tuple[Edit, ...], ...] = ()
    source: Source | None = None
    before: bytes = b""
    after: bytes = b""
    fixed: tuple[Finding, ...] = ()
    refused: tuple[tuple[Finding, str], ...] = ()
    broken: tuple[tuple[Finding, str], ...] = ()
    left_out: tuple[str, ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    known: int = 0
    stale: int = 0
    stages: tuple[Stage, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    unfinished: str = ""
    accepted: bool = False
    elsewhere: tuple[tuple[Elsewhere, ...], ...] = ()
    together: frozenset[Path] = frozenset()
    passed_over: bool = field(default=False, compare=False)
    seconds: float = field(default=0.0, compare=False)

    @property
    def edits_of_fixes(self) -> tuple[tuple[Edit, ...], ...]:
        """The edits of the fix of each finding; none where they were not asked for."""
        return self.edits or ((),) * len(self.findings)

    @property
    def edits_of_others(self) -> tuple[tuple[Edit, ...], ...]:
        """The edits of the other repair of each finding."""
        return self.others or ((),) * len(self.findings)

    @property
    def failed(self) -> bool:
        """Whether the file was not examined or not written, and that is not accepted."""
        return self.status is not Status.EXAMINED and not self.accepted

    @property
    def changed(self) -> bool:
        """Whether a repair made other bytes of the file."""
        return self.before != self.after

    @property
    def light(self) -> Outcome:
        """The outcome as it travels and is kept: with the bytes of the file only where a repair has changed them."""
        return self if self.changed else replace(self, before=b"", after=b"")
