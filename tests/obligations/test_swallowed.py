"""A fix for what raises is not safe where the error may be swallowed: such a run works today."""

from __future__ import annotations

import pytest

from tests.obligations.programs import safe_titles

SWALLOWED = {
    "somebody catches the error of the second walk": """
        import torch
        w = torch.ones(3, requires_grad=True)
        shared = w.exp()
        shared.sum().backward()
        try:
            shared.mean().backward()
        except RuntimeError:
            print("skipped")
        """,
    "the caller catches it": """
        import torch
        w = torch.ones(3, requires_grad=True)
        def run(n):
            h = torch.ones(3)
            for _ in range(n):
                h = torch.tanh(h * w)
                h.sum().backward()
        try:
            run(2)
        except RuntimeError:
            print("skipped")
        """,
    "a context swallows it": """
        import torch
        w = torch.ones(3, requires_grad=True)
        class Guard:
            def __enter__(self):
                return self
            def __exit__(self, *error):
                return True
        total = 0
        for _ in range(3):
            with Guard():
                total = total + w.pow(2).sum()
                total.backward()
        """,
    "a context that nobody knows": """
        import torch
        from journal import keep
        w = torch.ones(3, requires_grad=True)
        h = torch.ones(3)
        for _ in range(3):
            with keep.going():
                h = torch.tanh(h * w)
                h.sum().backward()
        """,
    "a context that derives from one that swallows": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        class Quiet(contextlib.suppress):
            pass
        h = torch.ones(3)
        for _ in range(3):
            with Quiet(RuntimeError):
                h = torch.tanh(h * w)
                h.sum().backward()
        """,
    "a context made of a generator": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        @contextlib.contextmanager
        def quiet():
            try:
                yield
            except RuntimeError:
                print("skipped")
        h = torch.ones(3)
        for _ in range(3):
            with quiet():
                h = torch.tanh(h * w)
                h.sum().backward()
        """,
    "a context manager that delegates to another generator": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        def guarded():
            try:
                yield
            except RuntimeError:
                pass
        @contextlib.contextmanager
        def quiet():
            yield from guarded()
        h = torch.ones(3)
        for _ in range(3):
            with quiet():
                h = torch.tanh(h * w)
                h.sum().backward()
        """,
    "one that delegates to one that it is given": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        def guarded(kinds):
            try:
                yield
            except kinds:
                pass
        @contextlib.contextmanager
        def timed(steps):
            yield from steps
        shared = w.exp()
        shared.sum().backward()
        with timed(guarded((RuntimeError,))):
            shared.mean().backward()
        """,
    "one that delegates to one that nobody knows": """
        import contextlib
        import torch
        from journal import entries
        w = torch.ones(3, requires_grad=True)
        @contextlib.contextmanager
        def noted():
            yield from entries()
        shared = w.exp()
        shared.sum().backward()
        with noted():
            shared.mean().backward()
        """,
    "a context that a name holds": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        quiet = contextlib.suppress(RuntimeError)
        shared = w.exp()
        shared.sum().backward()
        with quiet:
            shared.mean().backward()
        """,
    "a stack of contexts": """
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        shared = w.exp()
        shared.sum().backward()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(RuntimeError))
            shared.mean().backward()
        """,
    "a function that calls what it is given": """
        import torch
        w = torch.ones(3, requires_grad=True)
        shared = w.exp()
        def tried(walk):
            try:
                walk()
            except RuntimeError:
                pass
        shared.sum().backward()
        tried(lambda: shared.mean().backward())
        """,
    "a context manager as a decorator": """
        import contextlib
        import torch
        @contextlib.contextmanager
        def guard():
            try:
                yield
            except RuntimeError:
                pass
        w = torch.ones(3, requires_grad=True)
        shared = w.exp()
        @guard()
        def tried():
            shared.mean().backward()
        shared.sum().backward()
        tried()
        """,
    "an object that is a context as a decorator": """
        import contextlib
        import torch
        class Guard(contextlib.ContextDecorator):
            def __enter__(self):
                return self
            def __exit__(self, *error):
                return True
        w = torch.ones(3, requires_grad=True)
        shared = w.exp()
        @Guard()
        def tried():
            shared.mean().backward()
        shared.sum().backward()
        tried()
        """,
    "tasks of which the errors are collected": """
        import asyncio
        import torch
        w = torch.ones(3, requires_grad=True)
        async def job(n):
            scale = w.exp()
            for i in range(n):
                (scale * i).sum().backward()
        async def main():
            return await asyncio.gather(job(1), job(3), return_exceptions=True)
        print(len(asyncio.run(main())))
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", SWALLOWED)
def test_what_may_be_swallowed_is_no_proof(case: str) -> None:
    assert safe_titles(SWALLOWED[case]) == []


@pytest.mark.parametrize(
    "head", ["with torch.autocast('cpu', enabled=False):", "with contextlib.nullcontext():", "with open('log', 'w') as log:"]
)
def test_contexts_that_swallow_nothing(head: str) -> None:
    assert safe_titles(
        f"""
        import contextlib
        import torch
        w = torch.ones(3, requires_grad=True)
        {head}
            h = torch.ones(3)
            for _ in range(3):
                h = torch.tanh(h * w)
                h.sum().backward()
        """
    )


def test_a_task_that_is_awaited_raises_where_it_is_awaited() -> None:
    assert safe_titles(
        """
        import asyncio
        import torch
        w = torch.ones(3, requires_grad=True)
        async def main():
            h = torch.ones(3)
            for _ in range(3):
                h = torch.tanh(h * w)
                h.sum().backward()
        asyncio.run(main())
        """
    )


HANDLER = """
import torch
class Skip(RuntimeError):
    pass
class Bad(ValueError):
    pass
Fault = RuntimeError
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
failed = 0
def step(x):
    global failed
    try:
        loss = net(x).mean()
        opt.zero_grad()
        loss.backward()
        (loss * 2).backward()
        opt.step()
    except {caught}:
        failed += 1
    finally:
        opt.zero_grad()
for i in range(3):
    step(torch.randn(2, 3))
"""


@pytest.mark.parametrize(
    ("caught", "is_safe"),
    [
        ("ValueError", True),
        ("(ValueError, ArithmeticError)", True),
        ("KeyError", True),
        ("RuntimeError", False),
        ("Exception", False),
        ("NotImplementedError", False),
        ("(ValueError, RuntimeError)", False),
        ("Skip", False),
        ("Bad", False),
        ("Fault", False),
    ],
)
def test_a_handler_of_another_error_swallows_nothing(caught: str, is_safe: bool) -> None:
    """A second walk raises a `RuntimeError`, and no error that derives from something else."""
    program = HANDLER.replace("{caught}", caught)
    assert bool(safe_titles(program)) is is_safe


def test_a_name_of_the_program_s_own_is_no_error_of_python() -> None:
    program = HANDLER.replace("{caught}", "ValueError").replace("class Skip", "class ValueError")
    assert safe_titles(program) == []
