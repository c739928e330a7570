"""Expressions become instructions in the order in which they are evaluated; each operand is tested once."""

from __future__ import annotations

import ast

import pytest

from graphfix.ir.instructions import Branch, Build, Call, Kind, MakeFunction, Operator, ReadName, Yield
from graphfix.ir.lowering import Lowered

from .executor.modules import run_module
from .lowering_of import codes, module, names, of_kind


def test_operands_come_first_the_left_one_before_the_right_one() -> None:
    code = module("a + b * c")
    assert names(code)[:5] == ["ReadName", "ReadName", "ReadName", "Operator", "Operator"]
    times, plus = of_kind(code, Operator)
    assert (times.operator, plus.operator) == ("*", "+")
    assert plus.values == (of_kind(code, ReadName)[0].result, times.result)


@pytest.mark.parametrize(
    ("text", "tests"), [("if a < b < c: d", 2), ("x = a < b < c", 1), ("x = (a and b) or c", 2), ("if not a or b and c: d", 3), ("x = a if b else c", 1)]
)
def test_each_operand_is_tested_once(text: str, tests: int) -> None:
    assert len(of_kind(module(text), Branch)) == tests


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("f(*a(), b())", [Kind.LIST]),
        ("f(*a, b)", []),
        ("f(*a, **b)", []),
        ("f(*a(), k=1)", []),
        ("f(x, *a, k=b())", [Kind.LIST]),
        ("f(**a(), **b())", [Kind.DICT]),
    ],
)
def test_what_has_a_star_is_taken_apart_before_later_arguments_run(text: str, taken: list[Kind]) -> None:
    assert [each.kind for each in of_kind(module(text), Build)] == taken


def test_order_of_what_is_seen() -> None:
    text = (
        "seen = []\ndef t(x):\n    seen.append(x)\n    return x\ndef items(x):\n    t('item')\n    yield x\n"
        "[*items(1), t(2)]\n{**{t('k'): 1}, t('l'): t(3)}\n(lambda *a, **k: a)(*items(4), t(5), z=t(6))"
    )
    assert run_module(text)["seen"] == ["item", 2, "k", "l", 3, "item", 5, 6]


def test_a_condition_leads_on_for_each_of_its_parts() -> None:
    code = module("if a and not b: c")
    first, second = of_kind(code, Branch)
    assert first.no is second.yes and second.no is not first.no


def test_a_constant_condition_is_no_test() -> None:
    code = module("while True:\n    a()\nif 0: b()")
    assert not of_kind(code, Branch)


def test_a_private_name_of_a_parameter_is_spelled_in_its_default() -> None:
    body = codes("class A:\n    def m(self, __x=1): pass")[1]
    assert [each.name for each in of_kind(body, MakeFunction)[0].defaults] == ["_A__x"]


def test_a_method_call_reads_its_attribute_first() -> None:
    assert names(module("a.b(c)"))[:4] == ["ReadName", "ReadAttribute", "ReadName", "Call"]


def test_waiting_makes_generators_and_coroutines() -> None:
    kinds = {code.name: (code.is_generator, code.is_coroutine) for code in codes(
        "def g(): yield from a\nasync def c(): await a\nasync def b(): yield 1\nasync def x():\n    return (i async for i in a)"
    )}  # fmt: skip
    expected = {"": (0, 0), "g": (1, 0), "c": (0, 1), "b": (1, 1), "x": (0, 1), "x.<locals>.<genexpr>": (1, 1)}
    assert kinds == {name: (bool(one), bool(other)) for name, (one, other) in expected.items()}


def test_a_chain_of_many_operators_needs_no_deep_stack() -> None:
    node: ast.expr = ast.Name("a", ast.Load(), lineno=1)
    for _ in range(20_000):
        node = ast.BinOp(node, ast.Add(), ast.Constant(1), lineno=1)
    code = Lowered(ast.Module([ast.Expr(node, lineno=1)], [])).codes()[0]
    assert len(of_kind(code, Operator)) == 20_000


def test_yield_in_a_lambda_makes_that_a_generator() -> None:
    outer, inner = codes("lambda: (yield 1)")
    assert not outer.is_generator and inner.is_generator
    assert of_kind(inner, Yield) and not of_kind(outer, Call)
