"""What is wrong with a command line, in one line."""

from __future__ import annotations

import difflib
import re

from graphfix.cli.foreign import hint
from graphfix.cli.front import ClickException, UsageError
from graphfix.report.escape import escaped

_QUOTED = re.compile(r"'([^']*)'")
# the names that click has for its types
_PLAIN = {
    "is not a valid int range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}
_NOT_ONE_OF = " is not one of "


def line_of(error: ClickException) -> str:
    """What is wrong, with what was perhaps meant, or where to read what there is."""
    known = hint(error)
    if known is not None:
        return known
    message = " ".join(error.format_message().split()).rstrip(".")
    message = escaped(message[:1].lower() + message[1:])
    for words, plain in _PLAIN.items():
        message = message.replace(words, plain)
    near = _near(message)
    if near:
        return f"{message}; did you mean {near}?"
    context = error.ctx if isinstance(error, UsageError) else None
    return f"{message}; {context.command_path} --help says more" if context is not None else message


def _near(message: str) -> str:
    """The choice that was perhaps meant, where there are some."""
    given, found, offered = message.partition(_NOT_ONE_OF)
    typed = _QUOTED.findall(given)
    near = difflib.get_close_matches(typed[-1].lower(), _QUOTED.findall(offered), n=1) if found and typed else []
    return near[0] if near else ""
