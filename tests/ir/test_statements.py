"""Statements, and what a code object is made of."""

from __future__ import annotations

import ast

from graphfix.ir.instructions import (
    Branch,
    Call,
    Constant,
    Import,
    MakeClass,
    MakeFunction,
    Next,
    Parameter,
    Raise,
    Return,
    WriteItem,
)
from graphfix.ir.lowering import Lowered

from .executor.modules import run_module
from .lowering_of import codes, module, names, of_kind, reachable


def test_a_loop_goes_back_to_its_header() -> None:
    code = module("for x in a:\n    if b: continue\n    if c: break\nelse:\n    d()\ne()")
    header = next(block for block in code.blocks if block.loop is not None)
    assert isinstance(header.instructions[-1], Next) and header.loops == (header.loop,)
    assert sum(header in block.successors for block in code.blocks if block in reachable(code)) == 3


def test_break_leaves_out_what_runs_where_a_loop_ends_by_itself() -> None:
    text = "seen = []\nfor stop in (True, False):\n    for x in [1]:\n        if stop: break\n    else: seen.append(stop)"
    assert run_module(text)["seen"] == [False]


def test_an_assertion_raises_the_builtin_error() -> None:
    code = module("assert a, b()")
    error = next(each for each in of_kind(code, Constant) if each.value is AssertionError)
    (call,) = [each for each in of_kind(code, Call) if each.function == error.result]
    assert of_kind(code, Raise)[0].exception == call.result


def test_decorators_are_evaluated_first_and_applied_last() -> None:
    code = module("@a\n@b\ndef f(c=d): pass\n@e\nclass G(h, k=i): pass")
    assert names(code)[:6] == ["ReadName", "ReadName", "ReadName", "MakeFunction", "Call", "Call"]
    assert [each.name for each in of_kind(code, MakeClass)[0].bases] == [None, "k"]


def test_imports_say_what_they_give() -> None:
    found = of_kind(module("import a.b\nimport a.b as c\nfrom .d import e\nfrom f import *"), Import)
    told = [(each.module, each.level, each.member, each.root) for each in found]
    assert told == [("a.b", 0, None, True), ("a.b", 0, None, False), ("d", 1, "e", False), ("f", 0, "*", False)]


def test_annotations_are_kept_by_modules_and_classes_alone() -> None:
    outer, body, function = codes("a: int = 1\nclass B:\n    c: int\ndef f():\n    d: int = 1\n    e().g: int")
    assert [len(of_kind(code, WriteItem)) for code in (outer, body, function)] == [1, 1, 0]
    assert len(of_kind(function, Call)) == 1


def test_annotations_are_texts_where_the_file_asks_for_it() -> None:
    code = module("from __future__ import annotations\ndef f(a: b[c]): pass")
    (made,) = of_kind(code, MakeFunction)
    giver = code.givers[made.annotations[0].value]
    assert isinstance(giver, Constant) and giver.value == "b[c]"


def test_annotations_come_in_the_order_of_python() -> None:
    text = "def f(a: 1, /, b: 2, *c: 3, d: 4, **e: 5) -> 6: pass\nresult = list(f.__annotations__)\ndef g(*a: *(7,)): pass"
    found = run_module(text)
    assert found["result"] == ["b", "a", "c", "d", "e", "return"]
    assert found["g"].__annotations__ == {"a": 7}


def test_a_function_begins_with_its_parameters_and_ends_with_a_return() -> None:
    code = codes("def f(a, *b): pass")[1]
    assert [each.variable.name for each in of_kind(code, Parameter)] == ["a", "b"]
    assert len(of_kind(code, Return)) == 1


def test_break_outside_of_a_loop_is_opaque() -> None:
    (code,) = Lowered(ast.Module([ast.Break(lineno=1)], [])).codes()
    assert len(code.opaque) == 1


def test_deep_nesting_needs_no_deep_stack() -> None:
    body: list[ast.stmt] = [ast.Pass(lineno=1)]
    for _ in range(3_000):
        body = [ast.If(ast.Name("a", ast.Load(), lineno=1), body, [], lineno=1)]
    chain: list[ast.stmt] = []
    for _ in range(3_000):
        chain = [ast.If(ast.Name("b", ast.Load(), lineno=1), [ast.Pass(lineno=1)], chain, lineno=1)]
    (code,) = Lowered(ast.Module([*body, *chain], [])).codes()
    assert len(of_kind(code, Branch)) == 6_000
