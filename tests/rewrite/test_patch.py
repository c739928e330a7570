from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.rewrite.patch import BadPatch, _replay, unified

CHANGES = {
    "plain": (b"a\nb\nc\n", b"a\nx\nc\n"),
    "no newline at the end": (b"a\nb\nc", b"a\nb\nd"),
    "newline lost": (b"a\n", b"a"),
    "newline won": (b"a", b"a\n"),
    "more after a bare last line": (b"a\nlast", b"a\nlast\nmore"),
    "crlf": (b"a\r\nb\r\n", b"a\r\nc\r\n"),
    "lone cr": (b"a\rb\rc\r", b"a\rx\rc\r"),
    "latin-1": (b"\xe9\n\x0c\nx\n", b"\xe9\n\x0c\ny\n"),
    "what str takes for newlines": (b"x\x85\xa0\x1c\x0b\n", b"y\x85\xa0\x1c\x0b\n"),
    "from nothing": (b"", b"x\n"),
    "lines like headers": (b"-- a\n-- b\n", b"++ b\n"),
    "empty lines": (b"a\n\nb\n", b"a\n\nc\n"),
    "two hunks": (b"x\n" + b"=\n" * 30 + b"q", b"y\n" + b"=\n" * 30 + b"r"),
}
NAMES = ["f.py", "my file.py", "d\u00e9f.py", 'q"x.py', "t\tb.py", "b\\s.py", "d/e.py", "x\udcff.py", "new\nline.py"]


@pytest.mark.parametrize("change", CHANGES)
def test_git_applies_it_and_takes_it_back(tmp_path: Path, change: str) -> None:
    before, after = CHANGES[change]
    patches = b"".join(unified(name, before, after) for name in NAMES)
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(before)
    for options, expected in (([], after), (["-R"], before)):
        command = ["git", "apply", "--whitespace=nowarn", *options, "-"]
        subprocess.run(command, cwd=tmp_path, input=patches, check=True)
        assert {(tmp_path / name).read_bytes() for name in NAMES} == {expected}


def test_no_change_is_no_patch() -> None:
    assert unified("x.py", b"a\n", b"a\n") == b""


DATA = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r", b"- ", b"+", b"@@ -1 +1 @@", b"\\", b"\xff", b" "])).map(b"".join)


@given(DATA, DATA)
def test_every_patch_reads_back_to_the_same_bytes(before: bytes, after: bytes) -> None:
    unified("x.py", before, after)


def test_a_patch_that_does_something_else_is_noticed() -> None:
    patch = unified("x.py", b"a\nb\n", b"a\nc\n").decode()
    assert _replay(b"a\nb\n", patch.replace("+c", "+d")) != b"a\nc\n"
    with pytest.raises(BadPatch, match="cannot be read back"):
        _replay(b"a\nb\n", patch.replace("@@ -1,2 +1,2 @@", "@@ -1,9 +1,9 @@"))
