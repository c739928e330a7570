"""What comes from a client, as messages: bytes that are none cost themselves, and the next message is found behind them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Protocol

from lsprotocol.types import ErrorCodes

LONGEST = 128 << 20  # bytes of one message: an editor sends whole texts, and none that graphfix would read is as long
_LINE = 1 << 13  # of a line of headers; of a longer one the end counts
_PART = 1 << 16
# behind the remains of a message whose length nobody knew, the next header stands on the same line
_LENGTH = re.compile(rb"Content-Length:[ \t]*(?P<length>[^\r\n]*?)[ \t]*\r?\n$", re.IGNORECASE)


class Reader(Protocol):
    """Where bytes come from; none where there are no more."""

    async def read(self, size: int) -> bytes:
        """At most so many bytes, as soon as there are some."""


class Refused(Exception):
    """What is no message that can be answered, or no request, and what the client is told of it."""

    def __init__(self, code: ErrorCodes, why: str) -> None:
        super().__init__(why)
        self.code = code


class Stream:
    """The base protocol: headers, an empty line, and as many bytes as they say.

    https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._held = bytearray()

    async def messages(self) -> AsyncIterator[bytes | Refused]:
        """Each message as it came; once for each place where there is none, why. Ends with the input."""
        length, wrong, is_lost = -1, "", False
        while line := await self._line():
            found = _LENGTH.search(line)
            if found is not None:
                if found.start() and not is_lost:
                    is_lost = True
                    yield Refused(ErrorCodes.ParseError, "bytes that belong to no message")
                length, wrong = _length(found["length"])
            elif line.strip():
                wrong = wrong or "a message without Content-Length"
            elif length >= 0:
                body, is_lost = await self._exactly(length), False
                if body is None:
                    return
                yield body
                length, wrong = -1, ""
            elif wrong:
                if not is_lost:
                    is_lost = True
                    yield Refused(ErrorCodes.ParseError, wrong)
                wrong = ""

    async def _line(self) -> bytes:
        """The next line; of one that is too long the end. Nothing once the input has ended."""
        start = 0
        while (end := self._held.find(b"\n", start)) < 0:
            del self._held[:-_LINE]
            start = len(self._held)
            if not await self._more():
                return b""
        line = bytes(self._held[max(0, end + 1 - _LINE) : end + 1])
        del self._held[: end + 1]
        return line

    async def _exactly(self, length: int) -> bytes | None:
        while len(self._held) < length:
            if not await self._more():
                return None
        body = bytes(self._held[:length])
        del self._held[:length]
        return body

    async def _more(self) -> bool:
        part = await self._reader.read(_PART)
        self._held += part
        return bool(part)


def _length(told: bytes) -> tuple[int, str]:
    """How long a message is, or -1 and what is wrong with what its header tells."""
    if not re.fullmatch(rb"\d{1,20}", told):
        return -1, f"Content-Length: {told[:40].decode('ascii', 'backslashreplace')!r} is not a number of bytes"
    length = int(told)
    return (length, "") if length <= LONGEST else (-1, f"Content-Length: {length} is more than {LONGEST} bytes")


def parsed(body: bytes) -> dict[str, Any]:
    """The message as plain values, which has an envelope that can be answered; `Refused` where it has not."""
    try:
        said = json.loads(body.decode("utf-8"))
    except RecursionError:
        raise Refused(ErrorCodes.ParseError, "nested too deeply") from None
    except ValueError as error:  # no text, no JSON, or a number of thousands of digits
        raise Refused(ErrorCodes.ParseError, f"not JSON: {error}") from None
    if not isinstance(said, dict) or said.get("jsonrpc") != "2.0":
        raise Refused(ErrorCodes.InvalidRequest, "not an object of JSON-RPC 2.0")
    if not isinstance(said.get("method", ""), str) or not ("method" in said or "result" in said or "error" in said):
        raise Refused(ErrorCodes.InvalidRequest, "neither a method nor a result")
    if "id" in said and (isinstance(said["id"], bool) or not isinstance(said["id"], int | str | None)):
        raise Refused(ErrorCodes.InvalidRequest, "its id is neither a number nor a text")
    return said
