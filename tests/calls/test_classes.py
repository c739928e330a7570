"""The order of bases is Python's own."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from graphfix.calls.classes import MAX_CLASSES, bases_of, found_in, heirs, line_of

from .programs import graph_of

# for each class the numbers of its bases, all of them smaller
BASES = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=3), min_size=1, max_size=8)


@given(BASES)
def test_the_order_of_classes_is_that_of_python(bases: list[list[int]]) -> None:
    text, made = "", {}
    for number, chosen in enumerate(bases):
        names = [f"C{base}" for base in chosen if f"C{base}" in made]
        line = f"class C{number}({', '.join(names)}): pass\n"
        try:
            exec(line, made)
        except TypeError:  # Python finds no order
            continue
        text += line
    graph = graph_of(text)
    for cls in graph.program.main.classes:
        assert [each.name for each in line_of(graph.values, cls).classes] == [
            each.__name__ for each in made[cls.name].__mro__[:-1]
        ]


def test_where_python_finds_no_order_every_class_is_there_once() -> None:
    graph = graph_of("class A: pass\nclass B(A): pass\nclass C(A, B): pass\nclass D(D): pass\n")
    c, d = graph.program.main.classes[2:]
    assert sorted(each.name for each in line_of(graph.values, c).classes) == ["A", "B", "C"]
    assert [each.name for each in line_of(graph.values, d).classes] == ["D"]
    circle = graph_of("class A(B): pass\nclass B(A): pass\n")
    assert {len(line_of(circle.values, each).classes) for each in circle.program.main.classes} == {2}


def test_a_long_line_is_followed_as_far_as_the_limit() -> None:
    graph = graph_of("class C0: pass\n" + "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, 3_000)))
    line = line_of(graph.values, graph.program.main.classes[-1])
    assert len(line.classes) == MAX_CLASSES and line.is_open


def test_bases_of_libraries_are_named_and_unknown_ones_leave_the_class_open() -> None:
    graph = graph_of("from torch import nn\nclass A(nn.Module): pass\nclass B(A, make()): pass\nclass C(object): pass\n")
    a, b, c = graph.program.main.classes
    assert line_of(graph.values, a).libraries == ("torch.nn.Module",)
    assert line_of(graph.values, b).is_open
    assert line_of(graph.values, c) == ((c,), (), False, False)
    assert len(bases_of(graph.values, b)) == 2


def test_a_base_in_another_file_is_found_and_its_heirs_in_the_file_that_the_program_begins_with() -> None:
    graph = graph_of("from base import Base as B\nclass A(B): pass\n", base="class Base:\n    def f(self): pass\n")
    (a,) = graph.program.main.classes
    base = line_of(graph.values, a).classes[1]
    assert base.name == "Base"
    assert heirs(graph.values, base) == [a]
    variable = found_in(graph.values, line_of(graph.values, a), "f")
    assert variable is not None and variable.owner is base
    assert found_in(graph.values, line_of(graph.values, a), "f", behind=base) is None
