"""The builder writes blocks, runs steps without recursion, and hides what it cannot lower."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from graphfix.ir.builder import Builder, Finally, Loop, body_of
from graphfix.ir.instructions import Constant, Opaque
from graphfix.ir.variables import Home, scopes_of


def builder(text: str = "") -> tuple[Builder, ast.Module]:
    tree = ast.parse(text)
    scopes = scopes_of(tree)
    return Builder(scopes[tree], scopes, False), tree


def test_values_are_numbered_in_order() -> None:
    made, tree = builder()
    assert [made.give(Constant, tree, value) for value in "abc"] == [0, 1, 2]
    assert [each.result for each in made.block.instructions] == [0, 1, 2]


def test_temporaries_are_variables_of_their_own() -> None:
    made, _ = builder()
    one, other = made.temporary(), made.temporary()
    assert one is not other and one.home is other.home is Home.TEMPORARY


def test_what_follows_a_jump_is_in_another_block() -> None:
    made, tree = builder()
    before, target = made.block, made.new()
    made.jump(target, tree)
    assert made.block is not before and before.successors == (target,)


def test_steps_are_sent_what_they_ask_for() -> None:
    made, tree = builder("1\n2")

    def steps() -> Iterator[Any]:
        found.append((yield inner()))
        found.append((yield 5))

    def inner() -> Iterator[Any]:
        yield from ()
        return 4  # noqa: B901

    found: list[Any] = []
    made.run(steps(), {})  # type: ignore[arg-type]
    assert found == [4, 5]
    assert made.run(body_of(tree.body), {ast.Expr: lambda _, node: None}) is None


def test_many_steps_that_wait_need_no_deep_stack() -> None:
    made, _ = builder()

    def steps(depth: int) -> Iterator[Any]:
        return (yield steps(depth - 1)) if depth else 0  # noqa: B901

    assert made.run(steps(20_000), {}) == 0  # type: ignore[arg-type]


def test_what_is_hidden_reads_writes_and_may_yield() -> None:
    made, tree = builder("def f():\n    try: a\n    except* B as c: (yield); import d.e; g = lambda: (yield)")
    function = tree.body[0]
    inner = Builder(made.scopes[function], made.scopes, False)
    inner.hide(function.body[0], function.body)  # type: ignore[attr-defined]
    (opaque,) = inner.block.instructions
    assert isinstance(opaque, Opaque)
    assert [each.name for each in opaque.reads] == ["a", "B"]
    assert sorted(each.name for each in opaque.writes) == ["c", "d", "g"]
    assert inner.yields


def test_ways_out_run_what_is_pending_the_innermost_first() -> None:
    made, tree = builder()
    seen: list[int] = []

    def leaving(number: int) -> Iterator[Any]:
        seen.append(number)
        yield from ()

    made.exits = [Finally(lambda number=number: leaving(number), None, (), []) for number in (1, 2)]  # type: ignore[misc]
    made.exits.insert(1, Loop(tree, made.new(), made.new()))
    made.run(made.leave(1, tree), {})
    assert seen == [2]
    made.run(made.leave(0, tree), {})
    assert seen == [2, 2, 1] and len(made.exits) == 3
