"""One settings file, read and checked, with those that it extends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.settings.errors import SettingsError
from graphfix.settings.keys import BY_NAME
from graphfix.settings.kinds import CodesByPattern, KnownCodes, WrongValue, did_you_mean
from graphfix.settings.lines import row_of, rows_of_tables
from graphfix.settings.rows import WrongTable
from graphfix.settings.toml import BadToml, loads
from graphfix.source.errors import SourceError
from graphfix.source.quote import cut, quoted
from graphfix.source.reading import read_bytes

NAMES = ("graphfix.toml", "pyproject.toml")
MAX_BYTES = 1 << 20  # nobody writes as much by hand, and the reader takes seconds for more
_TABLE = ("tool", "graphfix")
_LONGEST = 50  # files that extend each other: no project needs as many, and each takes some of Python's stack


@dataclass(frozen=True, eq=False)
class Loaded:
    """A settings file. `folder` is what its patterns are relative to, `base` the file that it extends."""

    path: Path
    folder: Path
    values: Mapping[str, object]
    base: Loaded | None = None
    text: str = field(default="", repr=False)

    def chain(self) -> Iterator[Loaded]:
        """This file and those that it extends, nearest first."""
        layer: Loaded | None = self
        while layer is not None:
            yield layer
            layer = layer.base

    def row(self, key: str, *within: str | int) -> int:
        """The row on which the file sets `key`, or what lies `within` its value: a key of a table, or the number of an item."""
        return row_of(self.text, (*_prefix(self.path), key, *within))

    def rows(self, key: str, count: int) -> list[int]:
        """The rows of so many tables in the list that is the value of `key`: asked one by one, each would read the file anew."""
        return rows_of_tables(self.text, (*_prefix(self.path), key)) or [self.row(key)] * count


def found_in(folder: Path) -> Path | None:
    """The settings file of `folder` itself; a pyproject.toml counts only if it speaks of graphfix."""
    for name in NAMES:
        path = folder / name
        if os.path.lexists(path) and (name != "pyproject.toml" or _speaks(path)):
            return path
    return None


def load(path: Path, folder: Path | None = None, below: tuple[Path, ...] = ()) -> Loaded:
    """The checked settings of the file at `path`; `SettingsError` where anything is wrong with it."""
    text = _text(path)
    try:
        document = loads(text)
    except BadToml as error:
        raise _error(path, error.row, f"not valid TOML: {error}") from error
    values = _values(path, text, document)
    loaded = Loaded(path, folder or Path(os.path.abspath(path)).parent, values, text=text)
    _check(loaded)
    if "extend" not in values:
        return loaded
    return Loaded(path, loaded.folder, values, _base(loaded, (*below, Path(os.path.realpath(path)))), text)


def _base(loaded: Loaded, below: tuple[Path, ...]) -> Loaded:
    named = str(loaded.values["extend"])
    if not named or "\0" in named:
        raise _error(loaded.path, loaded.row("extend"), f"extend: {quoted(named)} is not the name of a file")
    path = Path(os.path.normpath(Path(os.path.abspath(loaded.path)).parent / named))
    if Path(os.path.realpath(path)) in below:
        raise _error(loaded.path, loaded.row("extend"), f"extend: {quoted(named)} extends this file in turn")
    if len(below) >= _LONGEST:
        raise _error(loaded.path, loaded.row("extend"), f"extend: more than {_LONGEST} files extend each other")
    if not os.path.lexists(path):
        raise _error(loaded.path, loaded.row("extend"), f"extend: no such file: {cut(named)}")
    try:
        read_bytes(path, MAX_BYTES)
    except SourceError as error:
        raise _error(loaded.path, loaded.row("extend"), f"extend: cannot read {quoted(named)}: {error.reason}") from error
    return load(shortest(path), below=below)


def _speaks(path: Path) -> bool:
    try:
        if b"graphfix" not in read_bytes(path, MAX_BYTES):
            return False
        document: object = loads(_text(path))
    except (SourceError, SettingsError):
        return False
    except BadToml:
        return True  # it may be meant for us: reading it will tell what is wrong
    for part in _TABLE:
        document = document.get(part) if isinstance(document, dict) else None
    return document is not None


def _text(path: Path) -> str:
    try:
        return read_bytes(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except SourceError as error:
        raise SettingsError(shortest(path), 0, f"cannot be read: {error.reason}") from error
    except UnicodeDecodeError as error:
        data = error.object[: error.start]
        raise _error(path, data.count(b"\n") + 1, "not valid utf-8") from error


def _prefix(path: Path) -> tuple[str, ...]:
    return _TABLE if path.name == "pyproject.toml" else ()


def _values(path: Path, text: str, document: object) -> Mapping[str, object]:
    prefix = _prefix(path)
    for number, part in enumerate(prefix, 1):
        document = document.get(part, {}) if isinstance(document, dict) else {}
        if not isinstance(document, dict):
            raise _error(path, row_of(text, prefix[:number]), f"{'.'.join(prefix[:number])} must be a table")
    assert isinstance(document, dict)
    return document


def _check(loaded: Loaded) -> None:
    for name, value in loaded.values.items():
        key = BY_NAME.get(name)
        if key is None:
            hint = did_you_mean(name.replace("_", "-").lower(), tuple(BY_NAME))
            raise _error(loaded.path, loaded.row(name), f"unknown setting {quoted(name)}{hint}")
        try:
            key.kind.check(value, KnownCodes())
        except WrongValue as error:
            raise _error(loaded.path, _row_of_value(loaded, name, value, error), f"{name}: {error}") from error


def _row_of_value(loaded: Loaded, name: str, value: object, error: WrongValue) -> int:
    kind = BY_NAME[name].kind
    if isinstance(error, WrongTable):
        within = (error.number, error.key) if error.key else (error.number,)
        return row_of(loaded.text, (*_prefix(loaded.path), name, *within))
    if isinstance(kind, CodesByPattern) and isinstance(value, dict):
        for pattern, codes in value.items():
            try:
                kind.check({pattern: codes}, KnownCodes())
            except WrongValue:
                return row_of(loaded.text, (*_prefix(loaded.path), name, pattern))
    return loaded.row(name)


def _error(path: Path, row: int, message: str) -> SettingsError:
    return SettingsError(shortest(path), row, message)


def shortest(path: Path) -> Path:
    """The path relative to the working directory, if it lies below it."""
    try:
        return Path(os.path.abspath(path)).relative_to(os.path.abspath(os.curdir))
    except ValueError:
        return path
