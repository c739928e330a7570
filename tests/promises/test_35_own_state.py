"""Promise 35: whatever the files say that graphfix keeps, they run nothing, hang nothing, and cost nothing that is not theirs.

Real state (a cache, a baseline, evidence of a traced run, progress of a review, a journal, a campaign) is changed at random: `GRAPHFIX_STATES`
says how often.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.campaign.config import blank
from graphfix.campaign.state import NAME as CAMPAIGN
from graphfix.campaign.state import State
from graphfix.files.together import journal_of
from graphfix.review import decisions
from graphfix.run.store import NAME as CACHE

Run = Callable[..., subprocess.CompletedProcess[bytes]]
TIMES = int(os.environ.get("GRAPHFIX_STATES", "16"))
ODD = (
    None, True, -1, 10**400, 1.5, "", "\0", "\ud800", "../../canary.py", "/etc/passwd", "x" * 200_000, [], {}, [[], [[]]], {"": {}},
    "__import__('os').mkdir('ran')", "!!python/object/apply:os.mkdir [ran]", {"py/reduce": [{"py/function": "os.mkdir"}, ["ran"]]},
)  # fmt: skip
STATEMENTS = (
    "DROP TABLE {table}",
    "DELETE FROM {table}",
    "ALTER TABLE {table} ADD COLUMN more",
    "ALTER TABLE {table} RENAME TO other",
    "CREATE INDEX i ON {table} (rowid)",
    "CREATE TABLE more (x)",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
    "CREATE VIEW v AS SELECT zeroblob(900000000)",
    "PRAGMA user_version = 9",
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE {table} (a)'",
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 1",
    "UPDATE {table} SET {column} = zeroblob(3000000)",
    "UPDATE {table} SET {column} = 9e999",
    "UPDATE {table} SET {column} = '[\"Analysis\",[[\"Finding\",1,2,3]]]'",
    "UPDATE {table} SET {column} = CAST('[[\"Analysis\"],[[\"Met\",\"/etc/passwd\",null,\"CODE\",\"\"]]]' AS BLOB)",
    "UPDATE {table} SET {column} = CAST('true' AS BLOB)",
)


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace, graphfix: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and all that graphfix keeps of it, beside it."""
    root = tmp_path / "p"
    root.mkdir()
    (root / "pyproject.toml").touch()
    (root / "a.py").write_text(loops.both)
    (root / "b.py").write_text(loops.clean)
    (tmp_path / "canary.py").write_text(loops.total)
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    graphfix("check", ".", cwd=root)
    graphfix("check", "--write-baseline", "../baseline.json", ".", cwd=root)
    row = {"file": str(root / "a.py"), "function": "", "name": "total", "kind": "tensor"}
    (tmp_path / "run.json").write_text(json.dumps({"version": 1, "outcome": "finished", "trace": {"values": [row]}}))
    review, journal = decisions.place_of(root), journal_of(root)
    review.parent.mkdir(parents=True, exist_ok=True)
    entry = {"path": "a.py", "code": "GF101", "in": "", "line": "total += loss", "choice": "take", "row": 1}
    review.write_text(json.dumps({"version": decisions.VERSION, "project": str(root), "files": {}, "decisions": [entry]}))
    move = [str(root / ".graphfix-1.tmp"), str(root / "a.py"), "0" * 64, "1" * 64]
    journal.write_text(json.dumps({"process": 2**22 + 1, "moves": [move]}))
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign/campaign.toml").write_text(blank())
    with closing(State(tmp_path / "campaign")) as state:
        state.add("one", "https://example.org/one.git", {"findings": {"GF101": 3}})
    return root


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each holder in a document with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def other_json(path: Path, chance: random.Random) -> None:
    document = json.loads(path.read_bytes())
    for _ in range(chance.randint(1, 3)):
        found = list(places(document))
        if not found:
            break
        holder, key = chance.choice(found)
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    path.write_text(json.dumps(document))


def other_bytes(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 40)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(bytes(data[: chance.randint(1, len(data))] if chance.random() < 0.3 else data))


def other_tables(path: Path, chance: random.Random) -> None:
    with closing(sqlite3.connect(path)) as base, suppress(sqlite3.Error):
        (table, column), *_ = [("outcome", "made")] if path.name == CACHE else [("target", "facts")]
        for statement in chance.choice(STATEMENTS).format(table=table, column=column).split("; "):
            base.execute(statement)
        base.commit()


@pytest.mark.parametrize("number", range(TIMES))
def test_state_is_data(project: Path, tmp_path: Path, graphfix: Run, number: int) -> None:
    chance = random.Random(number)
    kept = {path: path.read_bytes() for path in (project / "a.py", project / "b.py", tmp_path / "canary.py")}
    first = graphfix("check", "--no-cache", "--output-format", "concise", ".", cwd=project).stdout
    documents = [tmp_path / "baseline.json", tmp_path / "run.json", decisions.place_of(project), journal_of(project)]
    for path in documents:
        chance.choice([other_json, other_json, other_bytes])(path, chance)
    for path in (tmp_path / "kept" / CACHE, tmp_path / "campaign" / CAMPAIGN):
        chance.choice([other_tables, other_tables, other_bytes])(path, chance)
    commands: list[tuple[str, ...]] = [
        ("check", "--output-format", "concise", "."), ("check", "--baseline", "../baseline.json", "."),
        ("check", "--evidence", "../run.json", "."), ("diff", "."), ("campaign", "status", "../campaign"), ("review", "--list", "."),
        ("apply", "--dry-run", "."), ("cache", "size"),
    ]  # fmt: skip
    for words in commands:
        done = graphfix(*words, cwd=project)
        assert done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr and b"internal" not in done.stderr, (words, done.stderr)
        assert len(done.stderr) < 20_000, (words, done.stderr[:500])
        if words == commands[0]:
            assert done.stdout == first, done.stderr
    assert {path: path.read_bytes() for path in kept} == kept
    assert not list(tmp_path.rglob("ran"))
