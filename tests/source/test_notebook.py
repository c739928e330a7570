from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.model import Applicability, Delete, Finding, Fix, InsertAfter, InsertBefore, Move, Operation, Replace, Span, Wrap
from graphfix.rewrite import apply_fixes
from graphfix.run.examine import Job, examine
from graphfix.source.decode import decode
from graphfix.source.errors import SourceError
from graphfix.source.notebook import Notebook, decode_notebook
from graphfix.source.text import BOM

from .notebooks import STYLES, notebook

HERE = Path("x.ipynb")
Run = Callable[..., subprocess.CompletedProcess[bytes]]


def read(text: str) -> Notebook:
    source = decode(HERE, text.encode())
    assert isinstance(source, Notebook)
    return source


def training(loops: SimpleNamespace) -> list[str | tuple[str, str]]:
    """The loop with the accumulated graph, over several cells with magics."""
    setup, loop = loops.total.split("total = 0.0\n")
    loop, last = loop.rsplit("\n", 2)[0], "print(total)"
    loop = loop.replace("    optimizer.step()", "    # ä\n    %time optimizer.step()\n    !ls")
    return [
        ("markdown", "# Übung"),
        "%matplotlib inline\n" + setup,
        "%%bash\nls",
        "print 'old' <CODE>",
        "total = 0.0\n" + loop,
        last,
        "total?",
    ]


def test_the_python_cells_are_one_program() -> None:
    source = read(notebook(("markdown", "m"), "a = 1", "%%bash\nls", "<CODE>", "", "!ls\na\n"))
    assert [(code.number, code.hidden) for code in source.codes] == [(1, "a = 1"), (3, "0#~~~~"), (4, ""), (5, "0#~\na\n")]
    assert source.encode(source.text) == source.data
    assert source.left_out == ("cell 4 left out: syntax error: invalid syntax",)


def test_a_cell_of_python_2_is_read() -> None:
    source = read(notebook("a = 1", "print a"))
    assert [code.hidden for code in source.codes] == ["a = 1", "print,a"]
    assert source.encode(source.text) == source.data
    assert source.left_out == ()


def test_what_a_cell_binds_that_does_not_parse_is_unknown() -> None:
    source = read(notebook("loss = 0.0", "loss = <YOUR CODE>\ndef walk(x):\n    <YOUR CODE>\nx"))
    assert source.codes[1].hidden.splitlines() == ["loss=_#" + "~" * 11, "walk=_#~~~~~", "0#" + "~" * 13, "#"]
    assert source.encode(source.text) == source.data


def test_places_are_those_of_the_cells() -> None:
    source = read(notebook("a\nb", "%%html", "é = 1\nc", "\n\nd"))
    index = source.index()

    def where(word: str) -> tuple[int | None, tuple[int, int], str, str]:
        offset = len(source.text[: source.text.rindex(word)].encode())
        return index.cell(offset), index.place(offset), index.where(offset), index.line_at(offset)

    assert where("b\n") == (0, (2, 1), "cell 1:2:1", "b")
    assert where("= 1") == (2, (1, 3), "cell 3:1:3", "é = 1")
    assert where("c\n") == (2, (2, 1), "cell 3:2:1", "c")
    assert where("d\n") == (3, (3, 1), "cell 4:3:1", "d")


def test_another_language_is_no_program() -> None:
    assert read(notebook("x <- 1", language_info={"name": "R"})).codes == ()
    assert read(notebook("x <- 1", kernelspec={"language": "R"})).codes == ()
    assert len(read(notebook("x = 1", title="no language")).codes) == 1
    assert read("").codes == () and read("\n").text == ""


def test_a_notebook_without_any_python_names_the_first_reason() -> None:
    with pytest.raises(SourceError) as caught:
        read(notebook(("markdown", ""), "", "x\nprint 'x' <CODE>", "a b"))
    assert (caught.value.reason, caught.value.cell, caught.value.row) == ("Python 2 syntax: print statement", 2, 2)


def test_a_mark_is_kept() -> None:
    data = BOM + notebook("a").encode()
    assert decode_notebook(HERE, data).encode("#%%graphfix-cell-0\n\nab\n") == data.replace(b'"a"\n', b'"ab"\n')


@pytest.mark.parametrize("cell", ["#%%graphfix-cell-0\n\n", "x = '\ud800'", "x = '\0'", "(" * 200 + ")" * 200])
def test_odd_cells_are_left_out_and_the_rest_goes_on(cell: str) -> None:
    source = read(notebook("a", cell, "b", style="one line"))
    assert [code.number for code in source.codes] == [0, 2]
    assert len(source.left_out) == 1


