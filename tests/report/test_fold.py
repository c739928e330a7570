"""Long lines are broken between words."""

from __future__ import annotations

import pytest

from graphfix.report.fold import folded
from graphfix.report.text import Line, Piece, with_short_code


def told(line: Line, columns: int) -> list[str]:
    return ["".join(piece.text for piece in part) for part in folded(line, columns)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("it fits", ["it fits"]),
        ("one two three four five six seven", ["one two three four five", "  six seven"]),
        ("  = one two three four five six", ["  = one two three four", "    five six"]),
        ("one antidisestablishmentarianism two", ["one", "  antidisestablishmentarianism", "  two"]),
        ("日本語 日本語 日本語 日本語", ["日本語 日本語 日本語", "  日本語"]),
        ("a line  with  two  spaces  in  it", ["a line  with  two", "  spaces  in  it"]),
    ],
)
def test_a_line_ends_between_words_and_goes_on_further_in(text: str, lines: list[str]) -> None:
    assert told((Piece(text),), 24) == lines


def test_what_is_whole_is_not_broken_and_no_gutter_leaves_its_code() -> None:
    command = Piece("graphfix apply a/long/path/of/a/file.py", whole=True)
    assert told((Piece("Next:"), Piece(" "), command), 24) == ["Next:", f"  {command.text}"]
    code = (Piece("12 |", whole=True), Piece("     total = loss + another + a_third", whole=True))
    assert told(code, 24) == ["12 |     total = loss + another + a_third"]


def test_pieces_keep_their_styles() -> None:
    line = (Piece("error:", "bold red"), Piece(" words that do not fit here", "bold"))
    first, second = folded(line, 24)
    assert first == (Piece("error:", "bold red"), Piece(" words that do not", "bold"))
    assert second == (Piece("  fit here", "bold"),)


def test_long_code_is_short_in_a_headline() -> None:
    code = "torch.nn.functional.cross_entropy(output.view(-1, classes), target.view(-1), reduction='sum')"
    text = with_short_code(f"`{code}` and `h` meet")
    assert text == "`torch.nn.functional.cross...rget.view(-1), reduction='sum')` and `h` meet" or len(text) < 80
    assert text.endswith("` and `h` meet") and "..." in text
    assert with_short_code("`h` and `rnn(x, h)`") == "`h` and `rnn(x, h)`"
