"""Several files as one: all new or all old, whatever stops the writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from graphfix.files.together import Change, journal_of, recover, replace_all
from graphfix.files.write import NotWritten

WRITER = """\
import sys
from pathlib import Path
from graphfix.files.together import Change, replace_all
folder = Path(sys.argv[1])
files = sorted(folder.glob("*.py"))
print("ready", flush=True)
while True:
    changes = []
    for path in files:
        old = path.read_bytes()
        changes.append(Change(path, old, b"%d\\n" % (int(old) + 1)))
    replace_all(changes, folder)
"""


@pytest.fixture
def changes(tmp_path: Path) -> list[Change]:
    made = []
    for number in range(4):
        path = tmp_path / f"{number}.py"
        path.write_bytes(b"old")
        made.append(Change(path, b"old", b"new"))
    return made


def contents(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in folder.glob("*.py")}


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".graphfix")]


def test_all_are_new(changes: list[Change], tmp_path: Path) -> None:
    replace_all(changes, tmp_path)
    assert contents(tmp_path) == {b"new"}
    assert leftovers(tmp_path) == []


def test_one_that_has_changed_meanwhile_keeps_all_as_they_are(changes: list[Change], tmp_path: Path) -> None:
    changes[2].target.write_bytes(b"edited")
    with pytest.raises(NotWritten, match="2.py changed meanwhile"):
        replace_all(changes, tmp_path)
    assert contents(tmp_path) == {b"old", b"edited"}
    assert leftovers(tmp_path) == []


def test_a_rename_that_fails_takes_the_others_back(
    changes: list[Change], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == "2.py":
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(NotWritten, match="no space"):
        replace_all(changes, tmp_path)
    assert contents(tmp_path) == {b"old"}
    assert leftovers(tmp_path) == []


def journal(folder: Path, process: int, target: Path, before: bytes) -> Path:
    temporary = folder / f".graphfix-{process}-ab.tmp"
    temporary.write_bytes(b"new")
    move = [str(temporary), str(target), sha256(before).hexdigest(), sha256(b"new").hexdigest()]
    path = journal_of(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"process": process, "moves": [move]}))
    return temporary


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_recovery_goes_on_where_a_killed_run_stopped(changes: list[Change], tmp_path: Path) -> None:
    journal(tmp_path, dead_process(), changes[1].target, b"old")
    assert recover(tmp_path) == 1
    assert changes[1].target.read_bytes() == b"new"
    assert leftovers(tmp_path) == []


def test_recovery_leaves_alone_what_was_edited_since(changes: list[Change], tmp_path: Path) -> None:
    changes[1].target.write_bytes(b"edited")
    journal(tmp_path, dead_process(), changes[1].target, b"old")
    assert recover(tmp_path) == 0
    assert changes[1].target.read_bytes() == b"edited"


def test_recovery_leaves_alone_what_lies_elsewhere(changes: list[Change], tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    temporary = journal(tmp_path, dead_process(), changes[0].target, b"old")
    journal_of(tmp_path).rename(journal_of(below))
    assert recover(below) == 0
    assert changes[0].target.read_bytes() == b"old"
    assert temporary.exists()


def test_recovery_takes_no_other_content_than_what_was_to_be_written(changes: list[Change], tmp_path: Path) -> None:
    journal(tmp_path, dead_process(), changes[0].target, b"old").write_bytes(b"evil")
    assert recover(tmp_path) == 0
    assert contents(tmp_path) == {b"old"}


def test_a_journal_that_came_with_the_tree_is_not_obeyed(changes: list[Change], tmp_path: Path) -> None:
    temporary = journal(tmp_path, dead_process(), changes[0].target, b"old")
    shipped = tmp_path / ".graphfix-journal.json"
    shipped.write_bytes(journal_of(tmp_path).read_bytes())
    journal_of(tmp_path).unlink()
    assert recover(tmp_path) == 0
    assert contents(tmp_path) == {b"old"}
    assert temporary.exists() and shipped.exists()


def test_a_pipe_in_the_journals_place_is_not_opened(tmp_path: Path) -> None:
    path = journal_of(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    assert recover(tmp_path) == 0
    path.unlink()


def test_no_file_is_written_where_no_journal_can_be_kept(
    changes: list[Change], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(changes[0].target))
    with pytest.raises(NotWritten, match="no journal can be kept in"):
        replace_all(changes, tmp_path)
    assert contents(tmp_path) == {b"old"}


def test_a_run_that_lives_is_not_recovered(changes: list[Change], tmp_path: Path) -> None:
    journal(tmp_path, os.getpid(), changes[0].target, b"old")
    assert recover(tmp_path) == 0
    assert journal_of(tmp_path).exists()


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """After recovery all files hold the same number, and every one is whole."""
    for number in range(6):
        (tmp_path / f"{number}.py").write_bytes(b"0\n")
    for kill in range(int(os.environ.get("GRAPHFIX_KILLS", "12"))):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 + 0.003 * (kill % 7))
        process.send_signal(signal.SIGKILL if kill % 3 else signal.SIGTERM)
        process.wait()
        process.stdout.close()
        recover(tmp_path)
        assert len(contents(tmp_path)) == 1, contents(tmp_path)
        assert not journal_of(tmp_path).exists()
