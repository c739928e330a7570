"""The cells of a notebook as one script, and the script's lines as those of its cells."""

from __future__ import annotations

import linecache
from functools import cached_property
from pathlib import Path
from typing import Any

from graphfix.source.decode import read
from graphfix.traced.record import CELL


class Cells:
    """A notebook at `path`, written as `script` into a folder with nothing that it could import by accident.

    Raises SourceError where the notebook cannot be read.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.source = read(path)
        self.script = folder / f"{path.stem}.py"
        self.script.write_text(self.source.text, encoding="utf-8")

    @property
    def folder(self) -> Path:
        """Where a notebook's kernel is started."""
        return self.path.absolute().parent

    def named(self, report: Any) -> Any:
        """The report with the lines of the script as those of its cells, counted from 1 as everywhere."""
        if isinstance(report, list):
            return [self.named(each) for each in report]
        if not isinstance(report, dict):
            return report
        made = {key: self.named(value) for key, value in report.items()}
        if made.get("file") == str(self.script) and made.get("line") in range(1, len(self._places) + 1):
            made["file"], made["line"] = self._places[made["line"] - 1]
        return made

    @cached_property
    def _places(self) -> list[tuple[str, int]]:
        """For each line of the script the name of its cell and the line in it; the stories quote the cells by these names."""
        index, start = self.source.index(), 0
        found: list[tuple[str, int]] = []
        texts: dict[str, list[str]] = {}
        for line in self.source.text.encode().splitlines(keepends=True):
            name, row = f"{self.path}{CELL}{(index.cell(start) or 0) + 1}", index.place(start)[0]
            if row > 0:  # what separates two cells lies in neither
                lines = texts.setdefault(name, [])
                lines += ["\n"] * (row - len(lines))
                lines[row - 1] = line.decode()
            found.append((name, row))
            start += len(line)
        linecache.cache.update({name: (0, None, lines, name) for name, lines in texts.items()})
        return found
