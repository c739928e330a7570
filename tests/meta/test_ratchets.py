"""What the core is to have less of, and what programs take, may only fall; safe fixes may only rise."""

from __future__ import annotations

import ast

import pytest

from benchmarks import ratchets


def test_numbers_are_those_of_the_file() -> None:
    worse, better = ratchets.changes(ratchets.stored(), ratchets.measured())
    assert not worse, "worse than tests/meta/ratchets.toml says"
    assert not better, "better than tests/meta/ratchets.toml says: lower it with `python -m benchmarks.ratchets --write`"


def test_what_programs_take_is_the_same_each_time() -> None:
    for files in ratchets.programs().values():
        first = ratchets.taken(files)
        assert ratchets.taken(files) == first
        assert first["runs"] and first["steps"] and first["parses"] and first["lowerings"] and first["parts"]


def test_each_change_is_told_by_its_kind() -> None:
    before = {"code": {"open_sites": 3, "gone": 1}, "safe_fixes": {"fixtures": 5}}
    assert ratchets.changes(before, before) == ([], [])
    worse, better = ratchets.changes(before, {"code": {"open_sites": 4, "new": 1}, "safe_fixes": {"fixtures": 6}})
    assert worse == ["code.open_sites: 3 -> 4", "code.gone: 1 -> None", "code.new: None -> 1"]
    assert better == ["safe_fixes.fixtures: 5 -> 6"]
    worse, better = ratchets.changes(before, {"code": {"open_sites": 2, "gone": 1}, "safe_fixes": {"fixtures": 4}})
    assert (worse, better) == (["safe_fixes.fixtures: 5 -> 4"], ["code.open_sites: 3 -> 2"])


@pytest.mark.parametrize(
    ("code", "scans"),
    [("for part in subtree(document.tree): pass", 1), ("ast.walk(tree)", 1), ("subtree(node)", 0), ("walk(self.file.tree.body[0])", 0)],
)
def test_scans_of_whole_trees_are_counted(code: str, scans: int) -> None:
    assert sum(map(ratchets.is_scan, ast.walk(ast.parse(code)))) == scans


def test_rows_that_are_looked_up_by_a_bare_name_are_counted() -> None:
    code = "from graphfix.effects.methods import writes\nfrom graphfix.effects.rows import methods_named as named, row_of\n"
    assert ratchets.looked_up_by_name(ast.parse(code + "writes(a) and named(b) and row_of(c)\nmap(writes, d)\n")) == 3
