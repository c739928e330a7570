"""The rows of libraries: what they say is read, and refused where it says nothing."""

from __future__ import annotations

import builtins

import pytest

from graphfix.effects.rows import PYTHON, files, methods_named, read_rows, row_of, rows_in
from graphfix.effects.schema import BadRow, Puts, Returns

TABLE = '[[rows]]\nmodule = "m"\nnames = "f g.h"\nreturns = "made"\nsource = "https://example.org"\n'


def test_a_table_is_a_row_for_each_of_its_names() -> None:
    one, two = read_rows(TABLE + "keeps = true\n", "m.toml")
    assert (one.name, two.name) == ("m.f", "m.g.h")
    assert one.keeps and one.returns is Returns.MADE and not one.gives_no_graph


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE.replace('source = "https://example.org"\n', ""), "m.toml: table 1: 'source' is missing"),
        (TABLE + 'sized = "yes"\n', "m.toml: table 1: 'sized' is not a field, or not of its kind"),
        (TABLE + "graph = true\n", "m.toml: table 1: 'graph' is not a field, or not of its kind"),
        (TABLE.replace("made", "nothing"), "m.toml: table 1: returns = 'nothing' is none of 'number', 'cut'"),
        (TABLE + 'puts = "all"\n', "m.toml: table 1: puts = 'all' is none of 'item', 'contents'"),
        (TABLE.replace('module = "m"\n', ""), "m.toml: table 1: 'module' is missing"),
        ("[[rows]\n", "m.toml: Expected .* \\(at line 1"),
    ],
)
def test_what_is_no_row_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(BadRow, match="^" + said):
        list(read_rows(text, "m.toml"))


def test_a_builtin_is_found_by_its_mere_name_and_all_others_by_the_whole_one() -> None:
    assert row_of("len") is row_of("builtins.len") is not None
    assert row_of("numpy.zeros") is not None and row_of("os.path.join") is not None
    assert row_of("zeros") is None and row_of("m.zeros") is None and row_of("") is None


def test_each_name_has_one_row_and_each_builtin_is_one() -> None:
    assert PYTHON in files() and all(map(rows_in, files()))
    named = [name.split(".")[1] for name, row in rows_in(PYTHON).items() if name.startswith("builtins.") and "notebooks" not in row.not_called]
    assert all(hasattr(builtins, name) for name in named)


def test_a_method_is_found_by_its_mere_name_whatever_has_it() -> None:
    (row,) = read_rows(TABLE.replace("module", "class").replace("f g.h", "f") + 'puts = "item"\n', "m.toml")
    assert (row.name, row.of_class, row.puts) == ("m.f", "m", Puts.ITEM)
    assert all(each.of_class and each.name == f"{each.of_class}.append" for each in methods_named("append"))
    assert {each.of_class for each in methods_named("append")} >= {"builtins.list", "collections.deque"}
    assert not methods_named("nothing_has_this") and not methods_named("len")
