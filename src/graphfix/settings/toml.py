"""TOML text to values, by the reader of the Python that runs."""

from __future__ import annotations

import re
import sys
from typing import Any

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class BadToml(Exception):
    """Text that is not TOML: why, and on which row."""

    def __init__(self, reason: str, row: int) -> None:
        super().__init__(reason)
        self.row = row


def loads(text: str) -> dict[str, Any]:
    """The values of `text`, or `BadToml`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        row = int(place[1]) if place and place[1] else text.rstrip("\n").count("\n") + 1
        reason = _PLACE.sub("", message)
        raise BadToml(reason[:1].lower() + reason[1:], row) from error
    except RecursionError as error:
        raise BadToml("nested too deeply", 1) from error
