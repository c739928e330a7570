"""TOML text to values, by the reader of the Python that runs."""

from __future__ import annotations

import re
import sys
from typing import Any

# keys of so many parts mean nothing, and the reader takes a time that grows with the square of their number
_PARTS = 64
_KEY = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_KEY}[ \t]*\.[ \t]*){{{_PARTS}}}", re.MULTILINE)
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
    long = _LONG_KEY.search(text)
    if long:
        raise BadToml("nested too deeply", text.count("\n", 0, long.start() + 1) + 1)
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
    except ValueError as error:  # what TOML allows and Python does not, such as a number of thousands of digits
        raise BadToml("a value that cannot be read", 1) from error
