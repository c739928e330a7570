"""Instructions tell what they use and where they go on."""

from __future__ import annotations

import ast

from graphfix.ir.instructions import ENDS, Argument, Branch, Build, Call, Item, MakeFunction, values_in

from .lowering_of import codes, module, of_kind


def test_the_operands_of_a_call_are_its_function_and_its_arguments() -> None:
    (call,) = of_kind(module("f(1, *a, k=2, **b)"), Call)
    assert call.operands == [call.function, *(each.value for each in call.arguments)]
    assert [(each.name, each.stars) for each in call.arguments] == [(None, 0), (None, 1), ("k", 0), (None, 2)]


def test_the_operands_of_a_dict_are_its_keys_and_values() -> None:
    (made,) = of_kind(module("{a: b, **c}"), Build)
    (first, second) = made.items
    assert made.operands == [first.key, first.value, second.value]


def test_parts_give_their_values() -> None:
    assert values_in(None) == []
    assert values_in(Argument(3, "x")) == [3]
    assert values_in(Item(4, 5)) == [5, 4]


def test_only_ends_have_targets() -> None:
    for each in module("if a:\n    b()\nfor c in d: pass").instructions():
        assert isinstance(each, ENDS) or each.targets == ()


def test_a_branch_leads_to_both_ways() -> None:
    (branch,) = of_kind(module("if a: b"), Branch)
    assert branch.targets == (branch.yes, branch.no)


def test_each_value_is_given_once_and_before_its_code_ends() -> None:
    for code in codes("def f(a, b=[i for i in c]):\n    with a as x: return x and b\nf(lambda: (yield))"):
        given = [each for each in code.instructions() if each.result is not None]
        assert [each.result for each in given] == sorted({each.result for each in given if each.result is not None})
        assert all(code.givers[each.result] is each for each in given if each.result is not None)
        assert {value for each in code.instructions() for value in each.operands} <= {each.result for each in given}


def test_a_function_is_made_of_its_syntax() -> None:
    (made,) = of_kind(module("def f(a: int, b=1) -> str: pass"), MakeFunction)
    assert isinstance(made.body, ast.FunctionDef)
    assert [each.name for each in made.defaults] == ["b"]
    assert [each.name for each in made.annotations] == ["a", "return"]
