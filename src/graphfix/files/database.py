"""SQLite databases that somebody else may have written: they hold the tables that they are made with, or they are not used.

A view or a trigger runs what its author wrote at each look, and a value may be as large as he likes: what is done about both is what
https://www.sqlite.org/security.html asks for.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

STEP = 1_000_000  # instructions of SQLite
MOST_STEPS = 100  # for one statement


class Foreign(Exception):
    """A database that is not used, and why: the end of a sentence that begins with its name."""


class Steps:
    """Ends a statement that goes on and on; to be renewed before each."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def renew(self) -> None:
        """Another statement begins."""
        self._left = MOST_STEPS

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0


def confine(base: sqlite3.Connection, tables: Sequence[str], most_bytes: int, *, made: bool = False) -> Steps:
    """Have a connection do no more than read and write `tables`, as `CREATE TABLE` has made them, with values up to `most_bytes`.

    Raises `Foreign` where the database holds anything else, or nothing where it is `made` already; `sqlite3.Error` where it holds nothing that can be read.
    """
    steps = Steps()
    base.set_progress_handler(steps, STEP)
    if sys.version_info >= (3, 11):
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most_bytes)
    try:
        _held_to(base, tables, made)
    except UnicodeDecodeError as error:  # what SQLite says of a damaged schema quotes that
        raise sqlite3.DatabaseError("database schema is malformed") from error
    return steps


def _held_to(base: sqlite3.Connection, tables: Sequence[str], made: bool) -> None:
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        base.execute(f"PRAGMA {setting}")
    held = base.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid LIMIT ?", (len(tables) + 1,)).fetchall()
    if (held or made) and [sql for (sql,) in held] != list(tables):
        raise Foreign("holds another program's data")


def not_ours(path: Path) -> str:
    """Why a file or a folder is not trusted: somebody else owns it, or may write it. Empty where nobody does, or it is not there."""
    try:
        state = os.stat(path)
    except OSError:
        return ""
    if not hasattr(os, "geteuid"):
        return ""
    if state.st_uid != os.geteuid():
        return "belongs to another user"
    if state.st_mode & 0o002 or state.st_mode & 0o020 and not _is_own_group(state.st_gid):
        return "may be written by other users"
    return ""


def _is_own_group(group: int) -> bool:
    """Whether a group is that of the user alone, as most systems make one for each user."""
    import grp
    import pwd

    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
