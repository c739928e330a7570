"""A module's code objects are lowered once each, when they are asked for."""

from __future__ import annotations

import ast

from graphfix.ir.lowering import Lowered

TEXT = "class A:\n    def m(self): return (x for x in self)\nf = lambda: [y for y in A()]"


def test_the_outer_code_objects_come_first() -> None:
    assert [code.name for code in Lowered(ast.parse(TEXT)).codes()] == ["", "A", "A.m", "A.m.<locals>.<genexpr>", "<lambda>"]


def test_a_code_object_is_lowered_once() -> None:
    lowered = Lowered(ast.parse(TEXT))
    assert lowered.code(lowered.tree) is lowered.code(lowered.tree)
    assert lowered.scope(lowered.tree).node is lowered.tree


def test_the_size_is_linear_in_that_of_the_text() -> None:
    sizes = [sum(len(list(code.instructions())) for code in Lowered(ast.parse(TEXT + "\n" + "if a: b(c)\n" * number)).codes()) for number in (50, 100)]
    assert sizes[1] < 2 * sizes[0]


def test_a_module_says_whether_its_annotations_are_texts() -> None:
    (made,) = Lowered(ast.parse("from __future__ import annotations\nx: a.b = 1")).codes()
    assert any(getattr(each, "value", None) == "a.b" for each in made.instructions())
