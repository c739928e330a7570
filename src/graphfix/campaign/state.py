"""What became of each repository: one SQLite database in the campaign's folder, in which every step is one transaction.

A campaign that is killed goes on where the database says; SQLite keeps it whole (https://www.sqlite.org/atomiccommit.html).
"""

from __future__ import annotations

import contextlib
import enum
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "campaign.sqlite3"
WAIT = 30.0  # seconds for another process that writes
DAY = 24 * 3600
_TABLES = """
CREATE TABLE IF NOT EXISTS target (
    name TEXT PRIMARY KEY, url TEXT NOT NULL UNIQUE, stage TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
    facts TEXT NOT NULL DEFAULT '{}', number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS step (
    name TEXT NOT NULL REFERENCES target(name), was TEXT NOT NULL, now TEXT NOT NULL, at REAL NOT NULL, reason TEXT NOT NULL,
    seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS campaign (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), begun INTEGER NOT NULL);
"""


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


class State:
    """The database of a campaign; made where there is none."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        # each statement is a transaction of its own, but for what stands in a `with`
        self._base = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=FULL")
        self._base.executescript(_TABLES)
        self._base.execute("INSERT OR IGNORE INTO campaign VALUES (1, ?)", (int(time.time()),))

    @property
    def begun(self) -> int:
        """When the campaign was begun, in seconds since 1970."""
        return int(self._base.execute("SELECT begun FROM campaign").fetchone()[0])

    def close(self) -> None:
        self._base.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

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

    def move(self, target: Target, stage: Stage, reason: str = "", seconds: float = 0.0, **facts: Any) -> Target:
        """The target at another stage, with what was found out on the way; `LookupError` where it is no more where it was."""
        known = {**target.facts, **facts}
        with self._transaction():
            done = self._base.execute(
                "UPDATE target SET stage = ?, reason = ?, facts = ? WHERE name = ? AND stage = ?",
                (stage.value, reason, json.dumps(known, sort_keys=True), target.name, target.stage.value),
            ).rowcount
            if not done:
                raise LookupError(f"{target.name} is no more {target.stage.value}")
            self._note(target.name, target.stage, stage, reason, seconds)
        return Target(target.name, target.url, stage, reason, known)

    def _note(self, name: str, was: Stage, now: Stage, reason: str, seconds: float) -> None:
        self._base.execute(
            "INSERT INTO step (name, was, now, at, reason, seconds) VALUES (?, ?, ?, ?, ?, ?)",
            (name, was.value, now.value, time.time(), reason, seconds),
        )

    def targets(self, *stages: Stage) -> list[Target]:
        """All targets, or those at one of the stages, in the order in which they were taken up."""
        rows = self._base.execute("SELECT name, url, stage, reason, facts FROM target ORDER BY number").fetchall()
        found = [Target(name, url, Stage(stage), reason, json.loads(facts)) for name, url, stage, reason, facts in rows]
        return [each for each in found if not stages or each.stage in stages]

    def names(self) -> dict[str, str]:
        """The name of each target by its address."""
        return dict(self._base.execute("SELECT url, name FROM target").fetchall())

    def steps(self) -> list[Step]:
        """All that has happened, the oldest first."""
        rows = self._base.execute("SELECT name, was, now, at, reason, seconds FROM step ORDER BY rowid").fetchall()
        return [Step(name, Stage(was), Stage(now), at, reason, seconds) for name, was, now, at, reason, seconds in rows]

    def opened_since(self, then: float) -> int:
        """How many pull requests were opened since then; one that is renewed was opened when it came to be."""
        row = self._base.execute(
            "SELECT count(*) FROM (SELECT min(at) AS first FROM step WHERE now = ? GROUP BY name) WHERE first >= ?",
            (Stage.OPENED.value, then),
        ).fetchone()
        return int(row[0])
