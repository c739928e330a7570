"""What single instructions say of graphs."""

from __future__ import annotations

import pytest

from graphfix.calls.graph import CallGraph
from graphfix.calls.program import Program
from graphfix.relevance.facts import Fact
from graphfix.relevance.sayings import Sayings
from graphfix.source.document import Document


def facts(text: str) -> set[Fact]:
    """All that the instructions of a text say."""
    graph = CallGraph(Program(Document("train.py", text), lambda name, importing: None))
    sayings = Sayings(graph)
    said = (sayings.of(code, each) for code in graph.program.main.codes() for each in code.instructions())
    return {fact for each in said if each is not None for fact in each.facts}


@pytest.mark.parametrize(
    "line",
    [
        "w.data.normal_(0, 1)",
        "w.data[i].zero_()",
        "w.data[i] = 0",
        "w.data[i] += 1",
        "w.data = w.cuda()",
        "nn.init.xavier_uniform_(w.data)",
        "init.zeros_(w.data[i])",
    ],
)
def test_what_is_written_through_data_is_not_read(line: str) -> None:
    assert facts(f"def set(w, i):\n    {line}\n").isdisjoint((Fact.READ_AS_OF_OLD, Fact.FIRST))


@pytest.mark.parametrize(
    "line",
    [
        "w = w.data",
        "w.copy_(w.data)",
        "w.data[i] = w.data[0]",
        "w.data.normal(0, 1)",
        "w.data.__iter__()",
        "w[i] = w.data",
        "nn.init.normal_(w, w.data)",
        "del w.data[w.data]",
    ],
)
def test_and_what_is_read_is(line: str) -> None:
    assert Fact.READ_AS_OF_OLD in facts(f"def set(w, i):\n    {line}\n")


@pytest.mark.parametrize(
    "item", ["loss.data[0]", "loss.cpu().data.numpy()[0]", "loss.data.clone().cpu()[i]", "net.loss.data[i + 1]"]
)
def test_a_first_item_is_taken_of_data(item: str) -> None:
    assert Fact.FIRST in facts(f"def read(loss, i):\n    return {item}\n")


@pytest.mark.parametrize(
    "item",
    ["loss.data[1]", "loss.data['a']", "loss.data[:2]", "loss.data[:, 0]", "loss.data[-1]", "loss.data.sizes[0]", "loss[0].data"],
)
def test_and_none_where_it_is_another_or_of_something_else(item: str) -> None:
    assert Fact.FIRST not in facts(f"def read(loss, i):\n    return {item}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss.backward()", {Fact.WALK}),
        ("from torch.autograd import grad as g\ng(x, y)", {Fact.WALK}),
        ("x.grad", {Fact.RECORD}),
        ("x.item()", {Fact.READ}),
        ("optimizer.zero_grad()", {Fact.CLEAR, Fact.MODULE}),
        ("optimizer.step()", {Fact.RECORD}),
        ("x.requires_grad = True", {Fact.RECORD}),
        ("x.requires_grad", set()),
        ("make(requires_grad=False)", set()),
        ("make(requires_grad=flag)", {Fact.RECORD}),
        ("x[0]", {Fact.ITEM}),
        ("x[i]", set()),
        ("from torch import nn\nnn.Linear", {Fact.MODULE}),
        ("from torch import nn\nnn.functional.relu", set()),
        ("import losses\nlosses.base.item()", {Fact.READ}),
        ("from losses import base\nbase.item()", {Fact.READ}),
        ("from nets import model\nmodel.train()", {Fact.MODULE}),
        ("import kit\nkit.item()", set()),
        ("import torch\ntorch.utils.data", set()),
        ("isinstance(x, nn.Module)", set()),
        ("class A:\n    def item(self): pass\n    def f(self): self.item()", set()),
    ],
)
def test_an_instruction_says(text: str, expected: set[Fact]) -> None:
    assert facts(text) == expected
