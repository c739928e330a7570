"""A state that cannot be used costs one line that names it, whatever is wrong with it, and is left as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from graphfix.campaign import state
from graphfix.campaign.config import blank
from graphfix.campaign.state import NAME, Stage, State, StateError

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        for statement in statements:
            base.execute(statement)


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200:] = b"\xff" * (len(data) - 200)
    path.write_bytes(bytes(data))


def other_database(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE bills (total INTEGER)")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS only_one, i AS begun FROM n WHERE i < 0"
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "emptied": (lambda path: path.write_bytes(b""), "is empty"),
    "no database": (lambda path: path.write_bytes(b"not a database\n" * 99), "file is not a database"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:5000]), "malformed"),
    "overwritten": (spoil, "malformed"),
    "another database": (other_database, "does not hold the state of a campaign"),
    "rows are gone": (lambda path: change(path, "DELETE FROM campaign"), "does not hold the state of a campaign"),
    "no such column": (lambda path: change(path, "ALTER TABLE target DROP COLUMN facts"), "does not hold the state of a campaign"),
    "a trigger": (
        lambda path: change(path, "CREATE TRIGGER t AFTER INSERT ON target BEGIN DELETE FROM target; END"),
        "does not hold the state of a campaign",
    ),
    "a view without end": (
        lambda path: change(path, "DROP TABLE campaign", f"CREATE VIEW campaign AS {ENDLESS}"),
        "does not hold the state of a campaign",
    ),
    "a value without bounds": (
        lambda path: change(path, "DROP TABLE campaign", "CREATE VIEW campaign AS SELECT 1 AS only_one, zeroblob(900000000) AS begun"),
        "does not hold the state of a campaign",
    ),
    "for all to write": (lambda path: path.chmod(0o666), "may be written by other users"),
    "no such stage": (lambda path: change(path, "UPDATE target SET stage = 'eaten'"), "is damaged: 'eaten' is not a valid Stage"),
    "no JSON": (lambda path: change(path, "UPDATE target SET facts = '{'"), "is damaged"),
    "other JSON": (lambda path: change(path, "UPDATE target SET facts = '[]'"), "is damaged: the facts of one are no object"),
    "a fact of another kind": (
        lambda path: change(path, "UPDATE target SET facts = '{\"findings\": 3}'"),
        "is damaged: 'findings' of one is not what a campaign writes",
    ),
    "no text": (lambda path: change(path, "UPDATE target SET facts = x'ff00'"), "is damaged"),
    "no number": (lambda path: change(path, "UPDATE step SET at = 'then'"), "is damaged"),
    "a folder": (folder, "must be a file"),
    "a pipe": (pipe, "must be a file"),
}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "campaign.toml").write_text(blank())
    with closing(State(tmp_path)) as made:
        made.add("one", "https://example.org/one.git")
    return tmp_path


@pytest.mark.parametrize("kind", BROKEN)
def test_a_state_that_is_broken_is_named(campaign: Path, graphfix: Run, kind: str) -> None:
    damage, why = BROKEN[kind]
    path = campaign / NAME
    damage(path)
    before = path.read_bytes() if path.is_file() else b""
    done = graphfix("campaign", "status", str(campaign))
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"graphfix: error: {path}: ") and why in line
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_disk_that_is_full_is_named(campaign: Path, command: str) -> None:
    resource = pytest.importorskip("resource")
    shutil.copytree(campaign, campaign / "copy")
    (campaign / NAME).unlink()
    done = subprocess.run(
        [command, "campaign", "status", str(campaign)], capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )  # fmt: skip
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"graphfix: error: {campaign / NAME}: the state of the campaign cannot be used: ")
    assert not (campaign / NAME).exists() and not list(campaign.glob(f".{NAME}*"))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(campaign: Path, graphfix: Run) -> None:
    (campaign / NAME).unlink()
    campaign.chmod(0o500)
    try:
        done = graphfix("campaign", "status", str(campaign))
    finally:
        campaign.chmod(0o700)
    assert done.returncode == 2 and f"{campaign / NAME}: " in done.stderr.decode()


@pytest.mark.parametrize("error", [sqlite3.OperationalError("attempt to write a readonly database"), OSError(28, "No space left on device")])
def test_what_fails_later_is_named(campaign: Path, error: Exception) -> None:
    class Failing:
        def execute(self, *given: object) -> None:
            raise error

    made = State(campaign)
    made.close()
    made._base = Failing()  # type: ignore[assignment]
    (target,) = [state.Target("one", "https://example.org/one.git", Stage.DISCOVERED)]
    for ask in (lambda: made.add("two", "u"), lambda: made.move(target, Stage.CLONED), lambda: made.targets(), lambda: made.begun):
        with pytest.raises(StateError, match=str(campaign / NAME)):
            ask()


def test_a_state_that_another_process_holds_is_named(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "WAIT", 0.0)
    with closing(State(campaign)) as first, closing(State(campaign)) as second, first._transaction():
        with pytest.raises(StateError, match="database is locked"):
            second.add("two", "https://example.org/two.git")


def test_two_that_begin_a_campaign_have_one_state(tmp_path: Path) -> None:
    with closing(State(tmp_path)) as first, closing(State(tmp_path)) as second:
        first.add("one", "https://example.org/one.git")
        assert [each.name for each in second.targets()] == ["one"]
    assert not list(tmp_path.glob(f".{NAME}*"))
