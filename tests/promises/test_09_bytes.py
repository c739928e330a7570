"""Promise 9: bytes outside of the edits survive every way of writing a text down."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Status

from .fixtures import PAIRS, label, repaired

pytestmark = pytest.mark.deep

COOKIES = ["", "# coding: utf-8\n", "# -*- coding: latin-1 -*-\n", "# coding: cp1252\n", "#!/usr/bin/python\n# vim: set fileencoding=utf-8 :\n"]  # fmt: skip
NEWLINES = ["\n", "\r\n", "\r"]


@st.composite
def variants(draw: st.DrawFn) -> tuple[str, str, bool, bool]:
    """Cookie, newline (or a mix), byte order mark, and whether the last newline is there."""
    cookie = draw(st.sampled_from(COOKIES))
    newline = draw(st.sampled_from([*NEWLINES, "mixed"]))
    bom = draw(st.booleans()) and "latin" not in cookie and "cp1252" not in cookie
    return cookie, newline, bom, draw(st.booleans())


def written(text: str, cookie: str, newline: str, bom: bool, final: bool) -> bytes:
    text = cookie + text
    if not final:
        text = text.rstrip("\n")
    if newline == "mixed":
        lines = text.split("\n")
        text = "".join(line + NEWLINES[number % 2] for number, line in enumerate(lines[:-1])) + lines[-1]
    else:
        text = text.replace("\n", newline)
    encoding = "latin-1" if "latin" in cookie else "cp1252" if "cp1252" in cookie else "utf-8"
    return (b"\xef\xbb\xbf" if bom else b"") + text.encode(encoding)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    variant=variants(),
    indent=st.sampled_from(["    ", "\t", "  "]),
    odd=st.lists(st.sampled_from(["# \u00e9\u00fc\n", "\x0c\n", "s = 'a\u00a0b'  \t\n", "\n", "# end \n"]), max_size=4),
)
def test_every_byte_outside_of_the_edit_survives(
    loops: SimpleNamespace, variant: tuple[str, str, bool, bool], indent: str, odd: list[str]
) -> None:
    before_text = "".join(odd) + loops.total.replace("    ", indent)
    after_text = before_text.replace("total += loss\n", "total += loss.item()\n")
    before, after = written(before_text, *variant), written(after_text, *variant)
    path = Path("x.py")
    outcome = examine(path, Job((Path.cwd(),), repair=True), before)
    assert (outcome.status, outcome.reason) == (Status.EXAMINED, "")
    assert outcome.before == before
    if b"\r" in before.replace(b"\r\n", b""):
        # a lone \r may be refused, not damaged
        assert outcome.after in (before, after)
    else:
        assert outcome.after == after
    again = examine(path, Job((Path.cwd(),), repair=True), outcome.after)
    assert not again.changed


# name: (cookie, newline, byte order mark, final newline, indentation, line before the code)
WAYS: dict[str, tuple[str, str, bool, bool, str, str]] = {
    "crlf": ("", "\r\n", False, True, "    ", ""),
    "cr": ("", "\r", False, True, "    ", ""),
    "mark": ("", "\n", True, True, "    ", "# \u00e9\u00fc\n"),
    "mark and crlf": ("", "\r\n", True, False, "\t", ""),
    "latin-1": (COOKIES[2], "\n", False, True, "  ", "s = '\u00e9\u00fc\u00a0'\n"),
    "tabs": ("", "\n", False, True, "\t", "\x0c\n"),
    "no final newline": ("", "\n", False, False, "    ", "# \U0001f525 \u6f22\u5b57  \t\n"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("folder", PAIRS, ids=label)
def test_fixtures_written_in_other_ways_get_the_same_repair(folder: Path, way: str) -> None:
    cookie, newline, bom, final, indent, line = WAYS[way]
    before, after = (
        written(line + indented((folder / name).read_text("utf-8"), indent), cookie, newline, bom, final)
        for name in ("before.py", "after.py")
    )
    outcome = repaired(folder / "before.py", before)
    assert (outcome.status, outcome.reason) == (Status.EXAMINED, "")
    assert outcome.before == before
    assert outcome.after == after


def indented(text: str, indent: str) -> str:
    """The text with `indent` in place of each four leading blanks."""
    return re.sub(r"^(?: {4})+", lambda found: indent * (len(found[0]) // 4), text, flags=re.MULTILINE)


@pytest.mark.parametrize("folder", PAIRS, ids=label)
def test_mixed_newlines_of_fixtures_stay_where_they_are(folder: Path) -> None:
    before = written((folder / "before.py").read_text("utf-8"), "", "mixed", False, True)
    outcome = repaired(folder / "before.py", before)
    assert outcome.after.replace(b"\r\n", b"\n") == (folder / "after.py").read_bytes()
    old, new = (re.findall(rb"[^\n]*\n", data) for data in (before, outcome.after))
    bare = [[line.rstrip(b"\r\n") for line in lines] for lines in (old, new)]
    for one, two, size in SequenceMatcher(None, *bare, autojunk=False).get_matching_blocks():
        assert old[one : one + size] == new[two : two + size]
