"""Databases that somebody else has written."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from graphfix.files import database
from graphfix.files.database import Foreign, confine, not_ours

TABLE = "CREATE TABLE kept (key BLOB PRIMARY KEY, made BLOB)"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS key, i AS made FROM n WHERE i < 0"
OTHERS = {
    "a view": "CREATE VIEW kept AS SELECT x'01' AS key, x'02' AS made",
    "a view without end": f"CREATE VIEW kept AS {ENDLESS}",
    "a value without bounds": "CREATE VIEW kept AS SELECT x'01' AS key, zeroblob(900000000) AS made",
    "a trigger": f"{TABLE}; CREATE TRIGGER t AFTER INSERT ON kept BEGIN DELETE FROM kept; END",
    "a column that is worked out": "CREATE TABLE kept (key BLOB PRIMARY KEY, made BLOB AS (zeroblob(900000000)))",
    "a further table": f"{TABLE}; CREATE TABLE more (x)",
    "another table": "CREATE TABLE bookmarks (url TEXT)",
    "an index over an expression": f"{TABLE}; CREATE INDEX i ON kept (abs(made))",
}


@pytest.mark.parametrize("made", OTHERS.values(), ids=OTHERS)
def test_what_holds_anything_else_is_not_used(made: str, tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite3"
    with sqlite3.connect(path) as base:
        base.executescript(made)
    before = path.read_bytes()
    with pytest.raises(Foreign):
        confine(sqlite3.connect(path), [TABLE], 1000)
    assert path.read_bytes() == before


def test_what_was_made_with_the_tables_and_what_holds_nothing_is(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "own.sqlite3")
    confine(base, [TABLE], 1000)
    base.execute(TABLE)
    base.close()
    base = sqlite3.connect(tmp_path / "own.sqlite3")
    confine(base, [TABLE], 1000)
    base.execute("INSERT INTO kept VALUES (x'01', x'02')")
    assert base.execute("SELECT made FROM kept").fetchall() == [(b"\2",)]


def test_a_statement_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MOST_STEPS", 3)
    base = sqlite3.connect(":memory:")
    steps = confine(base, [TABLE], 1000)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            base.execute(ENDLESS).fetchone()
        steps.renew()
    base.execute(TABLE)


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="Python 3.11 and later set limits")
def test_a_value_has_bounds() -> None:
    base = sqlite3.connect(":memory:")
    confine(base, [TABLE], 1000)
    with pytest.raises(sqlite3.DataError):
        base.execute("SELECT zeroblob(900000000)").fetchone()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners")
def test_whose_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert not_ours(path) == ""
    path.touch(mode=0o600)
    assert not_ours(path) == ""
    path.chmod(0o666)
    assert not_ours(path) == "may be written by other users"
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert not_ours(path) == "belongs to another user"
        os.chown(path, 0, 12345)
        path.chmod(0o660)
        assert not_ours(path) == "may be written by other users"


def test_a_schema_that_is_no_text_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite3"
    with sqlite3.connect(path) as base:
        base.execute(TABLE)
    path.write_bytes(path.read_bytes().replace(b"TABLE kept (key", b"TABLE k\xb5pt (\xb5ey"))
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        confine(sqlite3.connect(path), [TABLE], 1000)
