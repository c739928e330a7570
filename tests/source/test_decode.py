from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.source.decode import decode, encoded
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex
from graphfix.source.text import BOM, Source

HERE = Path("x.py")


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"x = 1\r\n", "utf-8", "x = 1\r\n"),
        (BOM + b"x = 1\n", "utf-8", "x = 1\n"),
        (b"# coding: latin-1\n# \xe9\n", "iso-8859-1", "# coding: latin-1\n# é\n"),
        (b"#!/bin/sh\r# -*- coding: cp1252 -*-\r# \x80\r", "cp1252", "#!/bin/sh\r# -*- coding: cp1252 -*-\r# €\r"),
        (b"# first\rx = 1\r# coding: latin-1\r", "utf-8", "# first\rx = 1\r# coding: latin-1\r"),
        (b"\x0c# coding: utf-8\n", "utf-8", "\x0c# coding: utf-8\n"),
    ],
)
def test_decodes_as_python_does(data: bytes, encoding: str, text: str) -> None:
    source = decode(HERE, data)
    assert (source.encoding, source.text) == (encoding, text)
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    ("data", "reason", "row"),
    [
        (b"x\n\0", "null byte, is it a binary file?", 2),
        (b"x\r\n\xff\n", "not valid utf-8", 2),
        (b"# coding: latin-1\n".join([BOM, b""]), "the coding cookie contradicts the byte order mark", 1),
        (b"# coding: klingon\n# \xe9\n", "unknown encoding klingon in the coding cookie", 1),
        (b"# coding: rot13\n", "unknown encoding 'rot13' in the coding cookie", 1),
        (b"# coding: unicode_escape\n# \\x41\n", "encoding unicode_escape does not round-trip to the same bytes", 1),
    ],
)
def test_gives_one_reason_for_what_it_cannot_decode(data: bytes, reason: str, row: int) -> None:
    with pytest.raises(SourceError) as caught:
        decode(HERE, data)
    assert (caught.value.reason, caught.value.row) == (reason, row)


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\nb\n\r\n", "\n")],
)
def test_newline_is_what_most_lines_end_with(text: str, newline: str) -> None:
    assert Source(HERE, text).newline == newline


TEXTS = st.text(st.sampled_from("ab\té€𝄞\n\r\x0c\u2028 "), max_size=40)


@given(TEXTS)
def test_places_and_offsets_are_inverse(text: str) -> None:
    index = LineIndex(text)
    offset = 0
    for number, char in enumerate(text + "x"):
        row, column = index.place(offset)
        within = text[number - 1 : number + 1] == "\r\n"
        if not within:
            assert index.offset(row, column) == offset
            assert column == 1 or index.raw_line(row)[column - 2] == text[number - 1]
        offset += len(char.encode())


@given(TEXTS)
def test_lines_add_up_to_the_text(text: str) -> None:
    index = LineIndex(text)
    assert "".join(index.raw_line(row + 1) for row in range(index.rows)) == text


@given(st.binary(max_size=60))
def test_whatever_decodes_gives_back_its_bytes(data: bytes) -> None:
    try:
        source = decode(HERE, data)
    except SourceError:
        return
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    ("text", "data", "encoding"),
    [
        ("x = 'é'\n", "x = 'é'\n".encode(), "utf-8"),
        ("# coding: latin-1\n# é\n", b"# coding: latin-1\n# \xe9\n", "iso-8859-1"),
        ("\ufeffx = 1\n", BOM + b"x = 1\n", "utf-8"),
        ("# coding: no such thing\n# é\n", "# coding: no such thing\n# é\n".encode(), "utf-8"),
    ],
)
def test_a_text_has_the_bytes_of_a_file_that_holds_it(text: str, data: bytes, encoding: str) -> None:
    assert encoded(text) == (data, encoding)
    assert decode(HERE, data).text == text.removeprefix("\ufeff")


@pytest.mark.parametrize("text", ["# coding: latin-1\n# 日\n", "'\ud800'\n", "\ufeff# coding: latin-1\n"])
def test_a_text_that_its_encoding_has_no_room_for_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        encoded(text)
