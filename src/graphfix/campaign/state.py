"""What became of each repository: one SQLite database in the campaign's folder, in which every step is one transaction.

A campaign that is killed goes on where the database says; SQLite keeps it whole (https://www.sqlite.org/atomiccommit.html).
"""

from __future__ import annotations

import contextlib
import enum
import functools
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar, cast

from graphfix.campaign.facts import misread
from graphfix.files.database import Foreign, Steps, confine, not_ours
from graphfix.lazy_dataclass import dataclass

NAME = "campaign.sqlite3"
WAIT = 30.0  # seconds for another process that writes
DAY = 24 * 3600
TABLES = (
    """CREATE TABLE target (
    name TEXT PRIMARY KEY, url TEXT NOT NULL UNIQUE, stage TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
    facts TEXT NOT NULL DEFAULT '{}', number INTEGER NOT NULL)""",
    """CREATE TABLE step (
    name TEXT NOT NULL REFERENCES target(name), was TEXT NOT NULL, now TEXT NOT NULL, at REAL NOT NULL, reason TEXT NOT NULL,
    seconds REAL NOT NULL DEFAULT 0)""",
    "CREATE TABLE campaign (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), begun INTEGER NOT NULL)",
)
MAX_VALUE = 16 << 20  # bytes of what is kept of one repository


class Stage(enum.Enum):
    """How far a repository has come; in the order of the way, and behind it how it may end."""

    DISCOVERED = "discovered"
    CLONED = "cloned"
    ANALYSED = "analysed"
    FIXED = "fixed"
    VERIFIED = "verified"
    BRANCHED = "branched"
    PUSHED = "pushed"
    OPENED = "opened"
    MERGED = "merged"
    CLOSED = "closed"
    CLEAN = "clean"  # there is nothing to repair
    SKIPPED = "skipped"
    FAILED = "failed"


ENDED = frozenset((Stage.MERGED, Stage.CLOSED, Stage.CLEAN, Stage.SKIPPED, Stage.FAILED))


@dataclass(frozen=True)
class Target:
    """A repository. `facts`: what its stages have found out, plain data."""

    name: str
    url: str
    stage: Stage
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether it has a pull request that is open as far as is known, wherever the repository itself is meanwhile."""
        return bool(self.facts.get("link")) and self.stage not in (Stage.MERGED, Stage.CLOSED)


@dataclass(frozen=True)
class Step:
    """A target went from one stage to another, at this time (seconds since 1970), after so many seconds of work."""

    name: str
    was: Stage
    now: Stage
    at: float
    reason: str
    seconds: float


class StateError(Exception):
    """The database cannot be read or written: its path, and why."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _named(method: _Method) -> _Method:
    """What goes wrong with the database, or with what stands in it, names the file: a `StateError`."""

    @functools.wraps(method)
    def guarded(self: State, *given: Any, **named: Any) -> Any:
        self._steps.renew()
        try:
            return method(self, *given, **named)
        except sqlite3.Error as error:
            raise StateError(self.path, f"the state of the campaign cannot be used: {error}") from error
        except OSError as error:
            raise StateError(self.path, f"the state of the campaign cannot be used: {(error.strerror or str(error)).lower()}") from error
        except ValueError as error:
            raise StateError(self.path, f"the state of the campaign is damaged: {error}") from error

    return cast(_Method, guarded)


