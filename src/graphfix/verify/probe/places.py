"""Where code lies that the user did not write."""

from __future__ import annotations

import sysconfig


def installed() -> tuple[str, ...]:
    """The folders of the standard library and of what is installed."""
    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})
