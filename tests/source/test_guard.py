from __future__ import annotations

import tracemalloc

import pytest

from graphfix.source.errors import Skipped, SourceError
from graphfix.source.guard import check_size, parse

DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEEP,
        "x = " + "[" * DEEP + "]" * DEEP,
        "x = " + "{1:" * 5_000 + "1" + "}" * 5_000,
        "x = a" + " + a" * DEEP,
        "x = " + "-" * DEEP + "1",
        "x = " + "not " * DEEP + "1",
        "a" + ".f()" * DEEP,
        "a" + "[0]" * DEEP,
        "a" + "(1, 2).b" * DEEP,
        "if a: pass\n" + "elif a: pass\n" * DEEP,
        "x = " + "lambda: " * DEEP + "1",
        "x = " + "a if b else " * DEEP + "c",
        "x = a" + " ** a" * DEEP,
        "x = (a\n" + " + a\n" * DEEP + ")",
        "x = a" + " + a" * 500,
        "x = '" + "a" * 1_000_000 + "'",
    ],
    ids=lambda text: text[:12].strip(),
)
def test_skips_what_would_take_a_parser_down(text: str) -> None:
    with pytest.raises(Skipped):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = [" + "-1.5, " * 20_000 + "]",
        "x = {" + "'a': b.c(d=1),\n" * 5_000 + "}",
        "x = 1 + 2; " * 2_000,
        "f(" + "a=1, " * 5_000 + ")",
        "'''" + "(" * 5_000 + "'''",
        "# " + "(" * 5_000,
        "x = " + "(" * 60 + "1" + ")" * 60,
        "x = '\\''" + "\n" * 5_000,
        "raise_ = 1\nx = '\\d'\n",
    ],
    ids=lambda text: text[:12].strip(),
)
def test_takes_what_is_long_and_not_deep(text: str, recwarn: pytest.WarningsRecorder) -> None:
    parse(text)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("text", "reason", "row"),
    [
        ("print 'x'\n", "Python 2 syntax: print statement", 1),
        ("\nprint x\n", "Python 2 syntax: print statement", 2),
        ("exec code in d\n", "Python 2 syntax: exec statement", 1),
        ("try:\n    f()\nexcept E, e:\n    pass\n", "Python 2 syntax: comma in an except clause", 3),
        ("raise E, 'x'\n", "Python 2 syntax: comma in a raise statement", 1),
        ("x = 0777\n", "Python 2 syntax: octal number", 1),
        ("x = 10L\n", "Python 2 syntax: long number", 1),
        ("x = `y`\n", "Python 2 syntax: backticks", 1),
        ("x = a <> b\n", "Python 2 syntax: <> operator", 1),
        ("x = ur'a'\n", "Python 2 syntax: ur string", 1),
        ("x.cuda(async=True)\n", "`async` used as a name, a keyword since Python 3.7", 1),
        ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", "merge marker left in the file", 2),
    ],
)
def test_says_why_a_text_does_not_parse(text: str, reason: str, row: int) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text)
    assert (caught.value.reason, caught.value.row) == (reason, row)


def test_other_errors_keep_the_words_of_python() -> None:
    with pytest.raises(SourceError, match="^syntax error: "):
        parse("def f(:\n")


@pytest.mark.parametrize("part", ['"x', "\\n", "x"])
@pytest.mark.parametrize("end", ['"""', ""])
def test_a_long_string_takes_no_memory_for_each_character(part: str, end: str) -> None:
    text = '"""' + (part * 50 + "\n") * 4_000 + end
    tracemalloc.start()
    try:
        assert check_size(text) == 0
        assert tracemalloc.get_traced_memory()[1] < 2 * len(text)
    finally:
        tracemalloc.stop()