# Fixes


def applied(cells: list[str], *operations: tuple[type, str, str]) -> list[str] | str:
    """The cells after one fix, or why it is refused. An operation is given by words of the text."""
    source = read(notebook(*cells))

    def span(word: str) -> Span:
        start = source.text.encode().index(word.encode())
        return Span(start, start + len(word.encode()))

    made: list[Operation] = []
    for kind, word, other in operations:
        if kind is Wrap:
            made.append(Wrap(tuple(dict.fromkeys((span(word), span(other)))), "with y:"))
        elif kind is Delete:
            made.append(Delete(span(word)))
        else:
            made.append(kind(span(word), span(other) if kind is Move else other))
    found = Finding("GF1", "x", "m", "x.ipynb", span(operations[0][1]), fix=Fix(Applicability.SAFE, "t", tuple(made)))
    (left,) = source.confined(source.text, [found])
    if left.fix is None:
        return left.unfixed
    result = apply_fixes(source.text, [left.fix])
    assert result.refused == ()
    after = source.edited(result.text)
    return ["".join(cell["source"]) for cell in json.loads(after.data)["cells"]]


def test_lines_stay_in_the_cell_of_their_neighbour() -> None:
    assert applied(["aa", "# c\nbb", "dd"], (InsertAfter, "aa", "new")) == ["aa\nnew", "# c\nbb", "dd"]
    assert applied(["aa", "# c\nbb", "dd"], (InsertBefore, "bb", "new")) == ["aa", "new\n# c\nbb", "dd"]
    assert applied(["aa", "bb", "dd"], (InsertBefore, "dd", "new")) == ["aa", "bb", "new\ndd"]
    assert applied(["aa\n", "bb\n"], (InsertAfter, "bb", "new")) == ["aa\n", "bb\nnew\n"]
    assert applied(["aa\r\nbb", "dd"], (InsertAfter, "bb", "new")) == ["aa\r\nbb\r\nnew", "dd"]
    assert applied(["aa\nbb", "dd"], (Delete, "bb", "")) == ["aa", "dd"]
    assert applied(["aa", "bb", "dd"], (Delete, "bb", "")) == ["aa", "", "dd"]


def test_one_fix_may_change_two_cells_but_one_operation_may_not() -> None:
    assert applied(["a = 1", "b = 2"], (Replace, "1", "3"), (Replace, "2", "4")) == ["a = 3", "b = 4"]
    assert applied(["aa", "bb"], (Move, "bb", "aa")) == "it would span several cells"
    assert applied(["aa", "bb"], (Wrap, "aa", "bb")) == "it would span several cells"
    assert applied(["aa\nbb", "c"], (Move, "bb", "aa")) == ["bb\naa", "c"]


WRAPPED = "if b:\n    0#~~~\n  #~\n    dd"


def test_commands_are_neither_moved_nor_parted_from_their_code() -> None:
    assert applied(["aa\nif b:\n    !ls\n"], (Move, "if b:\n    0#~", "aa")) == "it would change an IPython command"
    assert applied(["%time aa\nbb"], (InsertAfter, "aa", "c")) == "it would change an IPython command"
    assert applied(["%time aa\nbb"], (InsertAfter, "bb", "c")) == ["%time aa\nbb\nc"]
    assert applied(["%time aa\nbb"], (Replace, "aa", "c")) == ["%time c\nbb"]
    assert applied(["if b:\n    !ls \\\n  -l\n    dd"], (Wrap, WRAPPED, WRAPPED)) == [
        "with y:\n    if b:\n        !ls \\\n      -l\n        dd"
    ]


def test_cells_that_are_read_in_other_words_stay_as_they_are() -> None:
    assert applied(["aa", "print 'bb'"], (Replace, "bb", "cc")) == "it would change a cell that today's Python cannot read"
    assert applied(["aa", "bb = 1\n<CODE>"], (Replace, "bb", "cc")) == "it would change a cell that does not parse"
    assert applied(["aa", "print 'bb'"], (Replace, "aa", "cc")) == ["cc", "print 'bb'"]


# The command


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("lines", [True, False])
def test_apply_changes_the_one_expression(style: str, lines: bool, loops: SimpleNamespace) -> None:
    for end in ("\n", ""):
        before = notebook(*training(loops), style=style, lines=lines, end=end).encode()
        outcome = examine(HERE, Job((), repair=True), before)
        assert outcome.after == before.replace(b"total += loss", b"total += loss.item()") != before
        again = examine(HERE, Job((), repair=True), outcome.after)
        assert not again.changed and not again.findings


