"""Each kind of instruction: the way of a value through it, and that what has no way escapes."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.flow import Flow, flow_of
from graphfix.analysis.flow.instructions import HANDLERS, WITHOUT_FLOW
from graphfix.analysis.flow.places import Cell, Field, Kind, Place, Result, Sink
from graphfix.ir import instructions as ir
from graphfix.source.document import Document


def flow(text: str) -> tuple[Flow, ast.Module]:
    document = Document("train.py", textwrap.dedent(text))
    return flow_of(document, lambda name, importing: None), document.tree


def spelled(place: Place) -> str:
    """A place as a text: what the code says there, or what it is."""
    if isinstance(place, ast.AST):
        return f"{ast.unparse(place)}@{place.lineno}" if hasattr(place, "lineno") else "module"
    if isinstance(place, (Field, Cell)):
        return f"{type(place).__name__} {place.name}"
    return f"Result {getattr(place.function, 'name', 'lambda')}" if isinstance(place, Result) else type(place).__name__


def edges(text: str) -> set[tuple[str, str, Kind, bool]]:
    found, _ = flow(text)
    return {
        (spelled(source), spelled(edge.target), edge.kind, edge.crosses)
        for source, out in found.graph.edges.items()
        for edge in out
    }


WAYS = {
    "a variable": ("x = f()\ng(x)", "x@1", "x@2", Kind.SAME, False),
    "a variable of an earlier iteration": ("for i in n:\n    g(x)\n    x = f()", "x@3", "x@2", Kind.SAME, True),
    "a variable of another function": ("def f():\n    def g():\n        return x\n    x = h()", "Cell x", "x@3", Kind.SAME, True),
    "a variable that a function binds elsewhere": ("def f():\n    global x\n    x = h()", "x@3", "Cell x", Kind.SAME, True),
    "a variable in a generator expression": ("def f(x):\n    return any(g(x) for i in y)", "x@1", "x@2", Kind.SAME, False),
    "an attribute": ("a.b = f()", "b", "Field b", Kind.SAME, True),
    "an attribute that is read": ("g(a.b)", "Field b", "a.b@1", Kind.SAME, True),
    "an item": ("d['k'] = f()", "d['k']@1", "d@1", Kind.IN, False),
    "an item that is read": ("g(d['k'])", "d@1", "d['k']@1", Kind.OUT, False),
    "a part of a slice": ("g(d[1:])", "d@1", "d[1:]@1", Kind.SPREAD, False),
    "a list": ("x = [f()]", "f()@1", "[f()]@1", Kind.IN, False),
    "a dict": ("x = {k: f()}", "f()@1", "{k: f()}@1", Kind.IN, False),
    "a dict that is spread": ("x = {**f()}", "f()@1", "{**f()}@1", Kind.POURED, False),
    "a comprehension": ("x = [f() for i in n]", "f()@1", "[f() for i in n]@1", Kind.IN, False),
    "a generator expression": ("x = (f() for i in n)", "f()@1", "(f() for i in n)@1", Kind.IN, False),
    "what a loop takes out": ("for x in n:\n    pass", "n@1", "x@1", Kind.OUT, False),
    "what is unpacked": ("x, y = f()", "(x, y)@1", "y@1", Kind.OUT, False),
    "what is unpacked apart": ("x, y = f(), g()", "g()@1", "y@1", Kind.SAME, False),
    "the rest": ("x, *y = f()", "(x, *y)@1", "y@1", Kind.MADE, False),
    "an operator": ("x = f() + 1", "f()@1", "f() + 1@1", Kind.MADE, False),
    "a comparison": ("x = f() < 1", "f()@1", "f() < 1@1", Kind.NUMBER, False),
    "either operand": ("x = f() or g()", "g()@1", "f() or g()@1", Kind.SAME, False),
    "either choice": ("x = f() if c else g()", "f()@1", "f() if c else g()@1", Kind.SAME, False),
    "a walrus": ("g(x := f())", "f()@1", "x@1", Kind.SAME, False),
    "what is changed in place": ("x = f()\nx += g()", "g()@2", "Old", Kind.IN, False),
    "what is returned": ("def f():\n    return g()", "g()@2", "Result f", Kind.SAME, False),
    "what a lambda gives": ("k = lambda: g()", "g()@1", "Result lambda", Kind.SAME, False),
    "a default": ("def f(x=g()):\n    pass", "g()@1", "x@1", Kind.SAME, True),
    "what is yielded": ("def f():\n    yield g()", "g()@2", "Result f", Kind.IN, False),
    "what is sent": ("def f():\n    x = yield", "Field send()", "(yield)@2", Kind.SAME, True),
    "what is awaited": ("async def f():\n    x = await g()", "g()@2", "await g()@2", Kind.SAME, False),
    "what a context gives": ("with f() as x:\n    pass", "f()@1", "x@1", Kind.SAME, False),
    "what is raised": ("raise E(f())", "E(f())@1", "Field raise", Kind.SAME, True),
    "what is caught": ("try:\n    f()\nexcept E as x:\n    g(x)", "Field raise", "except E as x:\n    g(x)@3", Kind.SAME, True),
    "a pattern": ("match f():\n    case [x]:\n        pass", "f()@1", "x@2", Kind.MADE, False),
    "several parts with stars": ("x = [*f(), *g()]", "f()@1", "*f()@1", Kind.MADE, False),
    "several arguments with stars": ("h(*f(), *g())", "f()@1", "*f()@1", Kind.MADE, False),
    "an argument with a star": ("g(*f())", "f()@1", "*f()@1", Kind.MADE, False),
}  # fmt: skip


@pytest.mark.parametrize("case", WAYS)
def test_the_way_of_a_value(case: str) -> None:
    text, source, target, kind, crosses = WAYS[case]
    found = edges(text)
    if source == "b":
        source = "a.b@1"
    assert (source, target, kind, crosses) in found, sorted(map(str, found))


def test_the_names_of_a_comprehension_are_its_own() -> None:
    assert not any("Cell i" in (source, target) for source, target, *_ in edges("x = [i for i in n]"))


def test_code_that_is_not_lowered_may_do_anything() -> None:
    found, tree = flow("x = f()\ntry:\n    g(x)\nexcept* E:\n    pass")
    hidden = tree.body[1]
    assert {sink for sink, _ in found.graph.sinks[hidden]} == {Sink.ESCAPES, Sink.ASKED}
    assert hidden in found.graph.opaque
    (bound,) = (part for part in ast.walk(tree) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    assert hidden in {edge.target for edge in found.graph.edges[bound]}


def test_each_kind_of_instruction_has_edges_or_moves_nothing() -> None:
    """What has no handler escapes, so that a new kind is sound; each that there is should be known."""
    kinds = {kind for kind in vars(ir).values() if isinstance(kind, type) and issubclass(kind, ir.Instruction)} - {ir.Instruction}
    assert kinds == {*HANDLERS, *WITHOUT_FLOW}


def test_what_a_kind_without_a_handler_uses_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(HANDLERS, ir.Format)
    found, tree = flow("x = f'{g()}'")
    (call,) = (part for part in ast.walk(tree) if isinstance(part, ast.Call))
    assert {sink for sink, _ in found.graph.sinks[call]} >= {Sink.ESCAPES, Sink.ASKED}
