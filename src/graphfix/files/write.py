"""Atomic writes: a file holds all of its old bytes or all of its new ones, whatever happens.

The new bytes go to a temporary file in the same folder, reach the disk, take over
mode and owner, and replace the old file in one rename.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from graphfix.files.temporary import Finish, staged, sync_folder
from graphfix.source.errors import Skipped, SourceError
from graphfix.source.reading import read_bytes


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
    with staged(target, after, like(target, state)) as temporary:
        # as late as can be: whatever an editor saved since the analysis must win
        if not holds(target, before):
            raise NotWritten("changed meanwhile")
        os.replace(temporary, target)
    sync_folder(target.parent)


def holds(target: Path, data: bytes) -> bool:
    """Whether the file has these bytes and no others; `NotWritten` where it cannot be read any more."""
    try:
        return read_bytes(target, len(data)) == data
    except Skipped:  # it has grown
        return False
    except SourceError as error:
        raise NotWritten(error.reason) from error


def check(target: Path, state: os.stat_result) -> None:
    """`NotWritten` where the file is none that may be replaced."""
    if not stat.S_ISREG(state.st_mode):
        raise NotWritten("not a regular file")
    if state.st_nlink > 1:
        raise NotWritten("has hard links, which replacing the file would break")
    # a rename would succeed all the same: only the folder has to be writable for it
    if not os.access(target, os.W_OK):
        raise NotWritten("read-only")


def like(target: Path, state: os.stat_result) -> Finish:
    """Gives a new file the mode, owner and attributes of `target`."""

    def finish(handle: int, temporary: Path) -> None:
        if hasattr(os, "fchown"):
            made = os.fstat(handle)
            if (made.st_uid, made.st_gid) != (state.st_uid, state.st_gid):
                os.fchown(handle, state.st_uid, state.st_gid)
        _copy_attributes(target, temporary)
        # after the owner: changing the owner clears the set-id bits
        os.chmod(temporary, stat.S_IMODE(state.st_mode))

    return finish


def _copy_attributes(target: Path, temporary: Path) -> None:
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(target):
            os.setxattr(temporary, name, os.getxattr(target, name))
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENODATA, errno.EPERM):
            raise


def why(error: OSError) -> str:
    """What kept a file from being written, in plain words."""
    reasons = {
        errno.ENOSPC: "no space left on the disk",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "larger than this process is allowed to write",
        errno.EROFS: "read-only file system",
        errno.EACCES: "the folder is not writable",
        errno.EPERM: "owner or mode cannot be kept",
        errno.ENOENT: "the file is gone",
    }
    return reasons.get(error.errno or 0, (error.strerror or str(error)).lower())
