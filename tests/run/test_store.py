"""Where runs keep what they have worked out: what somebody else may have written there is refused by name."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from graphfix.run import store


@pytest.fixture(autouse=True)
def closed() -> None:
    store.close()


def test_a_folder_of_the_users_own_is_used(tmp_path: Path) -> None:
    project, where = tmp_path / "p", tmp_path / "kept"
    file = store.place(where, [project])
    store.put(file, {b"key": b"made", b"large": bytes(store.MAX_VALUE + 1)})
    assert (store.got(file, b"key"), store.got(file, b"large"), store.got(file, b"other")) == (b"made", None, None)
    assert where.stat().st_mode & 0o077 == 0
    assert store.place(where, [project]) == file


@pytest.mark.parametrize("inner", ["", ".cache", "sub/.cache"])
def test_a_folder_inside_of_the_project_is_refused(inner: str, tmp_path: Path) -> None:
    with pytest.raises(store.Refused, match="inside of the project"):
        store.place(tmp_path / inner, [tmp_path.parent / "other", tmp_path])


def test_so_is_one_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "p/kept").mkdir(parents=True)
    (tmp_path / "kept").symlink_to("p/kept")
    with pytest.raises(store.Refused, match="inside of the project"):
        store.place(tmp_path / "kept", [tmp_path / "p"])


def test_what_others_may_write_is_refused(tmp_path: Path) -> None:
    where = tmp_path / "kept"
    where.mkdir()
    file = where / store.NAME
    file.touch()
    file.chmod(0o666)
    with pytest.raises(store.Refused, match=r"findings\.sqlite3 may be written by other users"):
        store.place(where, [])
    file.chmod(0o600)
    where.chmod(0o777)
    with pytest.raises(store.Refused, match="kept may be written by other users"):
        store.place(where, [])
    where.chmod(0o700)
    assert store.place(where, []) == file
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        with pytest.raises(store.Refused, match="belongs to another user"):
            store.place(where, [])


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "places.sqlite"
    with sqlite3.connect(other) as base:
        base.execute("CREATE TABLE bookmarks (url TEXT)")
    before = other.read_bytes()
    where = tmp_path / "kept"
    where.mkdir()
    file = where / store.NAME
    file.symlink_to(other)
    with pytest.raises(store.Refused, match="is a link"):
        store.place(where, [])
    file.unlink()
    file.write_bytes(before)
    store.put(file, {b"key": b"made"})
    assert store.got(file, b"key") is None
    assert file.read_bytes() == before == other.read_bytes()


def test_a_view_answers_nothing(tmp_path: Path) -> None:
    file = tmp_path / store.NAME
    with sqlite3.connect(file) as base:
        base.execute("CREATE VIEW outcome AS SELECT x'6b6579' AS key, x'6d616465' AS made, 1 AS used")
    assert store.got(file, b"key") is None
    store.put(file, {b"key": b"made"})
    assert store.got(file, b"key") is None


def test_what_is_damaged_goes_in_the_folder_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, where = tmp_path / "elsewhere", tmp_path / "where"
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(elsewhere))
    for each in (elsewhere, where):
        store.put(each / store.NAME, {b"key": b"made"})
    store.close()
    (where / store.NAME).write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    store.put(where / store.NAME, {b"key": b"new"})
    store.put(where / store.NAME, {b"key": b"new"})
    assert store.got(where / store.NAME, b"key") == b"new"
    assert store.got(elsewhere / store.NAME, b"key") == b"made"
    store.clean(where)
    assert not (where / store.NAME).exists() and (elsewhere / store.NAME).exists()


def test_bytes_that_a_disk_has_changed_are_not_there(tmp_path: Path) -> None:
    file = tmp_path / store.NAME
    store.put(file, {b"key": b"made of many words"})
    store.close()
    data = file.read_bytes()
    assert data.count(b"many words") == 1
    file.write_bytes(data.replace(b"many words", b"more words"))
    assert store.got(file, b"key") is None
