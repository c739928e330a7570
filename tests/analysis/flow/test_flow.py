"""Where values may go, asked of small programs: the value is that of the name `value` where it is read first."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

from graphfix.analysis.flow.flow import Flow, flow_of
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.library import is_made_of_numbers
from graphfix.analysis.flow.places import Kind, Sink
from graphfix.source.document import Document


def flow(text: str, others: dict[str, Document] | None = None) -> Flow:
    """The flow of a program; `others`: the modules of its project."""
    return flow_of(Document("train.py", textwrap.dedent(text)), lambda name, document: (others or {}).get(name))


def reached(text: str, others: dict[str, Document] | None = None) -> set[Sink]:
    """What may become of `value`."""
    made = flow(text, others)
    tree = next(iter(made.code.documents))
    start = next(
        part for part in ast.walk(tree) if isinstance(part, ast.Name) and part.id == "value" and isinstance(part.ctx, ast.Load)
    )
    return {arrival.sink for arrival in made.graph.reach([start]).arrivals}


WALKED = {
    "as a key of a mapping": """
        value = make()
        seen = {value: 1}
        for each in seen:
            each.backward()
        """,
    "as a key that is set": """
        value = make()
        seen = {}
        seen[value] = 1
        min(seen, key=seen.get).backward()
        """,
    "as the first of the items of a mapping": """
        value = make()
        seen = {value: step for step in range(3)}
        for each, step in seen.items():
            each.backward()
        """,
    "as a key that is put where there is none": """
        value = make()
        seen = {}
        seen.setdefault(value, 1)
        list(seen.keys())[0].backward()
        """,
    "by its own name": """
        value = make()
        other = value
        other.backward()
        """,
    "by a function that travels far": """
        value = make()
        def walk(loss):
            loss.backward()
        def give():
            return {"loss": walk}
        table = [give]
        def pick(entries):
            return entries[0]
        pick(table)()["loss"](value)
        """,
    "by a function that comes out of a call and is mapped": """
        value = make()
        def choose():
            def walk(loss):
                loss.backward()
            return walk
        list(map(choose(), [value]))
        """,
    "as part of a sum": """
        value = make()
        total = 0.0 + value * 2
        total.backward()
        """,
    "through an alias of a total that is added to in place": """
        import torch
        value = make()
        total = torch.zeros(())
        alias = total
        total += value
        alias.backward()
        """,
    "out of a list that another name holds": """
        import torch
        value = make()
        losses = []
        kept = losses
        losses.append(value)
        torch.stack(kept).sum().backward()
        """,
    "out of a list in a dict": """
        value = make()
        log = {"loss": []}
        log["loss"].append(value)
        for each in log["loss"]:
            each.backward()
        """,
    "in a function that it is given to": """
        value = make()
        def step(loss):
            loss.backward()
        step(value)
        """,
    "in a function that is chosen at run time": """
        value = make()
        def step(loss):
            loss.backward()
        table = {"step": step}
        table[name](value)
        """,
    "in a callback": """
        value = make()
        list(map(lambda loss: loss.backward(), [value]))
        """,
    "by a method that is put off": """
        import functools
        value = make()
        later = functools.partial(value.backward)
        later()
        """,
    "at the end of a context": """
        value = make()
        class Scope:
            def __exit__(self, *error):
                self.loss.backward()
        scope = Scope()
        scope.loss = value
        """,
    "under a name that is made at run time": """
        value = make()
        vars(obj).update({key: value})
        obj.total.backward()
        """,
    "in a generator that is sent it": """
        def steps(losses):
            for loss in losses:
                yield loss
        value = make()
        for each in steps([value]):
            each.backward()
        """,
    "as a global that a hook walks": """
        value = make()
        def hook(grad):
            value.backward()
        """,
    "by a subclass that overrides what the base calls": """
        class Base:
            def run(self, value):
                self.use(value)
        class Special(Base):
            def use(self, loss):
                loss.backward()
        """,
    "in a finally": """
        value = make()
        try:
            risky()
        finally:
            value.backward()
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", WALKED)
def test_what_may_walk_a_value(case: str) -> None:
    assert Sink.WALKED in reached(WALKED[case])


