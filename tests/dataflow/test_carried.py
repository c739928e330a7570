"""Reaching definitions, those of earlier iterations told apart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from graphfix.dataflow.carried import CarriedDefinitions

# the lines of the definitions that may be those of this iteration, and of those that another one may have made
CASES = {
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


@pytest.mark.parametrize("case", CASES)
def test_which_iteration_a_definition_is_of(function: Callable[..., Any], case: str) -> None:
    body, same, carried = CASES[case]
    made = function("def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    read = next(each for each in made.reads("h") if each.node is made.call("use").node.args[0])
    found = CarriedDefinitions(made.ways).reaching(read, read.variable)
    lines: dict[bool, list[Any]] = {False: [], True: []}
    for definition, crosses, _ in found:
        lines[crosses].append(definition.node.lineno if isinstance(definition.node, ast.AST) else None)  # type: ignore[attr-defined]
    assert (lines[False], lines[True]) == (same, carried)


def test_which_loop_has_gone_round(function: Callable[..., Any]) -> None:
    made = function("def f(c):\n    for x in c:\n        for y in x:\n            use(h)\n            h = y")
    read = next(each for each in made.reads("h"))
    (found,) = CarriedDefinitions(made.ways).reaching(read, read.variable)
    assert [loop.lineno for loop in found.loops if isinstance(loop, ast.For)] == [2, 3]
