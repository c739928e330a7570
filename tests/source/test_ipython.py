from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.source.errors import SourceError
from graphfix.source.ipython import Torn, hidden, originals, restored


@pytest.mark.parametrize(
    ("cell", "program"),
    [
        ("x = 1\n", "x = 1\n"),
        ("%matplotlib inline\nx = 1", "0#~~~~~~~~~~~~~~~~\nx = 1"),
        ("!ls é\nx", "0#~~~~\nx"),
        ("for x in y:\n    !ls\n", "for x in y:\n    0#~\n"),
        ("?x\nx?\nx.y??\nobj*?", "0#\n0#\n0#~~~\n0#~~~"),
        ("files = !ls\nx", "files = _#~\nx"),
        ("a.b, c['d'] = %sql 1", "a.b, c['d'] = _#~~~~"),
        ("%time f(x)", "0;    f(x)"),
        ("    \n%timeit -n 10 -o f(x)", "    \n0;               f(x)"),
        ("%time", "0#~~~"),
        ("%timeit -q", "0#~~~~~~~~"),
        ("%time f(", "0#~~~~~~"),
        ("%%time\nx = 1\n", "0#~~~~\nx = 1\n"),
        ("\n%%capture out\nx = 1\n", "\n0#~~~~~~~~~~~\nx = 1\n"),
        ("%%bash\nls", ""),
        ("%%html", ""),
        ("%%python\nx = 1", ""),
        ("%%\n", ""),
        ("/f x\n,f a b\n;f a b\n", "0#~~\n0#~~~~\n0#~~~~\n"),
    ],
)
def test_hides_what_only_ipython_understands(cell: str, program: str) -> None:
    assert hidden(cell) == program


def test_a_command_over_several_lines_is_hidden_line_by_line() -> None:
    assert hidden("!pip install \\\n    x \\\n\nz") == "0#~~~~~~~~~~~~\n    #~~\n\nz"
    assert hidden("if x:\n  %run a.py \\\n -b\ny") == "if x:\n  0#~~~~~~~~~\n #~\ny"


@pytest.mark.parametrize(
    "line",
    [
        "print('a'\n  % b)",
        "x = '''\n!ls\n%time\n'''",
        "x = a \\\n  % b",
        "x = [\n/ y\n]",
        "# (\nx",
        "'\\'('\nx",
        'f("""\n?x\n""")',
    ],
)
def test_does_not_hide_inside_of_brackets_strings_and_continued_lines(line: str) -> None:
    try:
        ast.parse(line)
    except SyntaxError:
        with pytest.raises(SourceError):
            hidden("!ls\n" + line)
    else:
        assert hidden(line) == line
        assert hidden("!ls\n" + line + "\n!ls") == "0#~\n" + line + "\n0#~"


@pytest.mark.parametrize("cell", ["print 'x'", "for x in y", "pip install x", "x = 1\n?", "!a \\\nb", "%time\n (", "'''"])
def test_what_is_no_python_has_a_reason(cell: str) -> None:
    with pytest.raises(SourceError):
        hidden(cell)


LINES = st.sampled_from(
    ["%time total += loss", "!ls é", "x = !ls", "x?", "  ", "0#~~", "0; x", "#~", "x = _#~", "if x:\n    %who\n    y = 1",
     "y = '''\n!a\n'''",
     "%run a \\\n   b", "é = 1  # %x", "f(a,\n  % b)", "%%time", "print 1"]
)  # fmt: skip


@given(st.lists(LINES, max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_byte_stays_in_place_and_the_words_come_back(lines: list[str], newline: str) -> None:
    cell = newline.join(line.replace("\n", newline) for line in lines)
    try:
        program = hidden(cell)
    except SourceError:
        return
    ast.parse(program)
    before, after = cell.encode(), program.encode()
    if cell.lstrip().startswith("%%") and not program:
        return
    assert len(before) == len(after)
    assert [i for i, byte in enumerate(before) if byte in b"\r\n"] == [i for i, byte in enumerate(after) if byte in b"\r\n"]
    assert restored(after, originals(after, before)) == before


def test_words_come_back_into_an_edited_text() -> None:
    cell = "x = 1\n%time total += loss\nif x:\n    !ls\n"
    program = hidden(cell)
    edited = program.replace("loss", "loss.item()").replace("    0#", "    y()\n        0#")
    words = originals(program.encode(), cell.encode())
    assert restored(edited.encode(), words).decode() == "x = 1\n%time total += loss.item()\nif x:\n    y()\n        !ls\n"
    with pytest.raises(Torn):
        restored(edited.replace("0#~", "").encode(), words)