def test_check_tells_cell_row_and_column(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "x.ipynb").write_text(notebook(*training(loops)))
    (found,) = json.loads(graphfix("check", "--output-format", "json").stdout)
    assert (found["filename"], found["cell"], found["location"]) == ("x.ipynb", 4, {"row": 10, "column": 5})
    assert {step["cell"] for step in found["story"]} == {4}
    assert [(edit["content"], edit["cell"], edit["location"]["row"]) for edit in found["fix"]["edits"]] == [(".item()", 4, 10)]
    lines = graphfix("check", "-v").stdout.decode().splitlines()
    assert lines[1] == "  --> x.ipynb:cell 5:10:5"
    assert "10 |     total += loss" in lines
    assert graphfix("check", "--output-format", "concise").stdout.startswith(b"x.ipynb:cell 5:10:5: GF101 [*] ")
    assert b"x.ipynb: cell 4 left out: Python 2 syntax" in graphfix("check", "-v").stderr


def test_a_story_names_the_cells_it_goes_through(tmp_path: Path, graphfix: Run) -> None:
    first = "import torch\nw = torch.ones(3, requires_grad=True)\nh = (w * w).exp()"
    (tmp_path / "x.ipynb").write_text(notebook(first, "h.sum().backward()", "h.sum().backward()"))
    lines = graphfix("check").stdout.decode().splitlines()
    places = [line.strip() for line in lines if line.startswith("  x.ipynb:")]
    assert len(places) > 1 and all(place.startswith("x.ipynb:cell ") for place in places)


def test_diff_is_what_apply_does_and_git_takes_it(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    for number, style in enumerate(STYLES):
        (tmp_path / f"n {number}.ipynb").write_text(notebook(*training(loops), style=style, lines=number % 2 == 0))
    before = {path: path.read_bytes() for path in tmp_path.glob("*.ipynb")}
    patch = graphfix("diff")
    assert patch.returncode == 1
    subprocess.run(["git", "apply", "--check", "-"], input=patch.stdout, cwd=tmp_path, check=True)
    assert graphfix("apply").returncode == 0
    after = {path: path.read_bytes() for path in before}
    assert all(after[path] != before[path] for path in before)
    subprocess.run(["git", "apply", "-R", "-"], input=patch.stdout, cwd=tmp_path, check=True)
    assert {path: path.read_bytes() for path in before} == before
    for path, data in after.items():
        path.write_bytes(data)
    assert graphfix("apply").returncode == 0
    assert {path: path.read_bytes() for path in before} == after


def test_a_filter_takes_a_notebook_by_its_name(graphfix: Run, loops: SimpleNamespace) -> None:
    text = notebook(*training(loops)).encode()
    done = graphfix("apply", "-", "--stdin-filename", "x.ipynb", input=text)
    assert done.stdout == text.replace(b"total += loss", b"total += loss.item()")


def test_comments_silence_findings_of_their_cell(loops: SimpleNamespace) -> None:
    cells = training(loops)
    for comment in ("  # graphfix: ignore[GF101]", "  # noqa: GF101"):
        silent = [cell.replace("+= loss", "+= loss" + comment) if isinstance(cell, str) else cell for cell in cells]
        assert examine(HERE, Job(()), notebook(*silent).encode()).findings == ()
    assert examine(HERE, Job(()), notebook(*cells, "# graphfix: skip-file").encode()).findings == ()


BROKEN = {
    "not json": ("{", ":1:2: cannot be read: not valid JSON"),
    "no notebook": ("{}", ": cannot be read: not a notebook"),
    "old format": ('{"nbformat": 3, "worksheets": []}', ": skipped (notebook of format 3)"),
    "deep": ('{"cells": ' + "[" * 100_000, ": skipped (too deep)"),
    "large": (" " * 10_000_001, ": skipped (too large)"),
    "python 2": (notebook("x = 1L <CODE>"), ":cell 1:1:5: cannot be read: Python 2 syntax: long number"),
    "null byte": ("\0", "cannot be read: null byte"),
}


def test_a_broken_notebook_is_one_line_and_keeps_its_bytes(tmp_path: Path, graphfix: Run) -> None:
    for name, (text, _) in BROKEN.items():
        (tmp_path / f"{name}.ipynb").write_text(text)
    done = graphfix("apply", *(f"{name}.ipynb" for name in BROKEN))  # by name, for their bytes spell nothing of graphs
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2 and len(lines) == len(BROKEN)
    for name, (text, reason) in BROKEN.items():
        (line,) = [line for line in lines if line.startswith(name)]
        assert reason in line
        assert (tmp_path / f"{name}.ipynb").read_text() == text
