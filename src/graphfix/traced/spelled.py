"""How places, names and sizes of a traced run are written."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator

from graphfix.report.escape import escaped, shown
from graphfix.report.text import Line, Piece, columns
from graphfix.traced.record import Carrier, Place

WIDTH = 100  # and less on a narrower terminal


def name_of(carrier: Carrier | None) -> str:
    return f"`{escaped(carrier.name)}` ({carrier.described})" if carrier is not None else ""


def where(place: Place) -> str:
    return f"{escaped(shortened(place.file))}:{place.line}"


def shortened(file: str) -> str:
    """A path as it is typed here, where that is shorter; of a library, from the package on."""
    if "site-packages" in file:
        return file.rpartition("site-packages" + os.sep)[2]
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return relative if not relative.startswith("..") else file


def line_at(place: Place) -> str:
    """The line of code, as much of it as stands beside its place."""
    text = linecache.getline(place.file, place.line).strip()
    room = max(40, min(WIDTH, columns()) - 9 - len(where(place)))
    return shown(text if len(text) <= room else text[: room - 3] + "...")


def called_from(place: Place) -> Iterator[Line]:
    """The lines that led to a place, the closest first."""
    for file, line in place.callers:
        caller = Place(file, line)
        yield (Piece("        called from "), Piece(where(caller), "blue"), Piece(f"  {line_at(caller)}"))


def size_of(count: float) -> str:
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} bytes"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
