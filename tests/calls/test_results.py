"""What a call gives: of functions, classes, objects, decorators and libraries."""

from __future__ import annotations

import pytest

from graphfix.calls.meanings import UNKNOWN, Class, Descriptor, Function, Instance, Object
from graphfix.calls.results import first_parameter, is_of_class

from .programs import graph_of, last_value


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("def f(): return 1\nf()", []),
        ("class A:\n    def __new__(cls): return B()\nclass B: pass\nA()", [Instance, Instance]),
        ("import torch\nclass A(torch.nn.Module):\n    def forward(self): return A()\nA()()", [Instance]),
        ("import torch\nclass A(torch.nn.Module): pass\nA().to('cpu')", [Instance]),
        ("@wrap\ndef f(): pass\nf", [type(UNKNOWN)]),
        ("import lib\n@lib.wrap\ndef f(): pass\nf", [Function, Object]),
        ("import lib\n@lib.wrap(1)\ndef f(): pass\nf", [Function]),
        ("from dataclasses import dataclass\n@dataclass\nclass A: pass\nA", [Class, Object]),
        ("import functools\n@functools.lru_cache\ndef f(): pass\nf", [Function]),
        ("import dataclasses\nclass A: pass\ndataclasses.replace(A(), x=1)", [Instance]),
        ("len([1])", [Object]),
    ],
)
def test_a_call_gives(text: str, kinds: list[type]) -> None:
    assert sorted(type(each).__name__ for each in last_value(graph_of(f"{text}\n"))) == sorted(each.__name__ for each in kinds)


def test_the_first_parameter_is_the_object_the_class_or_anything() -> None:
    text = "class A:\n    def m(self): pass\n    @classmethod\n    def c(cls): pass\n    @staticmethod\n    def s(x): pass\n"
    text += "    def __new__(cls): pass\ndef f(x): pass\n"
    graph = graph_of(text)
    cls, function = graph.program.main.tree.body
    expected = [Instance(cls, exact=False), Class(cls), UNKNOWN, Class(cls)]  # type: ignore[arg-type]
    assert [next(first_parameter(graph.values, each)) for each in cls.body] == expected  # type: ignore[attr-defined]
    assert [is_of_class(graph.values, each) for each in cls.body] == [False, True, False, True]  # type: ignore[attr-defined]
    assert list(first_parameter(graph.values, function)) == [UNKNOWN]


def test_a_property_that_gets_a_setter_stays_one() -> None:
    text = "class A:\n    @property\n    def p(self): return 1\n    @p.setter\n    def p(self, v): pass\nA.p\n"
    found = last_value(graph_of(text))
    assert len(found) == 2 and all(isinstance(each, Descriptor) and each.how == "property" for each in found)


def test_super_with_arguments_begins_behind_the_class_that_it_names() -> None:
    text = "class Keep:\n    def put(self): pass\nclass Walk:\n    def put(self): pass\nclass A(Keep): pass\n"
    text += "class B(A, Walk):\n    def put(self): return super(Keep, self).put\nB().put()\n"
    graph = graph_of(text)
    walk = graph.program.main.classes[1]
    assert [each.function for each in last_value(graph)] == [walk.body[0]]  # type: ignore[attr-defined]
