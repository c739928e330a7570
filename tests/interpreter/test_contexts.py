"""What runs where a context is entered, and what where it is left: in the order of Python itself."""

from __future__ import annotations

import pytest

from graphfix.analysis.explore import Tape
from tests.analysis.toys import explored

MANAGER = """\
from contextlib import contextmanager, ExitStack, ContextDecorator
class Log:
    def step(self): return None
@contextmanager
def around(p):
    with torch.enable_grad():
        (p * 2).sum().backward()
    try:
        yield p
    finally:
        (p * 3).sum().backward()
"""
LINES = MANAGER.count("\n")
IN, BODY, OUT = "enters", "body", "leaves"


def order(body: str, usual: str = "") -> list[str]:
    """Which of the backward passes come in the first run, in what order: those of the manager, and those of `body`."""
    tape = explored(MANAGER + body)
    return [named(tape, event.site) for event in tape.runs[0].recording.walks]


def named(tape: Tape, site: object) -> str:
    text = getattr(site, "lineno", 0) - 6 - LINES
    return {-4: IN, 0: OUT}.get(text, BODY)


@pytest.mark.parametrize(
    "body",
    [
        "with around(w) as p:\n    (p * 4).sum().backward()",
        "def f():\n    with around(w) as p:\n        (p * 4).sum().backward()\n        return 1\nf()",
        "for _ in [1]:\n    with around(w):\n        (w * 4).sum().backward()\n        continue",
        "while True:\n    with around(w):\n        (w * 4).sum().backward()\n        break",
        "try:\n    with around(w):\n        (w * 4).sum().backward()\n        raise ValueError\nexcept ValueError:\n    pass",
        "with ExitStack() as stack:\n    p = stack.enter_context(around(w))\n    (p * 4).sum().backward()",
        "stack = ExitStack()\nstack.enter_context(around(w))\n(w * 4).sum().backward()\nstack.close()",
        "with ExitStack() as stack:\n    for each in [w]:\n        stack.enter_context(around(each))\n    (w * 4).sum().backward()",
        "with ExitStack() as outer:\n    with ExitStack() as inner:\n        inner.enter_context(around(w))\n        outer.push(inner.pop_all())\n"
        "    (w * 4).sum().backward()\n    outer.close()",
        "@around(w)\ndef f():\n    (w * 4).sum().backward()\nf()",
        "def f():\n    (w * 4).sum().backward()\naround(w)(f)()",
        "later = around(w)\nwith later:\n    (w * 4).sum().backward()",
        "class A:\n    @contextmanager\n    def inside(self, p):\n        with around(p) as q:\n            yield q\n"
        "with A().inside(w) as p:\n    (p * 4).sum().backward()",
        "def plain(p):\n    with around(p) as q:\n        if True:\n            yield q\n"
        "with contextmanager(plain)(w) as p:\n    (p * 4).sum().backward()",
        "import contextlib\n@contextlib.asynccontextmanager\nasync def later(p):\n    with around(p):\n        yield p\n"
        "async def f():\n    async with later(w) as p:\n        (p * 4).sum().backward()\nf()",
        "class A:\n    def __enter__(self):\n        self.inner = ExitStack()\n        return self.inner.enter_context(around(w))\n"
        "    def __exit__(self, *told):\n        self.inner.close()\nwith A() as p:\n    (p * 4).sum().backward()",
    ],
)  # fmt: skip
def test_a_generator_waits_at_its_yield_for_the_block(body: str) -> None:
    assert order(body) == [IN, BODY, OUT]


def test_a_decorated_function_is_in_the_context_at_each_call() -> None:
    assert order("@around(w)\ndef f():\n    (w * 4).sum().backward()\nf()\nf()") == [IN, BODY, OUT] * 2


def test_contexts_are_left_in_the_opposite_order() -> None:
    body = (
        "@contextmanager\ndef other(p):\n    yield\n    (p * 4).sum().backward()\n"
        "with around(w), other(w):\n    pass\n"
        "with other(w), around(w):\n    pass\n"
    )
    assert order(body) == [IN, BODY, OUT, IN, OUT, BODY]


@pytest.mark.parametrize(
    ("handler", "goes_on"),
    [("except ValueError:\n        pass", True), ("finally:\n        pass", False), ("except ValueError:\n        raise", False)],
)
def test_what_a_block_raises_is_raised_at_the_yield(handler: str, goes_on: bool) -> None:
    body = (
        f"@contextmanager\ndef guarded():\n    try:\n        yield\n    {handler}\n"
        "def f():\n    with guarded():\n        raise ValueError\n    (w * 4).sum().backward()\n"
        "try:\n    f()\nexcept ValueError:\n    pass\n"
    )
    assert order(body) == ([BODY] if goes_on else [])


def test_the_mode_at_the_yield_is_that_of_the_block_alone() -> None:
    body = (
        "@contextmanager\ndef quiet():\n    with torch.no_grad():\n        yield\n    inside = (w * 2).sum()\n    inside.backward()\n"
        "with quiet():\n    a = w * 2\nb = w * 2\n"
    )
    tape = explored(body)
    sites = {node.site.lineno - 6 for node in tape.runs[0].recording.nodes}
    assert 8 not in sites and {5, 9} <= sites


def test_a_context_that_nobody_enters_in_sight_is_looked_into() -> None:
    tape = explored("from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield\n    w.sum().backward()\n")
    assert any(run.recording.walks for run in tape.runs)


def test_a_step_behind_the_yield_of_another_generator_comes_before_its_turn() -> None:
    body = (
        "def stepping(opt):\n    opt.zero_grad()\n    yield\n    opt.step()\n"
        "for _ in stepping(torch.optim.SGD(net.parameters())):\n    net(x).sum().backward()\n"
    )
    updates = explored(body).runs[0].recording.updates
    assert [(update.steps, update.ahead) for update in updates] == [(False, False), (True, True)]


def test_a_flag_behind_the_yield_of_another_generator_is_not_set_before_its_turn() -> None:
    body = (
        "def phases():\n    yield\n    net.requires_grad_(False)\n    yield\n"
        "for _ in phases():\n    (net(x).sum()).backward()\n    break\n"
    )
    assert not explored(body).runs[0].recording.bare
