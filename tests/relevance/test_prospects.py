"""Where a graph may come into code: not by everything that is imported, but by all that makes one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.effects.schema import Returns, Row
from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.relevance.prospects import Prospects
from graphfix.run.again import forget_files
from graphfix.source.document import Document

NETS = """
import torch
from elsewhere import anything

SIZE = 3
layer = torch.nn.Linear(SIZE, SIZE)
kinds: torch.nn.Module

class Net(torch.nn.Module):
    pass

class Trainer:
    def __init__(self, net):
        self.net = net

    def fit(self, x):
        self.net(x).sum().backward()

class Reader:
    def __init__(self, path: torch.nn.Module):
        self.path = path

    def read(self):
        return open(self.path).read()

def count(x) -> torch.nn.Module:
    return len(x)

def is_net(x):
    return isinstance(x, torch.nn.Module)

def built():
    return Net()

def built_by_another():
    return built()

def far_away():
    return built_by_another()
"""


def brings(tmp_path: Path, text: str, line: str) -> bool:
    """Whether a line behind `text` may bring a graph."""
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "plain.py").write_text("def made(x):\n    return x + 1\n")
    forget_files()
    document = Document(str(tmp_path / "run.py"), f"{text}\n{line}\n")
    conventions = Conventions(rows=(Row("steps.walk_it", Returns.MADE, backward=True),))
    return Prospects(document, (tmp_path,), conventions).may_bring_graphs(document.tree.body[-1:])


@pytest.mark.parametrize("name", ["SIZE", "kinds", "Reader", "count", "is_net", "anything", "missing"])
def test_what_an_import_means_that_has_nothing_to_do_with_graphs_brings_none(tmp_path: Path, name: str) -> None:
    assert not brings(tmp_path, f"from nets import {name}", name)


def test_a_file_that_spells_nothing_of_graphs_brings_none(tmp_path: Path) -> None:
    assert not brings(tmp_path, "from plain import made\nimport plain", "made(plain.made)")


@pytest.mark.parametrize("name", ["layer", "Net", "Trainer", "built"])
def test_what_an_import_means_that_makes_a_graph_brings_it(tmp_path: Path, name: str) -> None:
    assert brings(tmp_path, f"from nets import {name}", name)
    assert brings(tmp_path, f"from nets import {name} as other", "other")
    assert brings(tmp_path, "import nets", f"nets.{name}")
    assert brings(tmp_path, "from nets import *", name)


def test_an_import_that_is_not_spelled_is_not_asked(tmp_path: Path) -> None:
    assert not brings(tmp_path, "from nets import Net, layer\nimport nets as all_nets", "other = 1")


def test_what_is_many_calls_away_is_left_to_the_usual_runs(tmp_path: Path) -> None:
    assert not brings(tmp_path, "from nets import far_away", "far_away")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def own(x):\n    return walk_it(x)\n", "own"),
        ("def own(x):\n    x.requires_grad_()\n", "own"),
        ("from nets import Net\nclass Own(Net):\n    pass\n", "Own"),
        ("from nets import built\nmodel = built()\n", "model"),
        ("class Own:\n    def __init__(self):\n        self.net = nn.Linear(1, 1)\n", "Own"),
        ("class Own:\n    def fit(self, loss):\n        loss.backward()\n", "other.fit"),
        ("def own(x):\n    x.requires_grad = True\n", "own"),
        ("def own():\n    return torch.ones(1, requires_grad=True)\n", "own"),
        ("def own(make=built):\n    make()\ndef built():\n    return nn.Linear(1, 1)\n", "own"),
        (
            "def own():\n    def inner():\n        return built()\n    return inner\ndef built():\n    return nn.Linear(1, 1)\n",
            "own",
        ),
        ("def own():\n    global built\n    built = built()\ndef built():\n    return nn.Linear(1, 1)\n", "own"),
    ],
)
def test_what_leads_to_a_graph_in_the_file_brings_one(tmp_path: Path, text: str, word: str) -> None:
    assert brings(tmp_path, text, word)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("own = 3\n", "own"),
        ("def own(x: nn.Module) -> nn.Module:\n    return x\n", "own"),
        ("class Own:\n    x: nn.Module\n", "Own"),
    ],
)
def test_annotations_bring_nothing(tmp_path: Path, text: str, word: str) -> None:
    assert not brings(tmp_path, text, word)


@pytest.mark.parametrize(
    "text",
    [
        "def own(x):\n    return x.requires_grad\n",
        "def own(x):\n    return torch.ones(1, requires_grad=False)\n",
        "def own(x):\n    return nn.functional.relu(x)\n",
        "def own(x):\n    return eval(x)\n",
        "def own(x):\n    return step(x)\n",
    ],
)
def test_what_only_asks_or_computes_brings_nothing(tmp_path: Path, text: str) -> None:
    assert not brings(tmp_path, text, "own")


@pytest.mark.parametrize(
    "text",
    [
        "def own(built):\n    return built\n",
        "def own():\n    built = 1\n    return built\n",
        "class Kept:\n    def kept(self):\n        nn.Linear(1, 1)\ndef own(x):\n    return kept(x)\n",
    ],
)
def test_a_variable_is_not_what_is_called_like_it_elsewhere(tmp_path: Path, text: str) -> None:
    assert not brings(tmp_path, text + "def built():\n    return nn.Linear(1, 1)\n", "own")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from torch.nn import Linear", "Linear"),
        ("from torch.nn.modules.linear import Linear as Layer", "Layer"),
        ("from torch import nn as layers", "layers.Linear"),
        ("import torch.nn as layers", "layers.Linear"),
        ("import torch.nn", "torch.nn.Linear"),
        ("from torchvision import models", "models.resnet18"),
        ("import torchvision", "torchvision.models.resnet18"),
        ("from transformers import BertModel", "BertModel"),
    ],
)
def test_a_layer_is_known_by_where_it_is_imported_from(tmp_path: Path, line: str, name: str) -> None:
    assert brings(tmp_path, line, name)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from torch.nn import functional as F, init", "F.relu, init"),
        ("import torch.nn.functional as F", "F"),
        ("from torch.nn.utils import clip_grad_norm_", "clip_grad_norm_"),
        ("from layers.nn import Linear", "Linear"),
        ("from transformers import BertTokenizer", "BertTokenizer"),
    ],
)
def test_and_what_is_given_tensors_is_none(tmp_path: Path, line: str, name: str) -> None:
    assert not brings(tmp_path, line, name)


def test_a_layer_brings_a_graph_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("from torch.nn import Linear as Layer\n\ndef made(n):\n    return Layer(n, 1)\n")
    assert brings(tmp_path, "from parts import made", "made")


@pytest.mark.parametrize(
    ("text", "walks"),
    [
        ("def f(loss):\n    loss.backward()\n", True),
        ("def f(optimizer):\n    optimizer.zero_grad()\n", True),
        ("class F:\n    def backward(self, grad): return grad\n", True),
        ("def f(x):\n    return x.grad\n", False),
        ("from torch.autograd import grad as g\ndef f(x): return g(x, x)\n", True),
        ("def f(grad):\n    return grad\n", False),
    ],
)
def test_a_file_is_quiet_where_nothing_goes_backward(tmp_path: Path, text: str, walks: bool) -> None:
    document = Document(str(tmp_path / "run.py"), text)
    assert Prospects(document, (tmp_path,), NO_CONVENTIONS).walks is walks


def test_what_reads_out_of_a_graph_is_run(tmp_path: Path) -> None:
    text = "import torch\nclass A:\n    def __init__(self): self.net = torch.nn.Linear(1, 1)\n"
    text += "    def rate(self, x): return self.net(x).item()\n    def size(self, x): return len(x)\n"
    text += "def train(loss): loss.backward()\ndef plain(x): return x.item()\n"
    document = Document(str(tmp_path / "run.py"), text)
    prospects = Prospects(document, (tmp_path,), NO_CONVENTIONS)
    found = {each.name for each in ast.walk(document.tree) if isinstance(each, ast.FunctionDef) and prospects.is_relevant(each)}
    assert found == {"rate", "train"}
