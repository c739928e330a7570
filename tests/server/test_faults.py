"""Nothing that goes wrong in an analysis ends the server or stays behind, and it ends as it is asked to."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.installation import command

from .editor import PATIENCE, Editor, drive

pytestmark = pytest.mark.deep

BREAKS = """
import os, sys, time
import graphfix.run.engine as engine
ours = engine.analyse
def analyse(path, text, *others):
    if "raises" in text:
        raise KeyError("odd")
    if "dies" in text:
        os._exit(7)
    if "slow" in text:
        open("started", "a").close()
        time.sleep(600)
    if "prints" in text:
        print("not a message")
    return ours(path, text, *others)
engine.analyse = analyse
sys.argv = ["graphfix", "server"]
from graphfix.cli import main
sys.exit(main())
"""
WITHOUT = """
import sys
sys.modules[{name!r}] = None
sys.argv = ["graphfix", *{words!r}]
from graphfix.cli import main
sys.exit(main())
"""


@pytest.fixture
def words() -> list[str]:
    return [sys.executable, "-c", BREAKS]


def children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


needs_children = pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="needs a system that lists the children of a process",
)


@pytest.mark.parametrize(
    ("word", "why"),
    [("raises", "x.py: internal error: KeyError: 'odd'"), ("dies", "x.py: the process that analysed it died: exit code 7")],
)
def test_a_fault_is_logged_once_and_the_server_goes_on(
    tmp_path: Path, words: list[str], loops: SimpleNamespace, word: str, why: str
) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", f"# {word}\n{loops.total}")
        assert await editor.diagnostics("x.py") == ()
        editor.change("x.py", f"# {word} again\n{loops.total}")
        assert await editor.diagnostics("x.py") == ()
        (line,) = editor.logged
        assert why in line
        editor.change("x.py", loops.total)
        assert len(await editor.diagnostics("x.py")) == 1

    drive(words, tmp_path, act)


def test_what_is_printed_is_no_message(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", f"# prints\n{loops.total}")
        assert len(await editor.diagnostics("x.py")) == 1

    drive(words, tmp_path, act)


async def childless(process: int) -> None:
    while children(process):
        await asyncio.sleep(0.02)


@needs_children
def test_a_newer_text_drops_the_analysis_of_the_older(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", f"# slow\n{loops.total}")
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        assert editor._server is not None and len(children(editor._server.pid)) == 1
        # busy with one document, it answers about another
        editor.open("y.py", loops.total)
        assert len(await editor.diagnostics("y.py")) == 1
        editor.change("x.py", loops.total)
        assert len(await editor.diagnostics("x.py")) == 1
        assert [one.version for one in editor.told[editor.uri("x.py")]] == [2]
        await editor.actions("x.py", (await editor.diagnostics("x.py"))[0].range)
        await asyncio.wait_for(childless(editor._server.pid), PATIENCE)  # what has answered ends behind its answer

    drive(words, tmp_path, act)


def test_of_texts_that_come_one_after_the_other_only_the_last_is_read(
    tmp_path: Path, words: list[str], loops: SimpleNamespace
) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.clean)
        await editor.diagnostics("x.py")
        for number in range(20):
            editor.change("x.py", f"# slow {number}\n{loops.total}")
        editor.change("x.py", loops.total)
        assert len(await editor.diagnostics("x.py")) == 1
        assert [one.version for one in editor.told[editor.uri("x.py")]] == [1, 22]
        assert not (tmp_path / "started").exists()

    drive(words, tmp_path, act)


def begun(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The server, with one document that takes for ever."""
    process = subprocess.Popen(
        words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    document = f'{{"uri": "{(folder / "x.py").as_uri()}", "languageId": "python", "version": 1, "text": "# slow: backward()\\n"}}'
    assert process.stdin is not None
    for body in (
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "rootUri": null, "capabilities": {}}}',
        '{"jsonrpc": "2.0", "method": "initialized", "params": {}}',
        f'{{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {{"textDocument": {document}}}}}',
    ):
        process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    comes((folder / "started").exists)
    return process


def comes(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def gone(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@needs_children
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9), (None, 0)], ids=str
)
def test_it_ends_with_all_that_it_has_started(tmp_path: Path, words: list[str], number: int | None, code: int) -> None:
    process = begun(words, tmp_path)
    started = children(process.pid)
    assert len(started) == 1
    if number is not None:
        process.send_signal(number)
    else:
        assert process.stdin is not None
        process.stdin.close()  # the editor is gone
        process.stdin = None
    stderr = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, stderr) == (code, b"")
    comes(lambda: all(map(gone, started)))


def test_an_end_without_a_shutdown_is_1_as_the_protocol_says(tmp_path: Path, command: str) -> None:
    body = '{"jsonrpc": "2.0", "method": "exit"}'
    message = f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    done = subprocess.run([command, "server"], cwd=tmp_path, input=message, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_without_an_editor_it_says_what_it_is_for(tmp_path: Path, command: str) -> None:
    done = subprocess.run([command, "server"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr.startswith(b"graphfix: error: standard input is not a pipe: this command is started by an editor")


@pytest.mark.parametrize(
    ("name", "words", "extra"),
    [("pygls", ["server"], "lsp"), ("lsprotocol", ["server"], "lsp"), ("watchfiles", ["check", "--watch", "."], "watch")],
)
def test_a_missing_extra_is_named(tmp_path: Path, name: str, words: list[str], extra: str) -> None:
    program = WITHOUT.format(name=name, words=words)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, input=b"", capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("graphfix: error: ") and line.endswith(command(extra=extra))
    assert done.stdout == b""
