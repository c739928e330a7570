"""Which project a file belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def project_of(path: Path) -> Path:
    """The folder that a script at `path` belongs to: its git work tree, or where it lies."""
    folder = Path(os.path.realpath(path if os.path.isdir(path) else path.parent))
    return next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)


# where a project begins, for the tools that build, test and check it
MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def project_root(folder: Path) -> Path:
    """The folder in which the imports of the code below `folder` are looked up: the same for a file, its folder and all of it.

    It is the closest one with a mark of a project; without any, the working folder, where that lies above; else `folder`.
    """
    real = Path(os.path.realpath(folder))
    here = Path(os.path.realpath(os.curdir))
    marked = next((parent for parent in (real, *real.parents) if any(os.path.lexists(parent / mark) for mark in MARKS)), None)
    return marked or (here if real.is_relative_to(here) else real)
