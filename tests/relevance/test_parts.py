"""What leads to what: by whose attribute is meant, as far as a file tells, and never by a name that something else has, too."""

from __future__ import annotations

import pytest

from graphfix.relevance.facts import Fact
from graphfix.relevance.parts import Parts
from graphfix.relevance.reach import coming
from graphfix.source.document import Document
from graphfix.source.spelling import FUNCTIONS

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


def parts(text: str) -> Parts:
    return Parts(Document("train.py", text))


def leading(text: str, fact: Fact = Fact.WALK) -> set[str]:
    """The functions that lead to what says a fact, methods with their class."""
    of = parts(text)
    found = of.leading_to(coming(of, frozenset((fact,)), None), through_variables=True)
    functions = [each for each in found if isinstance(each, FUNCTIONS)]
    return {f"{cls.name}.{each.name}" if (cls := of.class_of(each)) is not None else each.name for each in functions}


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
    assert leading(text, Fact.READ) == {"read"}


@pytest.mark.parametrize(
    "binding",
    [
        "torch = load()",
        "def torch(): pass",
        "for torch in x: pass",
        "match x:\n    case {**torch}: pass",
    ],
)
def test_a_name_that_means_something_else_too_is_no_module(binding: str) -> None:
    text = f"import torch\n{binding}\ndef read(): return torch.data\n"
    assert "read" in leading(text, Fact.READ)


@pytest.mark.parametrize("binding", ["def f(torch): pass", "[torch for torch in x]"])
def test_what_a_name_means_in_another_scope_is_nothing_to_it(binding: str) -> None:
    text = f"import torch\n{binding}\ndef read(): return torch.data\n"
    assert "read" not in leading(text, Fact.READ)


def test_a_file_leads_where_its_own_code_does() -> None:
    text = "def step(loss): loss.backward()\nclass A:\n    def step(self): step(1)\n"
    for line, leads in [
        ("", False),
        ("step(1)", True),
        ("@step\ndef f(): pass", True),
        ("def f(x=step(1)): pass", True),
        ("A()", False),
    ]:
        of = parts(f"{text}{line}\n")
        assert (of.tree in of.leading_to(coming(of, frozenset((Fact.WALK,)), None))) is leads, line


def test_functions_of_one_name_are_told_apart_by_their_scopes() -> None:
    text = "def outer():\n    def step(): pass\n    step()\ndef step(loss): loss.backward()\ndef other(): step(1)\n"
    assert leading(text) == {"step", "other"}


def test_an_override_in_the_file_is_what_a_base_class_may_run() -> None:
    text = "class Base:\n    def run(self): self.update()\n    def update(self): pass\n"
    heir = "class Heir(Base):\n    def update(self): self.loss.backward()\n"
    assert leading(text) == set()
    assert leading(text + heir) == {"Base.run", "Heir.update"}


def test_an_attribute_that_is_only_none_here_may_be_anything() -> None:
    text = "class A:\n    net = None\n    def fit(self, loss): loss.backward()\n    def run(self): self.net.fit(1)\n"
    assert leading(text) == {"A.fit", "A.run"}


def test_an_object_of_another_class_is_not_meant_by_a_method_of_this_one() -> None:
    text = "from stats import Mean\nclass A:\n    def __init__(self): self.mean = Mean()\n"
    text += "    def update(self): self.loss.backward()\n    def rate(self): self.mean.update(1)\n"
    assert leading(text) == {"A.update"}


def test_functions_that_settings_name_are_found_by_their_names() -> None:
    of = parts("def train(x):\n    engine.walk_it(x)\ndef other(x):\n    return x\n")
    assert [getattr(each, "name", None) for each in of.naming({"walk_it"})] == ["train"]
    assert not of.naming(set())


def test_what_is_defined_in_a_piece_of_code_belongs_to_it() -> None:
    of = parts("if x:\n    def walk(loss):\n        loss.backward()\nelse:\n    y = 1\n")
    branch = of.tree.body[0]
    assert Fact.WALK in of.said_in(branch.body).facts
    assert not of.said_in(branch.orelse)


@pytest.mark.parametrize(
    "line",
    [
        "with Timer(): pass",
        "for x in Timer(): pass",
        "Timer()[0]",
        "Timer() + 1",
        "f'{Timer()}'",
        "print(-Timer())",
        "Timer().rate",
    ],
)
def test_what_python_runs_by_itself_leads_on(line: str) -> None:
    names = ("__exit__", "__iter__", "__getitem__", "__add__", "__format__", "__neg__")
    methods = "".join(f"    def {name}(self, *given): self.loss.backward()\n" for name in names)
    text = f"class Timer:\n    def __enter__(self): pass\n{methods}    @property\n    def rate(self): self.loss.backward()\n"
    assert "train" in leading(f"{text}def train():\n    {line}\n")
    assert "train" not in leading(f"{text}def train():\n    Timer()\n")