NOT_WALKED = {
    "as a key whose mapping is asked for what keys lead to": """
        value = make()
        seen = {value: other}
        for each in seen.values():
            each.backward()
        for step, each in seen.items():
            each.backward()
        seen[value].backward()
        """,
    "a number of it": """
        value = make()
        total = 0.0
        total += value.item()
        other.backward()
        """,
    "a name that is used anew": """
        value = make()
        kept = value
        print(kept)
        kept = other()
        kept.backward()
        """,
    "another entry of the same dict": """
        value = make()
        out = {"log": value, "loss": make()}
        out["loss"].backward()
        """,
    "another item of the same tuple": """
        value = make()
        log, loss = value, make()
        loss.backward()
        """,
    "another attribute of the same object": """
        value = make()
        trainer.log = value
        trainer.loss.backward()
        """,
    "another call of the same function": """
        def double(x):
            return x * 2
        value = make()
        log = double(value)
        loss = double(make())
        loss.backward()
        """,
    "another object in the same list": """
        value = make()
        log, window = [], []
        everything = [log, window]
        log.append(value)
        window.append(make())
        window[0].backward()
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_WALKED)
def test_what_does_not_walk_a_value(case: str) -> None:
    assert Sink.WALKED not in reached(NOT_WALKED[case])


def test_code_that_is_not_in_sight_may_keep_a_value() -> None:
    text = """
        import tracker
        value = make()
        tracker.log({"loss": value})
        """
    assert reached(text) == {Sink.ESCAPES}


def test_what_a_function_that_nobody_calls_returns_is_given_away() -> None:
    text = """
        def loss_of(value):
            return value * 2
        """
    assert reached(text) == {Sink.ESCAPES}


def test_torch_and_print_let_go_of_a_value() -> None:
    text = """
        import torch
        value = torch.ones(())
        print(torch.sqrt(value), f"{value:.3f}")
        """
    assert reached(text) == set()


@pytest.mark.parametrize("use", ["value is best", "value.grad_fn", "value.requires_grad", "type(value)", "id(value)"])
def test_who_asks_for_graph_or_identity(use: str) -> None:
    assert Sink.ASKED in reached(f"value = make()\nbest = make()\nprint({use})\n")


@pytest.mark.parametrize(
    ("use", "asked"),
    [
        ("_, best = torch.max(value, 1)\nbest.numpy()", False),
        ("best = value.max(-1)[1]\nbest.numpy()", False),
        ("value.topk(3).indices.numpy()", False),
        ("pair = value.sort()\npair[1].numpy()", True),  # only where it is taken out at once
        ("best, _ = torch.max(value, 1)\nbest.numpy()", True),
        ("value.max(1).values.numpy()", True),
        ("_, best = torch.max(value, other)\nbest.numpy()", True),  # a row of the larger ones, if `other` is a tensor
        ("class Own:\n    def max(self, x):\n        return 0, x\n_, best = Own().max(value, dim=1)\nbest.numpy()", True),
        ("kit.max = pick\n_, best = value.max(1)\nbest.numpy()", True),
    ],
)
def test_the_places_of_the_largest_are_numbers(use: str, asked: bool) -> None:
    assert (Sink.ASKED in reached(f"import torch\nvalue = make()\n{use}\n")) is asked


def crosses(text: str) -> bool:
    """Whether a walk may meet `value` in another iteration than the one that made it."""
    made = flow(text)
    tree = next(iter(made.code.documents))
    start = next(part for part in ast.walk(tree) if isinstance(part, ast.Assign) and part.targets[0].id == "value").value
    return any(arrival.crosses for arrival in made.graph.reach([start]).of(Sink.WALKED))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for i in range(3):\n    value = make()\n    value.backward()\n", False),
        ("value = make()\nfor i in range(3):\n    value.backward()\n", True),
        ("old = make()\nfor i in range(3):\n    value = make()\n    (old + value).backward()\n    old = value\n", True),
        ("for i in range(3):\n    if i:\n        value.backward()\n    value = make()\n", True),
    ],
)
def test_walks_of_other_iterations_are_told_apart(text: str, expected: bool) -> None:
    assert crosses(text) is expected


def test_what_any_of_many_containers_holds_is_found() -> None:
    """Containers that nothing brings from elsewhere begin where they are: none of them is taken for another."""
    graph = FlowGraph()
    for number in range(50):
        graph.add(f"part {number}", f"list {number}", Kind.IN)
        graph.add(f"list {number}", "taken", Kind.OUT)
    assert set(graph.taken_by("taken")) == {f"part {number}" for number in range(50)}


HELPERS = """
def walk(loss):
    loss.backward()

def show(loss):
    print(loss.shape)
"""


@pytest.mark.parametrize(
    ("text", "sinks"),
    [
        ("import helpers\nvalue = 1\nhelpers.show(value)\n", set()),
        ("import helpers as h\nvalue = 1\nh.walk(value)\n", {Sink.WALKED}),
        ("from tools import helpers\nvalue = 1\nhelpers.walk(value)\n", {Sink.WALKED}),
        ("import helpers\nvalue = 1\nlist(map(helpers.walk, [value]))\n", {Sink.WALKED}),
        ("import helpers\nvalue = 1\nhelpers.missing(value)\n", {Sink.ESCAPES}),
        ("import helpers\nhelpers.show = helpers.walk\nvalue = 1\nhelpers.show(value)\n", {Sink.WALKED}),
        ("import helpers\nhelpers = other\nvalue = 1\nhelpers.show(value)\n", {Sink.ESCAPES}),
    ],
)
def test_what_a_module_of_the_project_defines_is_found(text: str, sinks: set[Sink]) -> None:
    helpers = Document("helpers.py", HELPERS)
    found = {"helpers": helpers, "tools.helpers": helpers, "tools": Document("tools/__init__.py", "")}
    assert reached(text, found) == sinks


def test_a_list_is_not_what_the_items_of_another_object_are() -> None:
    """`cat` takes the items of the list itself: whose `__getitem__` is in sight is another object."""
    program = """
        import torch
        class Rows:
            def __getitem__(self, i):
                return self.rows[i]
        value = make()
        torch.cat((value, value))
        keep(Rows()[0])
        """
    assert reached(program) == set()


def test_layers_that_call_what_they_are_made_with_are_told() -> None:
    """Torch itself: no other layer takes a module or a function."""
    torch = pytest.importorskip("torch")
    names = [name for name in dir(torch.nn) if is_made_of_numbers(f"torch.nn.{name}")]
    assert "Linear" in names
    for name in names:
        layers = [cls for cls in getattr(torch.nn, name).__mro__ if cls not in (torch.nn.Module, object)]
        makers = [vars(cls)["__init__"] for cls in layers if "__init__" in vars(cls)]  # what is inherited may be torch.nn.Module's
        taken = [str(each.annotation) for maker in makers for each in inspect.signature(maker).parameters.values()]
        assert not any("Module" in each or "Callable" in each for each in taken), name


def test_a_layer_of_numbers_calls_no_object_in_sight() -> None:
    program = """
        import torch
        from torch import nn
        class Walks(nn.Module):
            def __init__(self, width):
                self.width = width
            def forward(self, x):
                x.backward()
        class Plain(nn.Module):
            def __init__(self, width):
                self.layer = {layer}
            def forward(self, x):
                return self.layer(x)
        value = make()
        Plain(Walks(3).width).forward(value)
        """
    assert Sink.WALKED not in reached(program.replace("{layer}", "nn.Linear(width, 3)"))
    assert Sink.WALKED in reached(program.replace("{layer}", "nn.Sequential(width)"))
