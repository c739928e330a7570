"""Comprehensions are loops in the code around them; generator expressions are functions."""

from __future__ import annotations

from graphfix.ir.instructions import Call, Collect, DeleteName, Iterate, MakeFunction, Next, Yield

from .executor.modules import run_module
from .lowering_of import codes, module, of_kind


def test_a_list_comprehension_collects_in_its_own_code_object() -> None:
    (code,) = codes("[x for x in a if x for y in x]")
    assert len(of_kind(code, Next)) == len(of_kind(code, Iterate)) == 2
    (collect,) = of_kind(code, Collect)
    block = next(block for block in code.blocks if collect in block.instructions)
    assert len(block.loops) == 2


def test_a_key_of_a_dict_comes_before_its_value() -> None:
    (collect,) = of_kind(module("{a: b for a in c for b in d}"), Collect)
    assert collect.item.key is not None and collect.item.key < collect.item.value


def test_a_test_that_fails_goes_on_with_the_next_item() -> None:
    code = module("[x for x in a if x]")
    header = next(block for block in code.blocks if block.loop is not None)
    tested = next(block for block in code.blocks if header in block.successors and len(block.successors) == 2)
    assert tested.loops == header.loops


def test_a_generator_expression_is_a_function_that_is_called_with_an_iterator() -> None:
    outer, inner = codes("(x for x in a)")
    (made,), (call,), (items,) = of_kind(outer, MakeFunction), of_kind(outer, Call), of_kind(outer, Iterate)
    assert (call.function, call.arguments[0].value) == (made.result, items.result)
    assert inner.is_generator and not inner.is_coroutine and of_kind(inner, Yield)


def test_functions_that_are_made_in_a_comprehension_get_cells_of_its_run() -> None:
    (renewed,) = of_kind(module("[lambda: x for x in a]"), DeleteName)
    assert renewed.renewed
    text = "def f(n): return [lambda: x for x in range(n)]\none, other = f(2), f(3)\nresult = one[0](), other[0]()"
    assert run_module(text)["result"] == (1, 2)
