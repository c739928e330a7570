"""Which project a file belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def project_of(path: Path) -> Path:
    """The folder that a script at `path` belongs to: its git work tree, or where it lies."""
    folder = Path(os.path.realpath(path if os.path.isdir(path) else path.parent))
    return next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)
