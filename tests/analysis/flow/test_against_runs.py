"""The flow is closed: wherever a run has a tensor with a graph, a way of the flow leads there."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from graphfix.source.document import Document

from .shown_by_runs import unreached

FIXTURES = Path(__file__).parents[3] / "fixtures"
HEAD = """
import torch
from torch import nn

net = nn.Linear(3, 1)
loss = net(torch.ones(3)).sum()
"""
FORMS = {
    "containers in containers": """
        logs = {"loss": []}
        logs["loss"].append((0, loss))
        for step, value in logs["loss"]:
            print(value.mean())
        """,
    "pairs that are sorted": """
        values = {}
        values["a"] = loss
        print([v for k, v in sorted(values.items())])
        """,
    "modules in modules": """
        class Block(nn.Module):
            def forward(self, x):
                return x * 2
        print(nn.Sequential(nn.Linear(3, 3), Block(), nn.Sequential(Block()))(torch.ones(3)))
        """,
    "what a base class of Python gives": """
        class Table(dict):
            def __getitem__(self, key):
                value = super().__getitem__(key)
                return value
        print(Table(a=loss)["a"])
        """,
    "what a base class of torch gives": """
        class Doubled(nn.Linear):
            def forward(self, x):
                y = super().forward(x)
                return y * 2
        print(Doubled(3, 1)(torch.ones(3)))
        """,
    "what a mixin gets from the class behind it": """
        class Doubling:
            def forward(self, x):
                y = super().forward(x)
                return y * 2
        class Doubled(Doubling, nn.Linear):
            pass
        print(Doubled(3, 1)(torch.ones(3)))
        """,
    "an object that is made": """
        class Row(tuple):
            def __new__(cls, value):
                print(value)
                return super().__new__(cls, (value,))
        print(Row(loss)[0])
        """,
    "an item that is deleted": """
        class Table(dict):
            def __delitem__(self, key):
                print(self[key])
        table = Table(a=loss)
        del table["a"]
        """,
    "items that are attributes": """
        class Terms(dict):
            def __init__(self, **terms):
                super().__init__(**terms)
                self.__dict__ = self
        terms = Terms(a=loss)
        print(terms.a, terms["a"])
        """,
    "buffers": """
        net.register_buffer("last", None)
        net.last = loss
        print(dict(net.named_buffers())["last"], [b for b in net.buffers()], net.get_buffer("last"))
        print(net.state_dict(keep_vars=True)["last"])
        """,
    "an exception": """
        class Stop(Exception):
            pass
        try:
            raise Stop(loss)
        except Stop as stop:
            value = stop.args[0]
            print(value)
        """,
    "what is sent": """
        def meter():
            while True:
                value = yield
                print(value)
        running = meter()
        next(running)
        running.send(loss)
        """,
    "patterns": """
        match {"a": (loss, 1)}:
            case {"a": (value, _), **rest}:
                print(value)
        match [loss, 2]:
            case [first, *others] as whole:
                print(first, whole[0])
        """,
    "a walrus in a comprehension": """
        print([kept for x in [1] if (kept := loss) is not None], kept)
        """,
    "a walrus in a generator expression": """
        print(any((kept := value) is not None for value in [loss]))
        def f(values):
            any((own := value) is not None for value in values)
            return own
        print(kept, f([loss]))
        """,
    "a generator expression": """
        print(sum(value * 2 for value in (loss, loss)))
        """,
    "stars": """
        def f(*values, **named):
            return values[0], named["a"]
        pair = f(*[loss], **{"a": loss})
        first, *rest = pair
        print(first, rest[0])
        """,
    "closures": """
        def outer(value):
            def inner():
                nonlocal value
                value = value * 2
                return value
            return inner
        print(outer(loss)())
        """,
    "a context manager": """
        import contextlib
        @contextlib.contextmanager
        def lending(value):
            yield value
        with lending(loss) as lent:
            print(lent)
        """,
    "a coroutine": """
        import asyncio
        async def f(value):
            return value * 2
        async def main():
            print(await f(loss))
        asyncio.run(main())
        """,
    "a decorator": """
        def doubled(f):
            def wrapper(*args):
                value = f(*args)
                return value * 2
            return wrapper
        @doubled
        def g(x):
            return net(x)
        print(g(torch.ones(3)))
        """,
    "a property and a default": """
        class Row:
            def __init__(self, value=loss):
                self._value = value
            @property
            def value(self):
                return self._value
        print(Row().value)
        """,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    missing, seen = unreached(Document("train.py", HEAD + textwrap.dedent(FORMS[form])))
    assert seen > 2
    assert [f"{node.lineno}: {ast.unparse(node)}" for node in missing] == []


PROGRAMS = sorted(next(iter(sorted(folder.glob("*/before.py")))) for folder in FIXTURES.glob("GF*") if list(folder.glob("*/before.py")))


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.parts[-3].partition("-")[0] for path in PROGRAMS])
def test_fixtures(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    missing, _ = unreached(Document(str(path), path.read_text("utf-8")))
    assert [f"{node.lineno}: {ast.unparse(node)}" for node in missing] == []
