"""Temporary folders that do not stay: removed at the end, by the guard of a killed run, or by the next run."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from graphfix.files.temporary import is_alive
from graphfix.verify.guard import folder_gone, keep_folder

_OURS = re.compile(r"graphfix-(\d+)-[a-z0-9_]{8}")


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder of this process, gone when the block ends."""
    _swept(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"graphfix-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        keep_folder(name)
        yield Path(name)
    folder_gone(name)


@cache
def _swept(place: str) -> None:
    """Once in a run: what killed ones left, such as one that died with its guard."""
    sweep(Path(place))


def sweep(place: Path) -> None:
    """Remove the folders of runs that are no more; those of live ones and of other users stay."""
    for path in place.iterdir():
        match = _OURS.fullmatch(path.name)
        with suppress(OSError):  # another run may be sweeping, too
            if match and not is_alive(int(match[1])) and _is_own_folder(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.geteuid()
