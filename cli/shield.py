"""Keeps code of the repository under analysis off the import path."""

from __future__ import annotations

import os
import sys


def shield() -> None:
    """Drop the working directory from `sys.path`: its files may be named like modules yet to be imported."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    # and from what child processes of Python would inherit
    os.environ["PYTHONSAFEPATH"] = "1"
