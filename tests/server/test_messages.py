"""What is no message, no request, or one of a document that is not there is answered as the protocol says, and costs itself."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsprotocol.types import ErrorCodes

from .editor import PATIENCE
from .test_first_words import hover, opened, read, written

pytestmark = pytest.mark.deep

X = "file:///nowhere/x.py"
START = written("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1) + written("initialized")
ASKED = {"jsonrpc": "2.0", "method": "textDocument/hover", "id": 7, "params": {}}
BODY = json.dumps(ASKED).encode()


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def envelope(**more: object) -> bytes:
    return framed(json.dumps({**ASKED, **more}).encode())


def answers(command: str, folder: Path, said: bytes) -> list[dict[str, Any]]:
    """What the server says to `said`: it has to answer the next question, too, to end in peace, and to print nothing."""
    everything = START + said + hover(X, 42) + written("shutdown", id=99) + written("exit")
    done = subprocess.run([command, "server"], cwd=folder, input=everything, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    told, stream = [], io.BytesIO(done.stdout)
    while stream.tell() < len(done.stdout):
        told.append(read(stream))
    assert [one for one in told if one.get("id") == 42] == [{"id": 42, "jsonrpc": "2.0", "result": None}]
    return [one for one in told if one.get("id", "") not in (1, 42, 99)]


@pytest.mark.parametrize(
    "said",
    [
        b"Content-Length: abc\r\n\r\n" + BODY,
        b"Content-Length: -5\r\n\r\n" + BODY,
        b"Content-Length:\r\n\r\n" + BODY,
        b"Content-Length: 99999999999\r\n\r\n" + BODY,
        b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n" + BODY,
        b"Content-Type: application/vscode-jsonrpc\r\n\r\n" + BODY,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"x" * 300_000,
        b"\r\n".join([b"y"] * 10_000) + b"\r\n\r\n",
        framed(b"{"),
        framed(b""),
        framed(b'{"a": "\xff"}'),
        framed(b"[" * 100_000),
        framed(b'{"jsonrpc": "2.0", "id": 5, "method": "x", "params": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001),
        framed(b'{"id": 1' + b"0" * 10_000 + b"}"),
    ],
    ids=[
        "no number", "negative", "empty", "huge", "thousands of digits", "missing", "HTTP", "one long line", "many lines", "half",
        "no bytes", "no text", "deep lists", "deep objects", "long number",
    ],
)  # fmt: skip
def test_what_is_no_message_is_told_once_and_the_next_one_is_read(command: str, tmp_path: Path, said: bytes) -> None:
    (told,) = answers(command, tmp_path, said)
    assert (told["id"], told["error"]["code"]) == (None, ErrorCodes.ParseError) and told["error"]["message"]


@pytest.mark.parametrize(
    "said",
    [b"[]", b"1", b"null", b"{}", b'{"jsonrpc": "1.0", "id": 5, "method": "x"}', b'{"jsonrpc": "2.0", "id": 5}',
     b'{"jsonrpc": "2.0", "id": 5, "method": 7}', b'{"jsonrpc": "2.0", "id": [1], "method": "x"}'],
)  # fmt: skip
def test_what_is_no_request_is_told(command: str, tmp_path: Path, said: bytes) -> None:
    (told,) = answers(command, tmp_path, framed(said))
    assert (told["id"], told["error"]["code"]) == (None, ErrorCodes.InvalidRequest)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (envelope(), ErrorCodes.InvalidParams),
        (envelope(params=[1]), ErrorCodes.InvalidParams),
        (envelope(params={"textDocument": 5}), ErrorCodes.InvalidParams),
        (envelope(params={"textDocument": {"uri": X}, "position": {"line": -1, "character": 10**30}}), ErrorCodes.InvalidParams),
        (framed(BODY.replace(b"{}", b"[" * 900 + b"]" * 900)), ErrorCodes.InvalidParams),
        (envelope(method="workspace/executeCommand", params={"command": "x"}), ErrorCodes.InvalidParams),
        (envelope(method="no/such"), ErrorCodes.MethodNotFound),
        (framed(b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}'), ErrorCodes.MethodNotFound),
        (envelope(method="initialize", params={"processId": None, "capabilities": {}}), ErrorCodes.InvalidRequest),
    ],
    ids=["none", "a list", "a number", "a place", "deep", "a command", "a method", "a method without", "initialize"],
)
def test_a_request_that_cannot_be_answered_is_told_why(command: str, tmp_path: Path, said: bytes, code: ErrorCodes) -> None:
    (told,) = answers(command, tmp_path, said)
    assert (told["id"], told["error"]["code"]) == (7, code) and "data" not in told["error"]


CHANGED = {"textDocument": {"uri": X, "version": 2}, "contentChanges": [{"text": "a"}]}
NOTEBOOK = {"notebookDocument": {"uri": X.replace(".py", ".ipynb"), "version": 2}, "change": {}}


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        (written("textDocument/didChange", CHANGED), [f"{X} was changed, and is not open"]),
        (written("notebookDocument/didChange", NOTEBOOK), ["file:///nowhere/x.ipynb was changed, and is not open"]),
        (written("textDocument/didOpen", {"textDocument": 5}), ["textDocument/didOpen: not what the protocol says, and passed over"]),
        (written("$/cancelRequest", {"x": 1}), ["$/cancelRequest: not what the protocol says, and passed over"]),
        (framed(b'{"jsonrpc": "2.0", "id": "z", "error": 5}'), ["an answer: not what the protocol says, and passed over"]),
        (written("$/cancelRequest", {"id": "z"}), []),
        (written("no/such"), []),
        (framed(b'{"jsonrpc": "2.0", "id": "z", "result": 1}'), []),
        (opened("file:///a%00b.py", "loss.backward()"), []),
        (opened("file:///\udc80.py", "loss.backward()"), []),
    ],
)
def test_what_nobody_waits_for_is_logged_in_a_line(command: str, tmp_path: Path, said: bytes, lines: list[str]) -> None:
    assert [one["params"]["message"] for one in answers(command, tmp_path, said)] == lines


def test_headers_may_be_written_in_any_way(command: str, tmp_path: Path) -> None:
    length = b"content-length:%d\r\ncontent-type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(BODY)
    (told,) = answers(command, tmp_path, length + BODY)
    assert told["id"] == 7


def test_after_the_end_only_the_exit_is_waited_for(command: str, tmp_path: Path) -> None:
    said = START + written("shutdown", id=8) + envelope(method="shutdown") + written("exit")
    done = subprocess.run([command, "server"], cwd=tmp_path, input=said, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"") and b'"code": -32600' in done.stdout
