"""What instructions run: calls, classes, imports, callbacks, and what nobody can name."""

from __future__ import annotations

import ast

import pytest

from .programs import graph_of, run_by

HEAD = """
import dataclasses, functools, torch
from dataclasses import dataclass
from torch import nn
def f(): pass
def g(): pass
class A:
    def __init__(self): pass
    def __call__(self): pass
    def __add__(self, other): pass
    def method(self): pass
class Net(nn.Module):
    def forward(self, x): pass
@dataclass
class Row:
    x: int
    def __post_init__(self): pass
class Told:
    def __init_subclass__(cls): pass
"""


@pytest.mark.parametrize(
    ("statement", "runs"),
    [
        ("f()", {"f"}),
        ("(f if 1 else g)()", {"f", "g"}),
        ("A()", {"__init__"}),
        ("A().method()", {"__init__", "method"}),
        ("A()()", {"__init__", "__call__"}),
        ("A() + 1", {"__init__", "__add__"}),
        ("Net()(1)", {"forward"}),
        ("Row(1)", {"__post_init__"}),
        ("dataclasses.replace(Row(1), x=2)", {"__post_init__"}),
        ("class B(Told): pass", {"B", "__init_subclass__"}),
        ("map(f, [1])", {"f"}),
        ("sorted([1], key=f)", {"f"}),
        ("sorted([1])", set()),
        ("torch.ones(1)", set()),
        ("functools.partial(f)()", {"f"}),
        ("len([f])", set()),
        ("x.method()", {"?"}),
        ("unheard_of(f)", {"f", "?"}),
        ("type.__call__(A)", {"?", "__init__"}),
        ("Net().register_forward_hook(f)", {"f"}),
    ],
)
def test_a_statement_runs(statement: str, runs: set[str]) -> None:
    graph = graph_of(f"{HEAD}\n{statement}\n")
    assert run_by(graph, graph.program.main.tree.body[-1]) == runs


def test_an_import_runs_the_file() -> None:
    graph = graph_of("import other\nfrom other import x\n", other="x = 1\n")
    code = graph.program.main.module
    ran = {type(node) for each in code.instructions() for node in graph.resolve(code, each).codes}
    assert ran == {ast.Module}


def test_functions_of_libraries_are_named() -> None:
    graph = graph_of("import torch\ntorch.nn.Linear(1, 1).to('cpu')\n")
    code = graph.program.main.module
    names = {name for _, call in graph.program.main.calls for name in graph.resolve(code, call).libraries}
    assert names == {"torch.nn.Linear", "torch.nn.Linear.to"}


def test_what_an_object_has_of_its_own() -> None:
    graph = graph_of("class A:\n    def f(self): self.x = 1\nclass B(A): pass\nA(), B()\n")
    from graphfix.calls.meanings import Instance

    for cls in graph.program.main.classes:
        assert graph.has_own(Instance(cls), "f")
        assert not graph.has_own(Instance(cls), "y")
        assert graph.class_variables(Instance(cls), "f") and not graph.class_variables(Instance(cls), "x")


def test_what_makes_an_object_of_a_class() -> None:
    graph = graph_of(HEAD)
    made = {cls.name: {code.name for code in graph.resolve_class(cls).codes} for cls in graph.program.main.classes}  # type: ignore[attr-defined]
    assert made == {"A": {"__init__"}, "Net": set(), "Row": {"__post_init__"}, "Told": set()}
