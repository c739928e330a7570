"""Proof that a rewritten file still parses, by `ast` and by libcst."""

from __future__ import annotations

from graphfix.rewrite.depth import too_deep
from graphfix.rewrite.layout import UNPARSABLE, parse


def why_broken(text: str, original: str) -> str | None:
    """Why `text` may not replace `original`, or None."""
    try:
        tree = parse(text)
    except UNPARSABLE as error:
        return f"the result does not parse: {getattr(error, 'msg', None) or type(error).__name__}"
    if too_deep(text.encode("utf-8", "surrogatepass"), tree) or round_trips(text):
        return None
    # Where libcst is at odds with the original too (a bare carriage return, newer syntax), it proves nothing
    return "libcst does not read the result" if round_trips(original) else None


def round_trips(text: str) -> bool:
    import libcst as cst

    try:
        return cst.parse_module(text).code == text
    except (cst.ParserSyntaxError, RecursionError, UnicodeError):
        return False
