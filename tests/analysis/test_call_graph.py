"""What leads to a word: by whose attribute is meant, as far as a file tells, and never by a name that something else has, too."""

from __future__ import annotations

import pytest

from graphfix.analysis.call_graph import CallGraph
from graphfix.models.words import INDEXED
from graphfix.source.guard import parse

# `step` leads to the word, wherever it is
TEXT = """
import torch
import os.path
import tools as kit
from elsewhere import Outer

def step(loss):
    loss.backward()

class Base:
    limit = make(Outer).backward
    def __init__(self):
        self.net = None
    def step(self, loss):
        loss.backward()
    def idle(self):
        return 1

class Sub(Base):
    def run(self, other):
        {line}

class Far:
    def run(self):
        pass
    def idle(self, loss):
        loss.backward()
"""


def leading(text: str, word: str = "backward") -> set[str]:
    """The functions that lead to a word, methods with their class."""
    graph = CallGraph(parse(text))
    found = graph.leading_to([word], through_variables=True)
    return {
        f"{graph.class_of[each].name}.{each.name}" if each in graph.class_of else each.name
        for each in found
        if each in graph.definitions
    }


@pytest.mark.parametrize(
    "line",
    [
        "step(other)",
        "self.step(other)",
        "super().step(other)",
        "Base.step(self, other)",
        "Sub.step(self, other)",
        "other.step()",
        "other.idle()",
        "return [each.step for each in other]",
        "return lambda: self.step(other)",
        "return self.limit",
        "return other.limit",
        "other.backward()",
        "torch.autograd.backward(other)",
        "torch.Tensor.backward(other)",
        "kit.backward(other)",
        "kit = other; kit.step()",
        "tools.step()",
        "super().backward(other)",
        "return Far().idle()",
        "return [self.step() for self in other]",
    ],
)
def test_what_a_method_may_call_leads_on(line: str) -> None:
    assert "Sub.run" in leading(TEXT.format(line=line))


@pytest.mark.parametrize(
    "line",
    [
        "return other",
        "self.idle()",
        "super().idle()",
        "Base.idle(self)",
        "super().run(other)",
        "self.run(other)",
        "kit.step(other)",
        "os.step(other)",
        "torch.step(other)",
        "torch.optim.step(other)",
        "self.net.other()",
        "return other.calm",
    ],
)
def test_what_is_only_called_alike_does_not(line: str) -> None:
    assert "Sub.run" not in leading(TEXT.format(line=line))


def test_a_member_of_a_module_is_no_attribute_of_a_tensor() -> None:
    text = "import torch\ndef load(x): return torch.utils.data.DataLoader(x)\ndef read(x): return x.data\n"
    assert leading(text, ".data") == {"read"}


@pytest.mark.parametrize(
    "binding",
    [
        "torch = load()",
        "def f(torch): pass",
        "for torch in x: pass",
        "[torch for torch in x]",
        "match x:\n    case {**torch}: pass",
    ],
)
def test_a_name_that_means_something_else_somewhere_is_no_module(binding: str) -> None:
    text = f"import torch\n{binding}\ndef read(): return torch.data\n"
    assert "read" in leading(text, ".data")


def test_a_file_leads_where_its_own_code_does() -> None:
    text = "def step(loss): loss.backward()\nclass A:\n    def step(self): step(1)\n"
    for line, leads in [
        ("", False),
        ("step(1)", True),
        ("@step\ndef f(): pass", True),
        ("def f(x=step(1)): pass", True),
        ("A()", False),
    ]:
        tree = parse(f"{text}{line}\n")
        assert (tree in CallGraph(tree).leading_to(["backward"])) is leads, line


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
    graph = CallGraph(parse(f"def set(w, i):\n    {line}\n"))
    assert graph.spelled.isdisjoint((".data", ".data[]"))


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
    assert ".data" in CallGraph(parse(f"def set(w, i):\n    {line}\n")).spelled


@pytest.mark.parametrize(
    "item", ["loss.data[0]", "loss.cpu().data.numpy()[0]", "loss.data.clone().cpu()[i]", "net.loss.data[i + 1]"]
)
def test_a_first_item_is_taken_of_data(item: str) -> None:
    assert INDEXED in CallGraph(parse(f"def read(loss, i):\n    return {item}\n")).spelled


@pytest.mark.parametrize(
    "item",
    ["loss.data[1]", "loss.data['a']", "loss.data[:2]", "loss.data[:, 0]", "loss.data[-1]", "loss.data.sizes[0]", "loss[0].data"],
)
def test_and_none_where_it_is_another_or_of_something_else(item: str) -> None:
    assert INDEXED not in CallGraph(parse(f"def read(loss, i):\n    return {item}\n")).spelled
