"""`check --watch`: what is said of files while they change, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

PATIENCE = 60.0
WAITS = "Watching for changes; Ctrl-C ends it\n"
Run = Callable[..., subprocess.CompletedProcess[bytes]]


class Watcher:
    """A running `check --watch`, whose output is read part by part."""

    def __init__(self, command: str, folder: Path, *words: str) -> None:
        folder.mkdir(exist_ok=True)
        self._out, self._errors = folder.parent / "stdout", folder.parent / "stderr"
        with open(self._out, "wb") as out, open(self._errors, "wb") as errors:
            words = ("check", "--watch", *words)
            self.process = subprocess.Popen([command, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        self._read = 0

    def says(self, end: str = WAITS) -> str:
        """What it says next, up to `end`."""
        limit = time.monotonic() + PATIENCE
        while end not in self._rest():
            assert time.monotonic() < limit, (self._rest(), self.errors())
            assert self.process.poll() is None, self.errors()
            time.sleep(0.02)
        text = self._rest()
        part = text[: text.index(end)]
        self._read += len(part) + len(end)
        # how long a check takes is not what the tests ask
        return re.sub(r"^Still checking .*\n", "", part, flags=re.MULTILINE)

    def errors(self) -> str:
        return self._errors.read_text()

    def ends(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def _rest(self) -> str:
        return self._out.read_text()[self._read :]


@pytest.fixture
def watch(tmp_path: Path, command: str) -> Iterator[Callable[..., Watcher]]:
    started: list[Watcher] = []

    def begin(*words: str) -> Watcher:
        started.append(Watcher(command, tmp_path / "work", *words))
        return started[-1]

    (tmp_path / "work").mkdir()
    yield begin
    for one in started:
        one.process.kill()
        one.process.wait()


def replaced(path: Path, text: str) -> None:
    """As editors do: at no time is there half of it."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def codes(text: str) -> list[str]:
    return [word for line in text.splitlines() if ": GF" in line for word in line.split() if word.startswith("GF")]


def test_findings_are_told_anew_with_each_change(tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace) -> None:
    work = tmp_path / "work"
    for name in ("a", "b"):
        (work / f"{name}.py").write_text(loops.total)
    watcher = watch("--output-format", "concise", ".")
    first = watcher.says()
    assert codes(first) == ["GF101", "GF101"]
    assert first.endswith("Found 2 findings in 2 files (2 fixable with apply); checked 2 files\n")

    replaced(work / "a.py", loops.total_fixed)
    said = watcher.says()
    assert said.startswith("a.py changed: 1 of 2 files checked again\nb.py:13:")
    assert codes(said) == ["GF101"]

    replaced(work / "b.py", loops.both)
    said = watcher.says()
    assert said.splitlines()[0] == "b.py changed: 1 of 2 files checked again"
    assert codes(said) == ["GF901", "GF101"]

    (work / "b.py").unlink()
    assert watcher.says().splitlines() == ["b.py changed: 0 of 1 file checked again", "No findings; checked 1 file"]

    (work / "sub").mkdir()
    (work / "sub/c.py").write_text(loops.legacy)
    while "GF901" not in (said := watcher.says()):
        pass  # the folder alone came first
    assert codes(said) == ["GF901"]

    assert (watcher.ends(), watcher.errors()) == (130, "Interrupted; no file was written\n")


def test_what_an_editor_writes_beside_a_file_is_not_named(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace
) -> None:
    work = tmp_path / "work"
    (work / "a.py").write_text(loops.clean)
    watcher = watch("--output-format", "concise", ".")
    watcher.says()
    (work / "sedX3kd2").write_text(loops.total)
    (work / "sedX3kd2").replace(work / "a.py")
    while "GF101" not in (said := watcher.says()):
        pass
    assert "sedX3kd2" not in said and said.count("a.py changed") == 1


def test_what_a_walk_leaves_out_is_not_looked_at(tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace) -> None:
    work = tmp_path / "work"
    (work / "x.py").write_text(loops.clean)
    (work / "graphfix.toml").write_text('extend-exclude = ["old/"]\n')
    (work / ".venv").mkdir()
    (work / "old").mkdir()
    watcher = watch(".")
    assert watcher.says() == "No findings; checked 1 file\n"
    (work / "old/y.py").write_text(loops.total)
    (work / ".venv/y.py").write_text(loops.total)
    (work / "notes.txt").write_text("no program")
    time.sleep(1)
    replaced(work / "x.py", loops.total)
    assert watcher.says().startswith("x.py changed: 1 of 1 file checked again\nerror[GF101]")


