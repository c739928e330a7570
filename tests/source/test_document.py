"""What a parsed file tells of its own text."""

from __future__ import annotations

import ast

import pytest

from graphfix.source.document import Document
from graphfix.source.errors import SourceError

TEXT = """\
é = 1; x = "é" + f(é)
try:
    a = 1
except E:
    b = 2
    c = 3
finally:
    d = 4
match x:
    case 1:
        e = 5
    case _:
        f = 6
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_span_counts_bytes(newline: str) -> None:
    document = Document("x.py", TEXT.replace("\n", newline))
    assert [document.source(node) for node in document.tree.body[:2]] == ["é = 1", 'x = "é" + f(é)']
    assert document.span(document.tree.body[1]).start == len("é = 1; ".encode())
    assert document.data[document.span(document.tree.body[2]).start :].startswith(b"try:")


def test_each_statement_knows_its_block() -> None:
    document = Document("x.py", TEXT)
    names = {ast.unparse(node): [ast.unparse(other) for other in block] for node, block in document.blocks.items()}
    assert names["a = 1"] == ["a = 1"] and names["b = 2"] == names["c = 3"] == ["b = 2", "c = 3"]
    assert names["d = 4"] == ["d = 4"] and names["e = 5"] == ["e = 5"] and names["f = 6"] == ["f = 6"]
    assert document.blocks[document.tree.body[0]] is document.tree.body


def test_a_tree_that_is_there_is_not_made_again() -> None:
    tree = ast.parse(TEXT)
    assert Document("x.py", TEXT, tree=tree).tree is tree
    with pytest.raises(SourceError):
        Document("x.py", "x = (")


def test_a_fresh_name_means_nothing_in_the_file() -> None:
    document = Document("x.py", TEXT)
    assert document.fresh("a", "index") == "index" and document.fresh("a", "b") == "a2"
