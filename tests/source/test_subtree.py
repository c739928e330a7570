"""The nodes below a node, against `ast.walk`."""

from __future__ import annotations

import ast
from pathlib import Path

import graphfix
from graphfix.source.subtree import children, kept_with_node, subtree

PROGRAMS = sorted(Path(graphfix.__file__).parent.rglob("source/*.py"))


def walked(node: ast.AST) -> list[ast.AST]:
    return [part for part in ast.walk(node) if not isinstance(part, ast.expr_context)]


def test_every_node_is_there_in_the_order_of_ast_walk():
    for path in PROGRAMS:
        tree = ast.parse(path.read_text())
        for node in walked(tree):
            assert list(subtree(node)) == walked(node)


def test_an_answer_is_the_same_whatever_was_asked_before():
    tree = ast.parse(PROGRAMS[-1].read_text())
    inner = tree.body[-1]
    assert list(subtree(inner)) == walked(inner)
    assert list(subtree(tree)) == walked(tree)
    assert list(subtree(tree)) == walked(tree)


def test_children_are_those_of_the_fields_without_what_all_trees_share():
    call = ast.parse("f(x, *y, k=1)").body[0].value
    assert [type(each).__name__ for each in children(call)] == ["Name", "Name", "Starred", "keyword"]


def test_a_node_that_was_asked_holds_no_reference_to_itself():
    tree = ast.parse("x = 1")
    list(subtree(tree))
    assert not any(part is tree for held in vars(tree).values() if isinstance(held, list) for part in held)


def test_an_answer_is_found_once_for_a_node_and_goes_with_its_tree():
    asked = []

    @kept_with_node
    def spells(node: ast.AST | None, name: str) -> bool:
        asked.append(name)
        return node is not None and any(getattr(part, "id", "") == name for part in subtree(node))

    one, two = ast.parse("x"), ast.parse("y")
    assert [spells(one, "x"), spells(one, "x"), spells(one, "y"), spells(two, "y"), spells(None, "x")] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert asked == ["x", "y", "y", "x"]
