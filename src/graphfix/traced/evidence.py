"""What `trace --save` has kept, as far as `check`, `diff` and `apply` can use it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from graphfix.interpreter.witness import Witness
from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, NotJson, read_json
from graphfix.traced.record import CELL


class EvidenceError(Exception):
    """A file that `trace --save` did not write, or that cannot be read."""


def witness_of(paths: Iterable[Path]) -> Witness:
    """What all of the saved runs have shown; raises `EvidenceError` with one line."""
    return Witness(tuple(entry for path in paths for entry in _entries(path)))


def _entries(path: Path) -> list[tuple[str, str, str, str]]:
    try:
        return list(_rows(read_json(path, STATE_BYTES)))
    except (NotJson, ValueError, KeyError, TypeError, AttributeError):
        raise EvidenceError(f"{path}: not what `graphfix trace --save` writes") from None
    except SourceError as error:
        raise EvidenceError(f"cannot read {path}: {error.reason}") from None


def _rows(report: Any) -> Iterator[tuple[str, str, str, str]]:
    for row in report["trace"]["values"]:
        file, function, name, kind = (row[key] for key in ("file", "function", "name", "kind"))
        if not all(isinstance(part, str) for part in (file, function, name, kind)):
            raise TypeError
        if b"\0" in os.fsencode(file):  # raises ValueError, too, for what no file can be called
            raise ValueError
        yield file.partition(CELL)[0], function, name, kind
