"""The solver: equations that depend on one another, in whatever order they are asked."""

from __future__ import annotations

import pytest

from graphfix.calls import values as values_module
from graphfix.calls.meanings import UNKNOWN, Class, Function, Instance

from .programs import graph_of, last_value


def names(found: list[object]) -> list[str]:
    return sorted(getattr(getattr(each, "node", getattr(each, "cls", None)), "name", str(each)) for each in found)


def test_a_circle_of_names_has_the_meanings_of_all() -> None:
    graph = graph_of("def f(): pass\ndef g(): pass\na = f\nb = g\nwhile x:\n    a, b = b, a\n    a = b\na\n")
    assert names(last_value(graph)) == ["f", "g"]


def test_functions_that_give_what_they_give_one_another() -> None:
    graph = graph_of(
        "def a(n): return b(n) if n else A()\ndef b(n): return a(n) if n else B()\nclass A: pass\nclass B: pass\na(1)\n"
    )
    found = last_value(graph)
    assert names(found) == ["A", "B"] and all(isinstance(each, Instance) for each in found)


def test_an_attribute_that_the_program_sets_is_not_asked_of_a_library() -> None:
    text = "from torch import nn\nclass A(nn.Module):\n    def __init__(self): self.f = g\ndef g(): pass\nA().f\n"
    found = last_value(graph_of(text))
    assert [type(each) for each in found] == [Function]


def test_what_is_longer_than_the_budget_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_module, "MAX_EVALUATIONS", 3)
    text = "class A: pass\n" + "".join(f"x{n + 1} = x{n}\n" for n in range(20)).replace("x0", "A") + "x20\n"
    assert UNKNOWN in last_value(graph_of(text))


def test_what_is_derived_is_computed_again_when_there_is_more() -> None:
    graph = graph_of("class A: pass\nx = A\n")
    variable = graph.program.main.variable("x")
    assert variable is not None
    computed: list[int] = []

    def derive() -> int:
        computed.append(len(graph.values.of(variable)))
        return computed[-1]

    assert graph.values.derived("about", derive) == graph.values.derived("about", derive) == 1
    assert computed == [1]
    assert isinstance(graph.values.of(variable)[0], Class)
