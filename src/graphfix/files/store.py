"""Atomic writes of files that graphfix makes itself: reports, patches, baselines."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from graphfix.files.write import PREFIX, SUFFIX, NotWritten, sync_folder, why


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
        _replace(target, data, mode)
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


def _replace(target: Path, data: bytes, mode: int) -> None:
    temporary = target.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.chmod(temporary, mode)
            os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(target.parent)
