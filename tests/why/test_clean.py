"""Pasted bytes as plain lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.why.clean import MAX_BYTES, decoded, lines_of, tail, without_prefix

from .forms import PLAIN


def test_of_a_long_log_the_end_is_read_from_a_line_on() -> None:
    data = b"first line\n" * (MAX_BYTES // 5)
    assert len(tail(data)) <= MAX_BYTES
    assert tail(data).startswith(b"first line\n")
    assert tail(b"short") == b"short"


HEAD = b'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    loss.backward()\n'


@pytest.mark.parametrize(
    "message",
    [b"x" * 2 * MAX_BYTES, b"x" * 2 * MAX_BYTES + b"\n", b"some words\n" * (MAX_BYTES // 5), b'\\n"quoted\', line"' * (MAX_BYTES // 8)],
    ids=["one line without an end", "one line", "many lines", "quoted"],
)
@pytest.mark.parametrize("before", [b"", b"a line of the log\n" * MAX_BYTES], ids=["", "a log"])
def test_a_message_of_any_length_keeps_its_traceback(message: bytes, before: bytes) -> None:
    data = tail(before + HEAD + b"RuntimeError: " + message)
    assert HEAD in data and len(data) < 1.5 * MAX_BYTES


def test_what_ends_a_long_message_is_kept_too() -> None:
    data = tail(b"E   RuntimeError: " * 3 + HEAD.replace(b"Traceback", b"") + b"y" * 2 * MAX_BYTES + b"\n" + HEAD + b"KeyError: 1\n")
    assert data.count(b'File "t.py", line 3') == 2 and data.endswith(b"KeyError: 1\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_shells_write_is_decoded(encoding: str) -> None:
    assert decoded("│ é\n".encode(encoding)) == "│ é\n"


@pytest.mark.parametrize(
    "prefix",
    [
        "2024-05-01 10:11:12,123 ", "[2024-05-01T10:11:12.123Z] ", "10:11:12 ", "INFO: ", "ERROR    | ",
        "2024-05-01 10:11:12 | ERROR | stderr | ", "May  1 10:11:12 host python[42]: ",
    ],
)  # fmt: skip
def test_prefixes_of_logs_go_and_indentation_stays(prefix: str) -> None:
    assert without_prefix(prefix + "RuntimeError: x") == "RuntimeError: x"


@pytest.mark.parametrize("line", ["RuntimeError: x", "loss = a | b", "    x = 1", "[1, 2]", "-x", "2 * y"])
def test_code_and_errors_are_left_alone(line: str) -> None:
    assert without_prefix(line) == line


def test_ranks_that_write_in_turns_are_read_one_after_the_other() -> None:
    text = "start\n[rank0]: a\n[rank1]: A\n[rank0]: b\n[rank1]: B\n"
    assert [line for line in lines_of(text) if line] == ["start", "a", "b", "A", "B"]


def test_code_with_brackets_is_no_link() -> None:
    assert lines_of("fs[0](x)") == ["fs[0](x)"]
    assert lines_of(PLAIN)[:-1] == PLAIN.splitlines()


@given(st.binary())
def test_any_bytes_have_lines(data: bytes) -> None:
    lines_of(decoded(data))
