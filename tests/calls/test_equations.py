"""What each kind of expression may be."""

from __future__ import annotations

import pytest

from graphfix.calls.meanings import (
    MAX_CALLS,
    UNKNOWN,
    Bound,
    Class,
    Descriptor,
    Display,
    Function,
    Instance,
    Library,
    Module,
    Object,
    Super,
    given_by,
)

from .programs import graph_of, last_value

HEAD = """
import torch
import torch.nn as layers
from torch import nn
class A:
    made = 3
    def __init__(self): self.field = A()
    def method(self): return self
    @classmethod
    def of(cls): return cls
    @staticmethod
    def free(): return 1
    @property
    def value(self): return A()
    def __getitem__(self, key): return A()
    def __iter__(self): return iter([A()])
    def __enter__(self): return A()
    def __call__(self): return A()
class B(A): pass
def f(): return A()
def pair(): return A(), f
async def later(): return A()
def many(): yield A()
"""


def shown(text: str) -> set[str]:
    """What the last expression may be, in short."""
    found = set()
    for each in last_value(graph_of(f"{HEAD}\n{text}\n")):
        kind = type(each).__name__
        if isinstance(each, (Function, Class)):
            found.add(f"{kind} {getattr(each.node, 'name', 'lambda')}")
        elif isinstance(each, Instance):
            found.add(f"{kind} {each.cls.name}")
        elif isinstance(each, (Bound, Descriptor)):
            found.add(f"{kind} {each.function.name}")  # type: ignore[attr-defined]
        elif isinstance(each, (Library, Object)):
            found.add(f"{kind} {each.name}")
        else:
            found.add(kind)
    return found


@pytest.mark.parametrize(
    ("expression", "meanings"),
    [
        ("f", {"Function f"}),
        ("lambda: 1", {"Function lambda"}),
        ("A", {"Class A"}),
        ("A()", {"Instance A"}),
        ("f()", {"Instance A"}),
        ("B().method", {"Bound method"}),
        ("B.method", {"Function method"}),
        ("B().method()", {"Instance A"}),
        ("B.of", {"Bound of"}),
        ("B().of()", {"Class A"}),
        ("A().free", {"Function free"}),
        ("A().value", {"Instance A"}),
        ("A.value", {"Descriptor value"}),
        ("B().field", {"Instance A"}),
        ("A()[0]", {"Instance A"}),
        ("A()()", {"Instance A"}),
        ("pair()[0]", {"Instance A", "Function f"}),
        ("x, y = pair()\nx", {"Instance A"}),
        ("[A()]", {"Display"}),
        ("[A()][0]", {"Instance A", "Unknown"}),
        ("[A() for x in y][0]", {"Instance A", "Unknown"}),
        ("A() if x else f", {"Instance A", "Function f"}),
        ("x = A()\nx", {"Instance A"}),
        ("x = (y := A())\nx", {"Instance A"}),
        ("x = {'a': f}\nx['a']", {"Function f", "Unknown"}),
        ("torch", {"Library torch"}),
        ("torch.nn.Linear", {"Library torch.nn.Linear"}),
        ("nn.Linear", {"Library torch.nn.Linear"}),
        ("layers.Linear(1, 1)", {"Object torch.nn.Linear"}),
        ("print", {"Library print"}),
        ("unheard_of", {"Unknown"}),
        ("1 + 2", {"Unknown"}),
        ("not x", set()),
        ("'text'", set()),
        ("f'{A()}'", set()),
        ("None", set()),
        ("A[int]", {"Class A"}),
        ("type(A())", {"Class A", "Unknown"}),
        ("B().__class__", {"Class B"}),
        ("B().method().__class__", {"Class A", "Class B"}),
        ("class C(make()):\n    def m(self): pass\nC().m", {"Bound m", "Unknown"}),
        ("many()", {"Object types.GeneratorType"}),
        ("getattr(A(), 'x')", {"Unknown"}),
        ("torch.nn.Linear(1, 1).weight", {"Object torch.nn.Linear.weight"}),
        ("nn.DataParallel(A())", {"Instance A"}),
        ("nn.Sequential(A())", {"Object torch.nn.Sequential"}),
    ],
)
def test_an_expression_means(expression: str, meanings: set[str]) -> None:
    assert shown(expression) == meanings


@pytest.mark.parametrize(
    ("statement", "meanings"),
    [
        ("for x in (A(), f):\n    y = x\ny", {"Instance A", "Function f"}),
        ("with A() as x:\n    pass\nx", {"Instance A"}),
        ("try:\n    pass\nexcept E as x:\n    y = x\ny", {"Unknown"}),
        ("def g(x): return x\ng(1)", {"Unknown"}),
        ("def g(x=f): return x\ng()", {"Unknown", "Function f"}),
        ("class C(A):\n    def m(self): return super()\nC().m()", {"Super"}),
        ("class C(A):\n    def m(self): return __class__\nC().m()", {"Class C"}),
        ("A.extra = f\nA().extra", {"Function f"}),
        ("x = A()\nx.field = f\nx.field", {"Instance A", "Function f"}),
    ],
)
def test_a_statement_gives_a_name_its_meaning(statement: str, meanings: set[str]) -> None:
    assert shown(statement) >= meanings - {"Function f"} and shown(statement) <= meanings | {"Unknown"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import other\nother", Module),
        ("import other\nother.thing", Class),
        ("from other import thing\nthing", Class),
        ("from other import *\nthing", Class),
        ("from . import other\nother", Module),
        ("from other import missing\nmissing", type(UNKNOWN)),
        ("thing = 1\nfrom other import *\nthing", Class),
        ("from elsewhere import thing\nthing", Library),
    ],
)
def test_a_name_of_another_file_means_what_that_binds(text: str, kind: type) -> None:
    assert [type(each) for each in last_value(graph_of(f"{text}\n", other="class thing: pass\n"))] == [kind]


def test_names_do_not_grow_for_ever() -> None:
    assert given_by("a" + "()" * MAX_CALLS) == Object("a" + "()" * MAX_CALLS)
    assert given_by("a" + "()" * (MAX_CALLS + 1)) is UNKNOWN
    assert UNKNOWN in last_value(graph_of("import torch\nx = torch.ones(1)\nwhile y:\n    x = x.cos()\nx\n"))


def test_a_display_and_super_are_what_they_are() -> None:
    (display,) = last_value(graph_of("[1, 2]\n"))
    assert isinstance(display, Display) and len(display.built.items) == 2
    (above,) = last_value(graph_of("class A:\n    def f(self): return super()\nA().f()\n"))
    assert isinstance(above, Super) and above.receiver == Instance(above.cls, exact=False)
