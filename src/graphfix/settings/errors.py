"""What settings raise."""

from __future__ import annotations

from pathlib import Path


class SettingsError(Exception):
    """What is wrong with a settings file: its path, the row where that is known, and why; the message has them all."""

    def __init__(self, path: Path, row: int, why: str) -> None:
        super().__init__(f"{path}:{row}: {why}" if row else f"{path}: {why}")
        self.path = path
        self.row = row
        self.why = why
