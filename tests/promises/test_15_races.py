"""Promise 15: what an editor saves while graphfix works is never lost."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.files import together, write
from graphfix.files.together import Change, replace_all
from graphfix.files.write import NotWritten, replace

RACES = int(os.environ.get("GRAPHFIX_RACES", "3"))  # 100 before a release
FILES = 40
SAVED = "# saved meanwhile\n"


@pytest.mark.parametrize("seed", range(RACES))
def test_an_editor_that_saves_at_any_moment_wins(tmp_path: Path, loops: SimpleNamespace, command: str, seed: int) -> None:
    for number in range(FILES):
        (tmp_path / f"f{number:02}.py").write_text(loops.total)
    moments = random.Random(seed)
    saved: set[Path] = set()
    over = threading.Event()

    def edit() -> None:
        while not over.is_set():
            path = tmp_path / f"f{moments.randrange(FILES):02}.py"
            if path not in saved:
                # as editors do: a new file in the place of the old one, with what was read a moment ago
                (tmp_path / "new").write_text(path.read_text() + SAVED)
                os.replace(tmp_path / "new", path)
                saved.add(path)
            time.sleep(moments.uniform(0, 0.1))

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        done = subprocess.run([command, "apply", "--jobs", "1", "."], cwd=tmp_path, capture_output=True, timeout=600)
    finally:
        over.set()
        editor.join()
    assert done.returncode in (0, 2) and b"Traceback" not in done.stderr
    for path in tmp_path.glob("f*.py"):
        text = path.read_text()
        assert (text.removesuffix(SAVED) if path in saved else text) in (loops.total, loops.total_fixed)
        assert text.endswith(SAVED) or path not in saved, path
    assert not list(tmp_path.glob(".graphfix-*"))


def other(path: Path) -> None:
    path.write_text("# other\n")


def as_long(path: Path) -> None:
    path.write_text("# bef0re\n")


def longer(path: Path) -> None:
    path.write_text("# before\n# and more\n")


def empty(path: Path) -> None:
    path.write_text("")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [other, as_long, longer, empty, pipe, Path.unlink])
@pytest.mark.parametrize("several", [False, True])
def test_what_changes_at_the_last_moment_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: object, several: bool
) -> None:
    """Behind the new bytes reach the disk, and just before they would take their place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "x.py"
    path.write_text("# before\n")
    room = together if several else write
    holds = write.holds

    def late(target: Path, data: bytes) -> bool:
        change(target)  # type: ignore[operator]
        return holds(target, data)

    monkeypatch.setattr(room, "holds", late)
    with pytest.raises(NotWritten):
        if several:
            replace_all([Change(path, b"# before\n", b"# after\n")], tmp_path)
        else:
            replace(path, b"# before\n", b"# after\n", [tmp_path])
    assert not path.is_file() or b"after" not in path.read_bytes()
    assert not list(tmp_path.glob(".graphfix-*"))
