"""From syntax to the instructions that it has become, and who may swallow an error."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.flow import Flow, flow_of
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.ir.instructions import Call
from graphfix.source.document import Document


def asked(text: str) -> tuple[Flow, ast.Call]:
    """The flow of a text, and its call `a()`."""
    document = Document("train.py", textwrap.dedent(text))
    call = next(p for p in ast.walk(document.tree) if isinstance(p, ast.Call) and ast.unparse(p.func) == "a")
    return flow_of(document, lambda name, importing: None), call


OWNERS = {
    "the module": ("a()", "Module"),
    "a function": ("def f():\n    a()", "FunctionDef"),
    "a default": ("def f(x=a()):\n    pass", "Module"),
    "a decorator": ("@a()\ndef f():\n    pass", "Module"),
    "a class": ("class C:\n    x = a()", "ClassDef"),
    "a lambda": ("f = lambda: a()", "Lambda"),
    "a list comprehension": ("x = [a() for i in n]", "Module"),
    "a generator expression": ("x = (a() for i in n)", "GeneratorExp"),
    "the first iterable of one": ("x = (i for i in a())", "Module"),
}  # fmt: skip


@pytest.mark.parametrize("case", OWNERS)
def test_what_a_node_runs_in(case: str) -> None:
    text, kind = OWNERS[case]
    flow, call = asked(text)
    assert type(flow.paths.owner(call)).__name__ == kind
    assert [type(each) for each in flow.paths.of(call)] == [Call]


def test_a_copied_node_has_several_instructions() -> None:
    flow, call = asked("def f():\n    try:\n        return f()\n    finally:\n        a()")
    reachable = [each for each in flow.paths.of(call) if flow.paths.ways(call).position[each][0] in flow.paths.ways(call).reachable]
    assert len(reachable) == 2  # where it returns, and where an error goes on


def test_where_an_error_leaves_a_statement() -> None:
    flow, call = asked("for i in n:\n    try:\n        a()\n    except E:\n        pass")
    loop = flow.paths.parents[flow.paths.parents[flow.paths.parents[call]]]
    assert [each.node.lineno for each in flow.paths.raising(loop)] == [1]
    assert flow.paths.at_module(call) == flow.paths.raising(call)


SWALLOWED = {
    "nobody": ("a()", None),
    "a handler": ("try:\n    a()\nexcept RuntimeError:\n    pass", 1),
    "a handler that raises": ("try:\n    a()\nexcept RuntimeError:\n    raise", None),
    "a handler of other errors": ("try:\n    a()\nexcept (KeyError, OSError):\n    pass", None),
    "a context that swallows": ("import contextlib\nwith contextlib.suppress(E):\n    a()", 2),
    "a context that does not": ("import torch\nwith torch.no_grad():\n    a()", None),
    "a context of which nothing is known": ("with m:\n    a()", 1),
    "a generator that is a context": (
        "import contextlib\n@contextlib.contextmanager\ndef m():\n    try:\n        yield\n    except E:\n        pass\nwith m():\n    a()", 8,
    ),
    "a generator that tidies up": (
        "import contextlib\n@contextlib.contextmanager\ndef m():\n    try:\n        yield\n    finally:\n        f()\nwith m():\n    a()", None,
    ),
    "a caller": ("def f():\n    a()\ntry:\n    f()\nexcept E:\n    pass", 3),
    "a thread": ("import threading\ndef f():\n    a()\nthreading.Thread(target=f).start()", 2),
    "a task": ("async def f():\n    a()\ng(f())", 1),
    "a class body": ("try:\n    class C:\n        x = a()\nexcept E:\n    pass", 1),
    "a generator expression": ("try:\n    x = any(a() for i in n)\nexcept E:\n    pass", 1),
    "several exceptions at once": ("try:\n    a()\nexcept* E:\n    pass", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", SWALLOWED)
def test_who_may_swallow_what_a_call_raises(case: str) -> None:
    text, line = SWALLOWED[case]
    flow, call = asked(text)
    place = swallowed(flow, call)
    assert (place.lineno if isinstance(place, ast.stmt) else None) == line
