"""Where code lies that the user did not write."""

from __future__ import annotations

import os
import sys
import sysconfig

PACKAGES = ("site-packages", "dist-packages")


def installed() -> tuple[str, ...]:
    """The folders of the standard library and of what is installed: for all users, for one, or in an environment below this one."""
    paths = sysconfig.get_paths()
    known = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(known | {entry for entry in sys.path if isinstance(entry, str) and os.path.basename(entry) in PACKAGES})