def test_files_that_import_a_changed_one_are_checked_again(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir()
    (work / "inner.py").write_text("def keep(loss):\n    return loss.item()\n")
    (work / "outer.py").write_text("from inner import keep\n")
    (work / "x.py").write_text("from outer import keep\n" + loops.total.replace("total += loss", "total += keep(loss)"))
    (work / "other.py").write_text(loops.clean)
    watcher = watch("--output-format", "concise", ".")
    assert watcher.says() == "No findings; checked 4 files\n"
    replaced(work / "inner.py", "def keep(loss):\n    return loss * 1.0\n")
    # first what was edited, then all that it touches
    assert watcher.says("Still checking 2 files\n").splitlines() == [
        "inner.py changed: 1 of 4 files checked again",
        "No findings; checked 4 files",
    ]
    said = watcher.says()
    assert said.splitlines()[0] == "inner.py changed: 3 of 4 files checked again"
    assert codes(said) == ["GF101"]
    # where nothing else has come of it, it is not told twice
    replaced(work / "inner.py", "def keep(loss):\n    return loss * 2.0\n")
    assert codes(watcher.says("Still checking 2 files\n")) == ["GF101"]
    assert watcher.says() == "inner.py changed: 3 of 4 files checked again\n"


def test_what_is_under_way_is_left_for_a_newer_text(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir()
    (work / "inner.py").write_text("def keep(loss):\n    return loss.item()\n")
    (work / "x.py").write_text("from inner import keep\n" + loops.total.replace("total += loss", "total += keep(loss)"))
    watcher = watch("--output-format", "concise", ".")
    assert watcher.says() == "No findings; checked 2 files\n"
    for number in range(4):
        replaced(work / "inner.py", f"def keep(loss):\n    return loss * {number}.5\n")
        watcher.says("Still checking 1 file\n")
    replaced(work / "inner.py", "def keep(loss):\n    return loss.item()\n")
    while "No findings; checked 2 files" not in (said := watcher.says()):
        pass  # of an earlier text, all may have been told in time
    assert said.splitlines()[-2:] == ["inner.py changed: 2 of 2 files checked again", "No findings; checked 2 files"] or (
        said.splitlines()[-1] == "inner.py changed: 2 of 2 files checked again"
    )


def test_settings_are_read_anew_also_those_above_and_half_written(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace
) -> None:
    work = tmp_path / "work"
    (work / "x.py").write_text(loops.both)
    watcher = watch("--output-format", "concise", "x.py")
    assert codes(watcher.says()) == ["GF901", "GF101"]
    replaced(tmp_path / "graphfix.toml", 'select = ["GF101"]\n')
    assert codes(watcher.says()) == ["GF101"]
    replaced(tmp_path / "graphfix.toml", "select = [")
    limit = time.monotonic() + PATIENCE
    while "not valid TOML" not in watcher.errors():
        assert time.monotonic() < limit
        time.sleep(0.02)
    time.sleep(1)
    assert watcher.errors().count("\n") == 1
    replaced(tmp_path / "graphfix.toml", 'select = ["GF901"]\n')
    assert codes(watcher.says()) == ["GF901"]


def test_many_files_are_checked_by_several_processes(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace
) -> None:
    for number in range(40):
        (tmp_path / f"work/f{number}.py").write_text(loops.total)
    watcher = watch("--jobs", "2", "--output-format", "concise", ".")
    assert len(codes(watcher.says())) == 40
    for number in range(40):
        replaced(tmp_path / f"work/f{number}.py", loops.legacy)
    said = ""
    while codes(said) != ["GF901"] * 40:
        said = watcher.says()  # the changes may come in several parts


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_ends_as_other_commands_do(
    tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace, number: int, code: int
) -> None:
    (tmp_path / "work/x.py").write_text(loops.total)
    watcher = watch(".")
    watcher.says()
    assert watcher.ends(number) == code
    assert watcher.errors() == "Interrupted; no file was written\n"


def test_findings_for_programs_are_alone(tmp_path: Path, watch: Callable[..., Watcher], loops: SimpleNamespace) -> None:
    (tmp_path / "work/x.py").write_text(loops.total)
    watcher = watch("--output-format", "jsonl", "-q", ".")
    assert watcher.says("\n").startswith('{"code": "GF101"')
    replaced(tmp_path / "work/x.py", loops.legacy)
    assert watcher.says("\n").startswith('{"code": "GF901"')
    assert watcher.errors() == ""


def test_the_screen_of_a_terminal_is_cleared(tmp_path: Path, command: str, loops: SimpleNamespace) -> None:
    (tmp_path / "x.py").write_text(loops.clean)
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    process = subprocess.Popen(
        [command, "check", "--watch", "x.py"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    try:
        while b"Ctrl-C ends it" not in shown:
            shown += os.read(ours, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert shown.startswith(b"\x1b[2J\x1b[HNo findings")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--output-file", "found.txt", "."], "--output-file"),
        (["--write-baseline", "known.json", "."], "--write-baseline"),
        (["-"], "-"),
    ],
)
def test_what_has_no_meaning_with_it_is_refused(tmp_path: Path, graphfix: Run, words: list[str], what: str) -> None:
    done = graphfix("check", "--watch", *words)
    assert done.returncode == 2
    assert done.stderr.decode() == f"graphfix: error: --watch cannot be given together with {what}\n"
    assert list(tmp_path.iterdir()) == []


def test_misuse_ends_it_at_once(graphfix: Run) -> None:
    done = graphfix("check", "--watch", "nowhere")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: no such file or folder: nowhere\n")
