"""Where an attribute is found: on the object, in its class and the bases of that, in a module."""

from __future__ import annotations

import ast

import pytest

from graphfix.calls.attributes import accessors, attribute_of, global_variable
from graphfix.calls.meanings import UNKNOWN, Class, Instance, Library, Object

from .programs import graph_of, last_value

TEXT = """
class A:
    def f(self): pass
    @property
    def p(self): return 1
    def __init__(self, other):
        self.f2 = self.f
        other.g = self.f
class B(A):
    def f(self): pass
"""


def test_an_object_of_a_class_that_is_not_known_exactly_may_be_of_one_that_derives_from_it() -> None:
    graph = graph_of(TEXT)
    a, b = graph.program.main.classes
    exact = {each.function for each in attribute_of(graph.values, Instance(a), "f")}  # type: ignore[union-attr]
    assert exact == {a.body[0]}
    any_of = {each.function for each in attribute_of(graph.values, Instance(a, exact=False), "f")}  # type: ignore[union-attr]
    assert any_of == {a.body[0], b.body[0]}


def test_a_property_has_an_accessor_and_a_method_none() -> None:
    graph = graph_of(TEXT)
    a, _ = graph.program.main.classes
    assert list(accessors(graph.values, Instance(a), "p")) == [a.body[1]]
    assert not list(accessors(graph.values, Instance(a), "f"))


@pytest.mark.parametrize(
    ("of", "name", "expected"),
    [
        (Library("torch"), "nn", [Library("torch.nn")]),
        (Object("torch.ones"), "data", [Object("torch.ones.data")]),
        (UNKNOWN, "x", [UNKNOWN]),
    ],
)
def test_what_is_not_of_the_program_has_an_attribute_by_its_name(of, name: str, expected: list[object]) -> None:
    assert list(attribute_of(graph_of("").values, of, name)) == expected


def test_what_nobody_sets_is_unknown_where_the_class_is_all_there_is() -> None:
    assert last_value(graph_of("class A: pass\nA().x\n")) == [UNKNOWN]
    assert last_value(graph_of("import torch\nclass A(torch.nn.Module): pass\nA().train\n")) == [Library("torch.nn.Module.train")]


def test_computed_names_may_set_any_attribute() -> None:
    computed = "class A:\n    def __init__(self, **given):\n        for k, v in given.items(): setattr(self, k, v)\nA().x\n"
    assert graph_of(computed).program.main.sets_any
    assert not graph_of("setattr(a, 'x', 1)\n").program.main.sets_any
    assert UNKNOWN in last_value(graph_of(computed))


def test_a_global_name_comes_by_stars_over_other_files_but_no_private_one() -> None:
    graph = graph_of("from one import *\n", one="from two import *\n", two="shown = 1\n_hidden = 2\n")
    assert global_variable(graph.values, graph.program.main, "shown") is not None
    assert global_variable(graph.values, graph.program.main, "_hidden") is None


def test_an_attribute_of_a_class_is_read_through_it() -> None:
    graph = graph_of("class A:\n    def f(self): pass\nA.f\n")
    (found,) = last_value(graph)
    assert found.node is graph.program.main.classes[0].body[0]  # type: ignore[attr-defined]
    assert isinstance(next(attribute_of(graph.values, Class(graph.program.main.classes[0]), "f")).node, ast.FunctionDef)  # type: ignore[union-attr]
