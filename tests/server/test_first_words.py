"""What a client says before it has introduced itself, and of what is no file, costs that message alone."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .editor import PATIENCE

Message = dict[str, Any]


def written(method: str, params: object = None, id: int | None = None) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, **({"id": id} if id else {})}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def opened(uri: str, text: str) -> bytes:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    return written("textDocument/didOpen", {"textDocument": document})


def read(stream: Any) -> Message:
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    assert length, "the server has ended"
    message: Message = json.loads(stream.read(length))
    return message


def conversation(command: str, folder: Path, said: bytes, last: int) -> list[Message]:
    """What the server answers up to the answer to the request `last`; it has to end in peace afterwards."""
    with subprocess.Popen([command, "server"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        # a server that says nothing any more fails the test, and does not keep it waiting
        impatient = threading.Timer(PATIENCE, server.kill)
        impatient.start()
        server.stdin.write(said)
        server.stdin.flush()
        told = [read(server.stdout)]
        while told[-1].get("id") != last:
            told.append(read(server.stdout))
        server.stdin.write(written("shutdown", id=99) + written("exit"))
        server.stdin.flush()
        server.stdout.read()
        code = server.wait()
        impatient.cancel()
        assert code == 0
    return told


def hover(uri: str, id: int) -> bytes:
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    return written("textDocument/hover", place, id)


def fixes(uri: str, id: int) -> bytes:
    """Answered once the document has been examined."""
    start = {"line": 0, "character": 0}
    return written(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": {"start": start, "end": start}, "context": {"diagnostics": []}},
        id,
    )


def test_nothing_is_answered_before_the_client_has_introduced_itself(
    command: str, tmp_path: Path, loops: SimpleNamespace
) -> None:
    early, late = (tmp_path / "early.py").as_uri(), (tmp_path / "late.py").as_uri()
    said = hover(early, 1) + opened(early, loops.total) + written("shutdown", id=2) + written("no/such", id=3)
    said += (
        written("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 4)
        + opened(late, loops.total)
        + fixes(late, 5)
    )
    told = conversation(command, tmp_path, said, 5)
    assert [(each["id"], each["error"]["code"]) for each in told[:3]] == [(1, -32002), (2, -32002), (3, -32002)]
    assert "capabilities" in told[3]["result"]
    found = [each["params"] for each in told if each.get("method") == "textDocument/publishDiagnostics"]
    assert {each["uri"] for each in found if each["diagnostics"]} == {late}


def test_what_names_no_file_costs_itself(command: str, tmp_path: Path, loops: SimpleNamespace) -> None:
    good = (tmp_path / "good.py").as_uri()
    said = written("initialize", {"processId": None, "rootUri": "file:///a%00b", "capabilities": {}}, 1)
    for uri in ("file:///a%00b.py", "file:///a\0b.py", "file://[/a.py"):
        said += opened(uri, loops.total) + hover(uri, 2)
    said += opened(good, loops.total) + fixes(good, 3)
    told = conversation(command, tmp_path, said, 3)
    found = {
        each["params"]["uri"]: each["params"]["diagnostics"]
        for each in told
        if each.get("method") == "textDocument/publishDiagnostics"
    }
    assert set(found) == {good} and len(found[good]) == 1
    assert not [each for each in told if each.get("method") == "window/logMessage" and "null" in str(each)]
