from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.source.errors import Skipped, SourceError
from graphfix.source.jsontext import replaced, scan

from .notebooks import STYLES, notebook

TEXTS = st.lists(
    st.sampled_from(["a", "b = 'ü'", '"', "\\", "\n", "\n", "\r\n", "\u2028", "𝄞", "\t", "</x>", "\x0c"]), max_size=12
).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS, st.sampled_from(sorted(STYLES)), st.booleans(), st.data())
def test_only_the_sources_change(cells: list[str], new: str, style: str, lines: bool, data: st.DataObject) -> None:
    before = notebook(("markdown", "# é"), *cells, style=style, lines=lines)
    number = data.draw(st.integers(1, len(cells)))
    document = scan(before)
    assert [cell.source for cell in document.cells] == ["# é", *cells]
    after = replaced(before, document.cells, {number: new})
    old = document.cells[number].literals
    if not old and new:  # a cell without any line has no statement to change either
        assert after is None
        return
    assert after is not None
    if not old:
        assert after == before
        return
    assert after.startswith(before[: old[0].start]) and after.endswith(before[old[-1].end :])
    wanted = json.loads(before)
    wanted["cells"][number]["source"] = json.loads(after)["cells"][number]["source"]
    assert json.loads(after) == wanted
    source = wanted["cells"][number]["source"]
    assert isinstance(source, list) is lines
    assert "".join(source) == new


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("lines", [True, False])
def test_a_changed_word_is_all_that_changes(style: str, lines: bool) -> None:
    before = notebook("a = 'é'\nb = '\\n'  # ü\nccc\nd", "other", style=style, lines=lines)
    document = scan(before)
    after = replaced(before, document.cells, {0: document.cells[0].source.replace("ccc", "ccc.item()").replace("b =", "bb =")})
    assert after == before.replace("b =", "bb =").replace("ccc", "ccc.item()")


def test_odd_spellings_stay() -> None:
    before = notebook("x = '<é>'\ny", lines=True).replace("<é>", "\\u003c\\u00E9\\/>")
    document = scan(before)
    assert replaced(before, document.cells, {0: "x = '<é/>ü' + z\ny"}) == before.replace("\\/>'", "\\/>\\u00fc' + z")


def test_new_lines_stand_as_the_old_ones() -> None:
    before = notebook("a\nb", "one", style="four blanks")
    document = scan(before)
    after = replaced(before, document.cells, {0: "a\nnew\nb\nlast", 1: "one\ntwo"})
    assert after == notebook("a\nnew\nb\nlast", "one\ntwo", style="four blanks")
    compact = notebook("a", style="compact")
    assert json.loads(replaced(compact, scan(compact).cells, {0: "a\nb"}) or "")["cells"][0]["source"] == ["a\n", "b"]


def test_numbers_that_are_none_are_compared_as_they_are_written() -> None:
    before = notebook("a").replace("1.5", "NaN")
    assert replaced(before, scan(before).cells, {0: "b"}) == before.replace('"a"\n', '"b"\n')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON: expecting property name"),
        ('{"cells": [],}', "not valid JSON: "),
        ('{"cells": []} x', "not valid JSON: extra data"),
        ("[]", "not a notebook"),
        ("{}", "not a notebook"),
        ('{"nbformat": 4}', "not a notebook"),
        ('{"nbformat": 4, "cells": {}}', "not a notebook"),
        ('{"nbformat": 4, "cells": [1]}', "not a notebook"),
        ('{"nbformat": 4, "cells": [{"source": [1]}]}', "not valid JSON: expected a string"),
        ("version https://git-lfs.github.com/spec/v1\n", "not valid JSON: expecting value"),
    ],
)
def test_what_is_no_notebook_has_one_reason(text: str, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        scan(text)
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("text", ['{"nbformat": 3, "worksheets": []}', '{"nbformat": 5, "cells": []}', "[" * 100_000])
def test_what_graphfix_does_not_read_is_skipped(text: str) -> None:
    with pytest.raises(Skipped):
        scan(text)
