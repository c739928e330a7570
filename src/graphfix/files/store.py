"""Atomic writes of files that graphfix makes itself: reports, patches, baselines."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graphfix.files.temporary import staged, sync_folder
from graphfix.files.write import NotWritten, why


def store(path: Path, data: bytes) -> None:
    """Make `data` the content of `path`, old or new; `NotWritten` leaves what was there."""
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target)
        if mode is None:
            # a pipe or a device, such as /dev/stdout
            with open(target, "wb") as stream:
                stream.write(data)
            return
        with staged(target, data, lambda _, temporary: os.chmod(temporary, mode)) as temporary:
            os.replace(temporary, target)
        sync_folder(target.parent)
    except OSError as error:
        raise NotWritten("no such folder" if not target.parent.is_dir() else why(error)) from error


def _mode(target: Path) -> int | None:
    """The permissions for the file; None where it is none that could be replaced."""
    try:
        state = os.stat(target)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
    if stat.S_ISDIR(state.st_mode):
        raise NotWritten("is a folder")
    return stat.S_IMODE(state.st_mode) if stat.S_ISREG(state.st_mode) else None
