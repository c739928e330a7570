"""Reaching definitions, those of earlier iterations told apart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.definitions import Definitions, read_by, written_by

CASES = {
    "straight": ("x = 1\nx = 2\nuse(x)", [3]),
    "one of two ways": ("x = 1\nif c:\n    x = 2\nuse(x)", [2, 4]),
    "both ways": ("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)", [3, 5]),
    "a loop": ("x = 1\nfor i in c:\n    use(x)\n    x = 2", [2, 5]),
    "left early": ("x = 1\nfor i in c:\n    x = 2\n    break\nelse:\n    x = 3\nuse(x)", [4, 7]),
    "an exception": ("x = 1\ntry:\n    a()\n    x = 2\n    b()\nexcept E:\n    pass\nuse(x)", [2, 5]),
    "a finally": ("x = 1\ntry:\n    x = 2\n    a()\nfinally:\n    use(x)", [2, 4]),
    "deleted": ("x = 1\ndel x\nx = 2\nuse(x)", [4]),
    "a parameter": ("use(c)", [1]),
    "a comprehension's own name": ("x = 1\n[x for x in c]\nuse(x)", [2]),
    "a walrus": ("x = 1\nif (x := c):\n    pass\nuse(x)", [3]),
    "a match": ("x = 1\nmatch c:\n    case [x]:\n        pass\nuse(x)", [2, 4]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_the_definitions(function: Callable[..., Any], case: str) -> None:
    body, lines = CASES[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    use = made.call("use")
    read = next(each for each in reversed(made.reads(use.node.args[0].id)) if each.node is use.node.args[0])
    found = Definitions(made.ways).reaching(read, read.variable)
    assert sorted({each.definition.node.lineno for each in found}) == lines


def test_what_is_not_lowered_may_write_or_not(function: Callable[..., Any]) -> None:
    made = function("def f():\n    x = 1\n    try:\n        x = 2\n    except* E:\n        pass\n    return x")
    read = made.reads("x")[-1]
    found = [each.definition for each in Definitions(made.ways).reaching(read, read.variable)]
    assert sorted(type(each).__name__ for each in found) == ["Opaque", "WriteName"]
    assert all(read.variable in written_by(each) and read.variable not in read_by(each) for each in found)


def test_what_holds_behind_an_instruction(function: Callable[..., Any]) -> None:
    made = function("def f():\n    x = 1\n    a()\n    x = 2\n    b()")
    definitions, variable = Definitions(made.ways), made.code.scope.variable("x")
    lines = [[each.definition.node.lineno for each in definitions.behind(made.call(name), variable)] for name in "ab"]
    assert lines == [[2], [4]]


# the lines of the definitions that may be those of this iteration, and of those that another one may have made
CARRIED = {
    "straight": ("h = 1\nuse(h)", [2], []),
    "bound in the iteration": ("for x in c:\n    h = x\n    use(h)", [3], []),
    "left by the iteration before": ("h = 0\nfor x in c:\n    use(h)\n    h = x", [], [2, 5]),
    "of both": ("for x in c:\n    if x:\n        h = x\n    use(h)", [4], [4]),
    "from outside of the loop": ("h = 1\nfor x in c:\n    use(h)", [], [2]),
    "read behind the loop": ("for x in c:\n    h = x\nuse(h)", [3], []),
    "of the inner loop, read in the outer one": ("for x in c:\n    for y in x:\n        h = y\n    use(h)", [4], [4]),
    "new in each iteration of the outer loop": ("for x in c:\n    h = 0\n    for y in x:\n        h = h + y\n    use(h)", [3, 5], []),
    "carried by the inner loop alone": ("for x in c:\n    h = 0\n    for y in x:\n        use(h)\n        h = y", [], [3, 6]),
    "a comprehension is no loop": ("h = 1\n[use(h) for y in c]", [2], []),
    "by continue": ("for x in c:\n    use(h)\n    h = x\n    if x:\n        continue\n    h = 0", [], [4, 7]),
    "by break": ("for x in c:\n    h = x\n    if x:\n        break\n    h = 0\nuse(h)", [3, 6], []),
}  # fmt: skip


@pytest.mark.parametrize("case", CARRIED)
def test_which_iteration_a_definition_is_of(function: Callable[..., Any], case: str) -> None:
    body, same, carried = CARRIED[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    read = next(each for each in made.reads("h") if each.node is made.call("use").node.args[0])
    found = Definitions(made.ways).reaching(read, read.variable)
    lines: dict[bool, list[Any]] = {False: [], True: []}
    for definition, crosses, _ in found:
        lines[crosses].append(definition.node.lineno if isinstance(definition.node, ast.AST) else None)  # type: ignore[attr-defined]
    assert (lines[False], lines[True]) == (same, carried)


def test_which_loop_has_gone_round(function: Callable[..., Any]) -> None:
    made = function("def f(c):\n    for x in c:\n        for y in x:\n            use(h)\n            h = y")
    read = next(each for each in made.reads("h"))
    (found,) = Definitions(made.ways).reaching(read, read.variable)
    assert [loop.lineno for loop in found.loops if isinstance(loop, ast.For)] == [2, 3]
