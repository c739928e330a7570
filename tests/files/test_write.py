from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.files.temporary import sweep
from graphfix.files.write import NotWritten, replace

OLD, NEW = b"old\n" * 50, b"new\n" * 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.py"
    path.write_bytes(OLD)
    return path


def refused(path: Path, *roots: Path) -> str:
    with pytest.raises(NotWritten) as caught:
        replace(path, OLD, NEW, roots or (path.parent,))
    assert [name for name in os.listdir(path.parent) if name.startswith(".graphfix")] == []
    return str(caught.value)


def test_writes_and_leaves_nothing_else_behind(file: Path) -> None:
    replace(file, OLD, NEW, (file.parent,))
    assert file.read_bytes() == NEW
    assert os.listdir(file.parent) == ["x.py"]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664, 0o4755])
def test_keeps_mode_and_owner(file: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(file, 12345, 54321)
    file.chmod(mode)
    owner = (file.stat().st_uid, file.stat().st_gid)
    replace(file, OLD, NEW, (file.parent,))
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert (file.stat().st_uid, file.stat().st_gid) == owner


def test_writes_the_target_of_a_link_inside(file: Path) -> None:
    link = file.with_name("link.py")
    link.symlink_to("x.py")
    replace(link, OLD, NEW, (file.parent,))
    assert link.is_symlink()
    assert file.read_bytes() == NEW


def test_leaves_alone_what_is_outside(file: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.py").symlink_to("../x.py")
    assert refused(inner / "link.py", inner) == "its real place is outside of the given paths"
    assert refused(inner / ".." / "x.py", inner) == "its real place is outside of the given paths"
    assert file.read_bytes() == OLD


def test_leaves_hard_links_alone(file: Path) -> None:
    os.link(file, file.with_name("y.py"))
    assert refused(file) == "has hard links, which replacing the file would break"


def test_leaves_read_only_files_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o444)
    if os.geteuid() == 0:  # root may write it: the system's answer for anybody else
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert refused(file) == "read-only"


def test_leaves_alone_what_changed_meanwhile(file: Path) -> None:
    file.write_bytes(OLD + b"more")
    assert refused(file) == "changed meanwhile"
    assert file.read_bytes() == OLD + b"more"


def test_leaves_alone_what_is_gone(file: Path) -> None:
    file.unlink()
    assert refused(file) == "the file is gone"


@pytest.mark.parametrize("call", ["open", "fdopen", "fsync", "chmod", "replace", "fchown", "lstat"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_any_failing_call_leaves_the_file_whole(file: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    if call == "fchown":
        os.chown(file, 12345, 54321) if os.geteuid() == 0 else pytest.skip("needs another owner")
    real: Callable[..., object] = getattr(os, call)

    def fails(*words: object, **options: object) -> object:
        writing = call != "open" or (len(words) > 1 and isinstance(words[1], int) and words[1] & os.O_CREAT)
        if writing:
            raise OSError(code, os.strerror(code))
        return real(*words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fails)
        with pytest.raises(NotWritten):
            replace(file, OLD, NEW, (file.parent,))
    assert file.read_bytes() == OLD
    assert os.listdir(file.parent) == ["x.py"]


KILLED = """
import os, signal, sys
from pathlib import Path
from graphfix.files import write
setattr(os, sys.argv[2], lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
path = Path(sys.argv[1])
write.replace(path, path.read_bytes(), b"new", (path.parent,))
"""


@pytest.mark.parametrize("call", ["chmod", "fsync", "replace"])
def test_a_kill_leaves_a_whole_file_and_a_trace_that_is_swept(file: Path, call: str) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file), call])
    assert killed.returncode == -9
    assert file.read_bytes() == OLD
    assert len(os.listdir(file.parent)) == 2
    assert len(sweep([file.parent])) == 1
    assert os.listdir(file.parent) == ["x.py"]


def test_files_of_live_runs_are_not_swept_before_an_hour(tmp_path: Path) -> None:
    fresh, old = tmp_path / f".graphfix-{os.getpid()}-a.tmp", tmp_path / f".graphfix-{os.getpid()}-b.tmp"
    other = tmp_path / ".graphfix-notes.tmp"
    for path in (fresh, old, other):
        path.write_text("")
    os.utime(old, (time.time() - 4000,) * 2)
    assert sweep([tmp_path, tmp_path / "nowhere"]) == (old,)
    assert sorted(os.listdir(tmp_path)) == sorted([fresh.name, other.name])
