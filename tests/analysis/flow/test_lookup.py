"""Which methods a lookup in a class may find, as Python itself finds them."""

from __future__ import annotations

import ast
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from graphfix.analysis.flow.lookup import Lookup
from graphfix.calls.classes import MAX_CLASSES
from graphfix.calls.graph import CallGraph
from graphfix.calls.meanings import UNKNOWN, Instance, Super
from graphfix.calls.program import Program
from graphfix.source.document import Document


def lookup(source: str) -> tuple[Lookup, dict[str, ast.ClassDef]]:
    document = Document("classes.py", textwrap.dedent(source))
    classes = [part for part in ast.walk(document.tree) if isinstance(part, ast.ClassDef)]
    methods: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for cls in classes:
        for method in (part for part in cls.body if isinstance(part, ast.FunctionDef)):
            methods.setdefault(method.name, []).append(method)
    graph = CallGraph(Program(document, lambda name, importing: None))
    return Lookup(graph, methods), {cls.name: cls for cls in classes}


def behind(asked: Lookup, cls: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """What `super().m` may be in a method of a class."""
    return asked.inherited([Super(cls, Instance(cls, exact=False))], "m")


def owners(asked: Lookup, methods: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> set[str]:
    around = asked.graph.program.main.class_around
    return {cls.name for method in methods if (cls := around(method)) is not None}


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
    assert owners(asked, behind(asked, classes["Bottom"])) == {"Left"}
    assert owners(asked, asked.found(classes["Bottom"], "m")) == {"Bottom"}
    assert owners(asked, asked.found(classes["Right"], "m")) == {"Top"}
    assert not behind(asked, classes["Top"])
    assert not asked.found(classes["Top"], "other")


def test_super_may_mean_a_class_that_stands_beside_it() -> None:
    asked, classes = lookup(DIAMOND.replace("class Right(Top): pass", "class Right(Top):\n    def m(self): pass"))
    assert owners(asked, behind(asked, classes["Left"])) == {"Top", "Right"}


def test_where_super_may_be_anything_any_method_of_the_name_may_be_meant() -> None:
    asked, _ = lookup(DIAMOND)
    assert owners(asked, asked.inherited([UNKNOWN], "m")) == {"Top", "Left", "Bottom", "Other"}


def test_where_nothing_is_known_of_super_or_no_budget_is_left_any_method_of_the_name_may_be_meant() -> None:
    asked, classes = lookup(DIAMOND)
    everyone = {"Top", "Left", "Bottom", "Other"}
    assert owners(asked, asked.inherited([], "m")) == everyone
    asked.graph.values.left = 0
    assert owners(asked, asked.found(classes["Bottom"], "m")) == everyone


def test_what_derives_from_a_class_may_be_meant() -> None:
    asked, classes = lookup(DIAMOND)
    assert owners(asked, asked.found_in_any([classes["Right"]], "m")) == {"Top", "Bottom"}
    assert owners(asked, asked.found_in_any([classes["Left"], classes["Other"]], "m")) == {"Left", "Bottom", "Other"}


def test_a_base_without_methods_hides_none() -> None:
    asked, classes = lookup("class A:\n    def m(self): pass\nclass B(A): pass\nclass C(B): pass\n")
    assert owners(asked, behind(asked, classes["C"])) == {"A"}


def test_bases_out_of_sight_are_known_by_name() -> None:
    asked, classes = lookup("class A(torch.autograd.Function): pass\nclass B(A): pass\nclass C: pass\n")
    assert [asked.derives(classes[name], "Function") for name in "ABC"] == [True, True, False]
    assert not asked.derives(classes["A"], "Module")


def test_classes_that_derive_from_one_another_come_to_an_end() -> None:
    asked, classes = lookup("class A(B):\n    def m(self): pass\nclass B(A):\n    def m(self): pass\n")
    assert owners(asked, asked.found_in_any([classes["A"]], "m")) == {"A", "B"}


def test_a_base_is_known_by_whatever_name_it_is_imported() -> None:
    asked, classes = lookup("class A:\n    def m(self): pass\nBase = A\nclass B(Base): pass\n")
    assert owners(asked, asked.found(classes["B"], "m")) == {"A"}


def test_an_alias_of_a_method_and_a_decorated_one_are_found() -> None:
    asked, classes = lookup("class A:\n    def m(self): pass\n    n = m\n    @wrap\n    def o(self): pass\n")
    asked.methods = {name: [] for name in "mno"}
    assert [method.name for name in "mno" for method in asked.found(classes["A"], name)] == ["m", "m", "o"]


def test_with_too_many_bases_to_look_at_any_method_of_the_name_may_be_meant() -> None:
    many = "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, MAX_CLASSES + 5))
    asked, classes = lookup("class C0:\n    def m(self): pass\nclass Other:\n    def m(self): pass\n" + many)
    assert owners(asked, asked.found(classes[f"C{MAX_CLASSES + 4}"], "m")) == {"C0", "Other"}


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
        for other in made.values():  # whose objects `super()` in this class may be asked of
            line = [each.__name__ for each in other.__mro__]
            after = line[line.index(name) + 1 :] if name in line else []
            defining = [each for each in after if "m" in vars(made.get(each, object))]
            assert set(defining[:1]) <= owners(asked, behind(asked, classes[name]))
