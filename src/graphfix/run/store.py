"""The database in which runs keep what they have worked out: bytes by their keys.

One SQLite file in the cache folder of the platform (or in GRAPHFIX_CACHE_DIR) that any number of processes share; SQLite keeps it whole when
one of them is killed (https://www.sqlite.org/atomiccommit.html). What cannot be read is not there, what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphfix.files.database import Foreign, Steps, confine, not_ours

MAX_BYTES = 256 << 20  # of the database, after a run
MAX_VALUE = 4 << 20  # bytes of what is kept of one text
WAIT = 2.0  # seconds for another process that writes
NAME = "findings.sqlite3"
DIGEST = 16  # bytes
TABLE = "CREATE TABLE outcome (key BLOB PRIMARY KEY, made BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID"


class Refused(Exception):
    """A place for what is kept that is not used: its name, and why."""


def folder() -> Path:
    """Where the database lies, if nothing else is said."""
    named = os.environ.get("GRAPHFIX_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("graphfix", appauthor=False))


def place(where: Path, roots: Sequence[Path]) -> Path:
    """The database in the folder `where`; raises `Refused` where others than the user may have written it, such as the author of a project."""
    file = where / NAME
    real = Path(os.path.realpath(where))
    for root in roots:
        if real.is_relative_to(os.path.realpath(root)):
            raise Refused(f"{where} lies inside of the project {root}, whose files may have come with it")
    if file.is_symlink():
        raise Refused(f"{file} is a link")
    for path in (where, file):
        why = not_ours(path)
        if why:
            raise Refused(f"{path} {why}")
    return file


def size(where: Path) -> int:
    """The bytes that the database in a folder takes."""
    return sum(file.lstat().st_size for file in _files(where) if file.exists())


def clean(where: Path) -> None:
    """Take the database in a folder away; a run that is under way goes on without it. Raises OSError."""
    for file in _files(where):
        file.unlink(missing_ok=True)


def trim(file: Path) -> None:
    """Let go of what was kept first, where there is too much."""
    if size(file.parent) <= MAX_BYTES:
        return
    with contextlib.suppress(sqlite3.Error, OSError, Foreign, TypeError):
        database = _connection(file)
        with database:
            middle = database.execute("SELECT used FROM outcome ORDER BY used LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM outcome)")
            database.execute("DELETE FROM outcome WHERE used <= ?", middle.fetchone())
        database.execute("VACUUM")


def got(file: Path, key: bytes) -> bytes | None:
    """What was kept under `key`; None where there is nothing that can be read."""
    try:
        row = _connection(file).execute("SELECT made FROM outcome WHERE key = ? AND length(made) <= ?", (key, MAX_VALUE)).fetchone()
    except (sqlite3.Error, OSError, Foreign):
        return None
    made = row[0] if row is not None and isinstance(row[0], bytes) else b""
    return made[DIGEST:] if made[:DIGEST] == _digest(key, made[DIGEST:]) else None


def put(file: Path, values: Mapping[bytes, bytes]) -> None:
    """Keep values by their keys; those that are too large are not kept."""
    now = int(time.time())
    rows = [(key, _digest(key, made) + made, now) for key, made in values.items() if len(made) < MAX_VALUE - DIGEST]
    try:
        with _connection(file) as database:
            database.executemany("INSERT OR REPLACE INTO outcome VALUES (?, ?, ?)", rows)
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            close()
            with contextlib.suppress(OSError):
                clean(file.parent)  # no database any more: the next run begins one
    except Foreign:
        return  # it is left as it is


def _digest(key: bytes, made: bytes) -> bytes:
    """By which bytes that a disk has changed are told from those that were kept: SQLite does not look at them."""
    return hashlib.blake2b(made, key=key[:32], digest_size=DIGEST).digest()


def close() -> None:
    """End the connections of this process."""
    for connection, _ in _connections.values():
        connection.close()
    _connections.clear()


def _files(where: Path) -> list[Path]:
    return [where / f"{NAME}{suffix}" for suffix in ("", "-journal")]


_connections: dict[tuple[int, Path], tuple[sqlite3.Connection, Steps]] = {}


def _connection(file: Path) -> sqlite3.Connection:
    """The connection of this process: one that was opened before a fork may not be used behind it."""
    known = _connections.get((os.getpid(), file))
    if known is None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = _connections[os.getpid(), file] = _opened(file)
    known[1].renew()
    return known[0]


def _opened(file: Path) -> tuple[sqlite3.Connection, Steps]:
    made = sqlite3.connect(file, timeout=WAIT)
    try:
        steps = confine(made, [TABLE], 2 * MAX_VALUE)
        made.execute("PRAGMA journal_mode = TRUNCATE")
        made.execute("PRAGMA synchronous = OFF")  # what a crash of the system breaks is thrown away
        made.execute(TABLE.replace("TABLE", "TABLE IF NOT EXISTS", 1))
    except BaseException:
        made.close()
        raise
    return made, steps
