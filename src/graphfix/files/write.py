"""Atomic writes: a file holds all of its old bytes or all of its new ones, whatever happens.

The new bytes go to a temporary file in the same folder, reach the disk, take over
mode and owner, and replace the old file in one rename.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

PREFIX = ".graphfix-"
SUFFIX = ".tmp"
_OLD_SECONDS = 3600.0


class NotWritten(Exception):
    """A file left as it was, and why."""


def replace(path: Path, before: bytes, after: bytes, roots: Sequence[Path]) -> None:
    """Make `after` the content of `path` if it still is `before`; else `NotWritten` and nothing changes."""
    target = Path(os.path.realpath(path))
    if not any(target.is_relative_to(root) for root in roots):
        raise NotWritten("its real place is outside of the given paths")
    try:
        _replace(target, before, after)
    except OSError as error:
        raise NotWritten(why(error)) from error


def _replace(target: Path, before: bytes, after: bytes) -> None:
    state = os.lstat(target)
    check(target, state)
    temporary = target.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}")
    try:
        fill(temporary, after, state, target)
        # as late as can be: whatever an editor saved since the analysis must win
        if target.read_bytes() != before:
            raise NotWritten("changed meanwhile")
        os.replace(temporary, target)
    except BaseException:
        # also on Ctrl-C: only a kill may leave a temporary file, for `sweep` to find
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(target.parent)


def check(target: Path, state: os.stat_result) -> None:
    """`NotWritten` where the file is none that may be replaced."""
    if not stat.S_ISREG(state.st_mode):
        raise NotWritten("not a regular file")
    if state.st_nlink > 1:
        raise NotWritten("has hard links, which a rename would part")
    # a rename would succeed all the same: only the folder has to be writable for it
    if not os.access(target, os.W_OK):
        raise NotWritten("read-only")


def fill(temporary: Path, data: bytes, state: os.stat_result, target: Path) -> None:
    """Bring `data` to the disk in a new file with the mode, owner and attributes of `target`."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        if hasattr(os, "fchown"):
            made = os.fstat(handle)
            if (made.st_uid, made.st_gid) != (state.st_uid, state.st_gid):
                os.fchown(handle, state.st_uid, state.st_gid)
        _copy_attributes(target, temporary)
        # after the owner: changing the owner clears the set-id bits
        os.chmod(temporary, stat.S_IMODE(state.st_mode))
        os.fsync(handle)


def _copy_attributes(target: Path, temporary: Path) -> None:
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(target):
            os.setxattr(temporary, name, os.getxattr(target, name))
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENODATA, errno.EPERM):
            raise


def sync_folder(folder: Path) -> None:
    """Bring a rename in `folder` to the disk."""
    # the rename is done; a file system that cannot sync a folder is no reason to report a failure
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def why(error: OSError) -> str:
    """What kept a file from being written, in plain words."""
    reasons = {
        errno.ENOSPC: "no space left on the disk",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "larger than this process may write",
        errno.EROFS: "read-only file system",
        errno.EACCES: "the folder is not writable",
        errno.EPERM: "owner or mode cannot be kept",
        errno.ENOENT: "the file is gone",
    }
    return reasons.get(error.errno or 0, (error.strerror or str(error)).lower())


def sweep(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Remove the temporary files that killed runs left in `folders`; those of live runs stay."""
    swept = []
    for folder in folders:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = folder / name
                if name.startswith(PREFIX) and name.endswith(SUFFIX) and _is_stale(path):
                    path.unlink()
                    swept.append(path)
    return tuple(swept)


def _is_stale(path: Path) -> bool:
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        return False
    # a process number may be used again, or be one of another machine: no run holds a file for an hour
    if time.time() - state.st_mtime > _OLD_SECONDS:
        return True
    number = path.name[len(PREFIX) :].split("-")[0]
    return number.isdigit() and not is_alive(int(number))


def is_alive(process: int) -> bool:
    """Whether a process of this number runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
