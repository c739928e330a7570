"""A name means what Python's rules say, in each kind of scope."""

from __future__ import annotations

import ast

import pytest

from graphfix.ir.variables import Home, Scope, Variable, names_bound, parameters, scopes_of, within

from .lowering_of import codes


def scope(text: str, name: str) -> Scope:
    """The scope of the definition with this qualified name."""
    return next(each for each in scopes_of(ast.parse(text)).values() if each.name == name)


def meaning(text: str, name: str, variable: str) -> tuple[Home, int]:
    """The home of a variable in a scope, and the line of the code object that owns it."""
    found: Variable = scope(text, name).variable(variable)
    return found.home, getattr(found.owner, "lineno", 0)


@pytest.mark.parametrize(
    ("text", "name", "variable", "expected"),
    [
        ("def f():\n    x = 1", "f", "x", (Home.LOCAL, 1)),
        ("def f():\n    x", "f", "x", (Home.GLOBAL, 0)),
        ("def f():\n    global x\n    x = 1", "f", "x", (Home.GLOBAL, 0)),
        ("def f():\n    x = 1\n    def g(): x", "f", "x", (Home.CELL, 1)),
        ("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2", "f.<locals>.g", "x", (Home.CELL, 1)),
        ("def f():\n    global x\n    def g(): x", "f.<locals>.g", "x", (Home.GLOBAL, 0)),
        ("class A:\n    x = 1", "A", "x", (Home.CLASS, 1)),
        ("class A:\n    x = 1\n    def m(self): x", "A.m", "x", (Home.GLOBAL, 0)),
        ("def f(x):\n    class A:\n        def m(self): x", "f.<locals>.A.m", "x", (Home.CELL, 1)),
        ("class A:\n    def m(self): super()", "A.m", "__class__", (Home.CELL, 1)),
        ("class A:\n    def m(self): return (__class__ for _ in b)", "A.m.<locals>.<genexpr>", "__class__", (Home.CELL, 1)),
        ("class A:\n    def m(self):\n        class B: x = __class__", "A.m.<locals>.B", "__class__", (Home.CELL, 1)),
        ("def f():\n    (x): int", "f", "x", (Home.GLOBAL, 0)),
        ("def f():\n    x: int", "f", "x", (Home.LOCAL, 1)),
        ("def f():\n    try: pass\n    except E as x: pass", "f", "x", (Home.LOCAL, 1)),
        ("def f():\n    match a:\n        case {'k': [*x]}: pass", "f", "x", (Home.LOCAL, 1)),
    ],
)
def test_a_name_means(text: str, name: str, variable: str, expected: tuple[Home, int]) -> None:
    assert meaning(text, name, variable) == expected


def test_the_variable_of_a_comprehension_is_none_of_the_function_around() -> None:
    text = "def f(x):\n    return [x for x in x]"
    own, inner = (each for each in scopes_of(ast.parse(text)).values() if each.outer is not None)
    assert own.variable("x") is not inner.variable("x")
    assert inner.variable("x").owner is own.node


def test_a_walrus_in_a_comprehension_binds_in_the_function_around() -> None:
    text = "def f():\n    [y := x for x in a]"
    own, inner = (each for each in scopes_of(ast.parse(text)).values() if each.outer is not None)
    assert own.variable("y") is inner.variable("y")
    assert own.variable("y").home is Home.LOCAL


def test_private_names_are_spelled_with_their_class() -> None:
    method = scope("class _A:\n    def m(self, __x): __y, __z__", "_A.m")
    assert [method.spelled(name) for name in ("__x", "__z__", "x")] == ["_A__x", "__z__", "x"]
    assert method.variable("__x").name == "_A__x"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def f():\n    class A:\n        def m(): pass", "f.<locals>.A.m"),
        ("def f():\n    [lambda: x for x in a]", "f.<locals>.<lambda>"),
        ("def f():\n    list((lambda: x) for x in a)", "f.<locals>.<genexpr>.<locals>.<lambda>"),
        ("def f():\n    global g\n    def g():\n        def h(): pass", "g.<locals>.h"),
    ],
)
def test_definitions_are_called_as_python_calls_them(text: str, name: str) -> None:
    assert name in [code.name for code in codes(text)]


def test_parameters_are_in_order_with_stars_last() -> None:
    function = ast.parse("def f(a, /, b, *c, d, **e): pass").body[0]
    assert [each.arg for each in parameters(function)] == ["a", "b", "d", "c", "e"]
    assert parameters(ast.parse("1").body[0]) == []


def test_what_binds_a_name_without_a_node_for_it() -> None:
    tree = ast.parse("import a.b, c as d\nfrom e import *\ndef f(): pass\nclass G: pass")
    assert [name for node in ast.walk(tree) for name in names_bound(node)] == ["f", "G", "a", "d"]


def test_what_runs_in_functions_does_not_run_with_their_definition() -> None:
    found = [node for node in within(ast.parse("a\ndef f(): b\n[c for x in d]").body) if isinstance(node, ast.Name)]
    assert sorted(node.id for node in found) == ["a", "c", "d", "x"]
