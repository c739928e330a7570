"""Which methods a lookup in a class may find, as Python itself finds them."""

from __future__ import annotations

import ast
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from graphfix.analysis.flow.hierarchy import Hierarchy, Lookup


def lookup(source: str) -> tuple[Lookup, dict[str, ast.ClassDef]]:
    classes = [part for part in ast.walk(ast.parse(textwrap.dedent(source))) if isinstance(part, ast.ClassDef)]
    methods: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    class_of: dict[ast.AST, ast.ClassDef] = {}
    for cls in classes:
        for method in (part for part in cls.body if isinstance(part, ast.FunctionDef)):
            methods.setdefault(method.name, []).append(method)
            class_of[method] = cls
    return Lookup(Hierarchy(classes), methods, class_of), {cls.name: cls for cls in classes}


def owners(asked: Lookup, methods: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> set[str]:
    return {asked.class_of[method].name for method in methods}


DIAMOND = """
class Top:
    def m(self): pass
class Left(Top):
    def m(self): pass
class Right(Top): pass
class Bottom(Left, Right):
    def m(self): pass
class Other:
    def m(self): pass
"""


def test_what_a_class_overrides_is_not_found() -> None:
    asked, classes = lookup(DIAMOND)
    assert owners(asked, asked.inherited(classes["Bottom"], "m")) == {"Left"}
    assert owners(asked, asked.found(classes["Bottom"], "m")) == {"Bottom"}
    assert owners(asked, asked.found(classes["Right"], "m")) == {"Top"}
    assert not asked.inherited(classes["Top"], "m")
    assert not asked.found(classes["Top"], "other")


def test_what_derives_from_a_class_may_be_meant() -> None:
    asked, classes = lookup(DIAMOND)
    assert owners(asked, asked.found_in_any([classes["Right"]], "m")) == {"Top", "Bottom"}
    assert owners(asked, asked.found_in_any([classes["Left"], classes["Other"]], "m")) == {"Left", "Bottom", "Other"}


def test_a_base_without_methods_hides_none() -> None:
    asked, classes = lookup("class A:\n    def m(self): pass\nclass B(A): pass\nclass C(B): pass\n")
    assert owners(asked, asked.inherited(classes["C"], "m")) == {"A"}


def test_bases_out_of_sight_are_known_by_name() -> None:
    asked, classes = lookup("class A(torch.autograd.Function): pass\nclass B(A): pass\nclass C: pass\n")
    assert [asked.hierarchy.derives(classes[name], "Function") for name in "ABC"] == [True, True, False]
    assert not asked.hierarchy.derives(classes["A"], "Module")


def test_classes_that_derive_from_one_another_come_to_an_end() -> None:
    asked, classes = lookup("class A(B):\n    def m(self): pass\nclass B(A):\n    def m(self): pass\n")
    assert owners(asked, asked.found_in_any([classes["A"]], "m")) == {"A", "B"}


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sets(st.integers(0, 20), max_size=3), st.booleans()), min_size=1, max_size=8))
def test_what_python_finds_is_among_what_is_found(shape: list[tuple[set[int], bool]]) -> None:
    made: dict[str, type] = {}
    lines = []
    for number, (bases, defines) in enumerate(shape):
        named = [f"C{base % number}" for base in sorted(bases, reverse=True)] if number else []
        named = list(dict.fromkeys(named))
        body = {"m": lambda self: None} if defines else {}
        try:
            made[f"C{number}"] = type(f"C{number}", tuple(made[name] for name in named), body)
        except TypeError:  # Python has no order for such bases
            made[f"C{number}"], named = type(f"C{number}", (), body), []
        lines.append(f"class C{number}({', '.join(named)}):\n    {'def m(self): pass' if defines else 'pass'}\n")
    asked, classes = lookup("".join(lines))
    for name, cls in made.items():
        order = [each.__name__ for each in cls.__mro__ if "m" in vars(each)]
        assert set(order[:1]) <= owners(asked, asked.found(classes[name], "m"))
        assert set([each for each in order if each != name][:1]) <= owners(asked, asked.inherited(classes[name], "m"))
