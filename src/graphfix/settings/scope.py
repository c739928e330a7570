"""What the settings mean for the files below a folder: plain data, so that it can travel to a worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.files.gitignore import matched_name, matcher
from graphfix.interpreter.conventions import Conventions
from graphfix.lazy_dataclass import dataclass
from graphfix.run.selection import Wanted

if TYPE_CHECKING:
    from graphfix.effects.schema import Row
    from graphfix.settings.effective import Setting
    from graphfix.settings.files import Loaded


@dataclass(frozen=True)
class Patterns:
    """Patterns of .gitignore, relative to a folder."""

    folder: str
    lines: tuple[str, ...]

    def match(self, path: Path, *, folder: bool = False) -> bool:
        """Whether they mean the file or folder at `path`."""
        relative = matched_name(os.path.relpath(os.path.abspath(path), self.folder))
        # above the patterns' own folder only those without a place of their own can match
        relative = relative.removeprefix("./").replace("../", "")
        return bool(matcher(self.lines).verdict(relative + "/" if folder else relative))


@dataclass(frozen=True)
class Scope:
    """The settings that hold for each file of a folder."""

    wanted: Wanted = Wanted()
    exclude: tuple[Patterns, ...] = ()
    per_file: tuple[tuple[Patterns, bool, tuple[str, ...]], ...] = ()
    accept: tuple[Patterns, ...] = ()

    def excludes(self, path: Path, *, folder: bool = False) -> bool:
        """Whether the file or folder is to be left out."""
        return any(patterns.match(path, folder=folder) for patterns in self.exclude)

    def accepts(self, path: Path) -> bool:
        """Whether it is accepted that the file cannot be read."""
        return any(patterns.match(path) for patterns in self.accept)

    def wanted_for(self, path: Path) -> Wanted:
        """What is wanted of the file at `path`."""
        dropped = [code for patterns, inside, codes in self.per_file if patterns.match(path) is inside for code in codes]
        return replace(self.wanted, never=(*self.wanted.never, *dropped)) if dropped else self.wanted


def scope_of(settings: Mapping[str, Setting], here: Path) -> Scope:
    """The scope that `settings` make; what the command line says is relative to `here`."""

    def base(layer: Loaded | None) -> str:
        return str(layer.folder if layer is not None else here)

    never = tuple(code for layer, codes in settings["ignore"].parts if layer is None for code in _codes(codes))
    ignored = tuple(code for layer, codes in settings["ignore"].parts if layer is not None for code in _codes(codes))
    if any(layer is None for layer, _ in settings["select"].parts):
        never, ignored = (), never  # both from the command line: the longer prefix wins
    wanted = Wanted(
        _codes(settings["select"].value),
        ignored,
        bool(settings["unsafe-fixes"].value),
        _codes(settings["extend-select"].value),
        never,
        Conventions(str(settings["accumulate"].value), _rows(settings), allows_rounding=bool(settings["allow-rounding"].value)),
    )

    def patterns(name: str) -> tuple[Patterns, ...]:
        return tuple(Patterns(base(layer), tuple(lines)) for layer, lines in settings[name].parts)  # type: ignore[arg-type]

    per_file = tuple(
        (Patterns(base(layer), (pattern.removeprefix("!"),)), not pattern.startswith("!"), _codes(codes))
        for layer, table in settings["per-file-ignores"].parts
        for pattern, codes in table.items()  # type: ignore[attr-defined]
    )
    return Scope(wanted, patterns("extend-exclude"), per_file, patterns("accept-unreadable"))


def _rows(settings: Mapping[str, Setting]) -> tuple[Row, ...]:
    from graphfix.settings.rows import rows_in_settings

    return rows_in_settings(settings)


def _codes(value: object) -> tuple[str, ...]:
    from graphfix.settings.kinds import codes_of

    return codes_of(value)  # type: ignore[arg-type]