class State:
    """The database of a campaign; made where there is none. Whatever is asked of it raises `StateError` where it cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._steps = Steps()
        self._base = self._opened()

    @_named
    def _opened(self) -> sqlite3.Connection:
        if not os.path.lexists(self.path):
            self._create()
        if not self.path.is_file():
            raise StateError(self.path, "the state of the campaign must be a file")
        others = not_ours(self.path) or not_ours(self.path.parent)
        if others:
            raise StateError(self.path, f"the state of the campaign {others}")
        if not self.path.stat().st_size:
            raise StateError(self.path, "the state file of the campaign is empty, so its progress is lost; delete the file to start again")
        # each statement is a transaction of its own, but for what stands in a `with`
        base = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
        try:
            self._steps = confine(base, TABLES, MAX_VALUE, made=True)
            if not base.execute("SELECT count(*) FROM campaign").fetchone()[0]:
                raise Foreign
            base.execute("PRAGMA journal_mode=WAL")
            base.execute("PRAGMA synchronous=FULL")
        except Foreign:
            base.close()
            raise StateError(self.path, "this database does not hold the state of a campaign") from None
        except BaseException:
            base.close()
            raise
        return base

    def _create(self) -> None:
        """Make the database beside its place: whoever is killed meanwhile leaves none that is empty, and two leave that of one."""
        made = self.path.with_name(f".{NAME}.{os.getpid()}")
        try:
            with contextlib.closing(sqlite3.connect(made, isolation_level=None)) as base:
                base.executescript(f"BEGIN; {'; '.join(TABLES)}; INSERT INTO campaign VALUES (1, {int(time.time())}); COMMIT;")
            try:
                os.link(made, self.path)
            except FileExistsError:
                pass  # another process was first
            except OSError:  # not every file system has links
                os.rename(made, self.path)
        finally:
            made.unlink(missing_ok=True)

    @property
    @_named
    def begun(self) -> int:
        """When the campaign was begun, in seconds since 1970."""
        row = self._base.execute("SELECT begun FROM campaign").fetchone()
        if row is None or not isinstance(row[0], int):
            raise ValueError("it does not say when the campaign was begun")
        return row[0]

    def close(self) -> None:
        self._base.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # on a full disk SQLite has done so itself
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @_named
    def add(self, name: str, url: str, facts: Mapping[str, Any] | None = None) -> bool:
        """Take up a repository; False where it is known already."""
        with self._transaction():
            number = self._base.execute("SELECT count(*) FROM target").fetchone()[0]
            done = self._base.execute(
                "INSERT OR IGNORE INTO target (name, url, stage, number, facts) VALUES (?, ?, ?, ?, ?)",
                (name, url, Stage.DISCOVERED.value, number, json.dumps(facts or {}, sort_keys=True)),
            ).rowcount
            if done:
                self._note(name, Stage.DISCOVERED, Stage.DISCOVERED, "", 0.0)
        return bool(done)

    @_named
    def move(self, target: Target, stage: Stage, reason: str = "", seconds: float = 0.0, **facts: Any) -> Target:
        """The target at another stage, with what was found out on the way; `LookupError` where it is no more where it was."""
        known = {**target.facts, **facts}
        with self._transaction():
            done = self._base.execute(
                "UPDATE target SET stage = ?, reason = ?, facts = ? WHERE name = ? AND stage = ?",
                (stage.value, reason, json.dumps(known, sort_keys=True), target.name, target.stage.value),
            ).rowcount
            if not done:
                raise LookupError(f"{target.name} is no longer {target.stage.value}")
            self._note(target.name, target.stage, stage, reason, seconds)
        return Target(target.name, target.url, stage, reason, known)

    def _note(self, name: str, was: Stage, now: Stage, reason: str, seconds: float) -> None:
        self._base.execute(
            "INSERT INTO step (name, was, now, at, reason, seconds) VALUES (?, ?, ?, ?, ?, ?)",
            (name, was.value, now.value, time.time(), reason, seconds),
        )

    @_named
    def targets(self, *stages: Stage) -> list[Target]:
        """All targets, or those at one of the stages, in the order in which they were taken up."""
        rows = self._base.execute("SELECT name, url, stage, reason, facts FROM target ORDER BY number").fetchall()
        found = [_target(*row) for row in rows]
        return [each for each in found if not stages or each.stage in stages]

    @_named
    def names(self) -> dict[str, str]:
        """The name of each target by its address."""
        return dict(self._base.execute("SELECT url, name FROM target").fetchall())

    @_named
    def steps(self) -> list[Step]:
        """All that has happened, the oldest first."""
        rows = self._base.execute("SELECT name, was, now, at, reason, seconds FROM step ORDER BY rowid").fetchall()
        return [Step(str(name), Stage(was), Stage(now), float(at), str(reason), float(seconds)) for name, was, now, at, reason, seconds in rows]

    @_named
    def opened_since(self, then: float) -> int:
        """How many pull requests were opened since then; one that is renewed was opened when it came to be."""
        row = self._base.execute(
            "SELECT count(*) FROM (SELECT min(at) AS first FROM step WHERE now = ? GROUP BY name) WHERE first >= ?",
            (Stage.OPENED.value, then),
        ).fetchone()
        return int(row[0])


def _target(*row: object) -> Target:
    """A row of the database, of which SQLite does not check that it holds what belongs there; raises `ValueError`."""
    name, url, stage, reason, facts = (each if isinstance(each, str) else repr(each) for each in row)
    known = json.loads(facts)
    if not isinstance(known, dict):
        raise ValueError(f"the facts of {name} are no object")
    wrong = misread(known)
    if wrong:
        raise ValueError(f"{wrong!r} of {name} is not what a campaign writes")
    return Target(name, url, Stage(stage), reason, known)
