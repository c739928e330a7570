"""Why a file was not read."""

from __future__ import annotations


class SourceError(Exception):
    """A file that cannot be read or parsed: one reason, and where it is known."""

    def __init__(self, reason: str, row: int = 0, column: int = 0, cell: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column
        self.cell = cell


class Skipped(SourceError):
    """A file that is readable but left out on purpose, such as one nested too deep."""


class Torn(Exception):
    """An edit that cannot be brought back into what the file is, such as a notebook: a fault of graphfix, and nothing is written."""
