"""The names that Python itself binds, with those of Python 2, whose programs are read, too."""

from __future__ import annotations

import builtins

# https://docs.python.org/3/whatsnew/3.0.html: what they are called now
OLD = {"xrange": "range", "raw_input": "input", "unicode": "str", "basestring": "str", "long": "int", "unichr": "chr"}
NAMES = frozenset(dir(builtins))


def builtin_of(name: str) -> str | None:
    """What a name that no file binds is called in the present `builtins`; None where it is none of Python's."""
    return name if name in NAMES else OLD.get(name)
