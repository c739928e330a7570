"""By which words a graph may come into code: not by everything that is imported, but by all that makes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.bringing import ImportedWords, bringing_words, layers
from graphfix.analysis.call_graph import CallGraph
from graphfix.source.document import Document
from graphfix.source.guard import parse

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


def brought(tmp_path: Path, text: str) -> frozenset[str]:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "plain.py").write_text("def made(x):\n    return x + 1\n")
    document = Document(str(tmp_path / "run.py"), text)
    imported = ImportedWords(document.imports, Path(document.path), (tmp_path,))
    return bringing_words(CallGraph(document.tree), frozenset(("walk_it",)), imported.words(imported.by_name))


@pytest.mark.parametrize("name", ["SIZE", "kinds", "Reader", "count", "is_net", "anything", "missing"])
def test_what_an_import_means_that_has_nothing_to_do_with_graphs_brings_none(tmp_path: Path, name: str) -> None:
    assert name not in brought(tmp_path, f"from nets import {name}\n")


def test_a_file_that_spells_nothing_of_graphs_brings_none(tmp_path: Path) -> None:
    assert brought(tmp_path, "from plain import made\nimport plain\n") == brought(tmp_path, "")


@pytest.mark.parametrize("name", ["layer", "Net", "Trainer", "built"])
def test_what_an_import_means_that_makes_a_graph_brings_it(tmp_path: Path, name: str) -> None:
    assert name in brought(tmp_path, f"from nets import {name}\n")
    assert "other" in brought(tmp_path, f"from nets import {name} as other\n")
    assert name in brought(tmp_path, "import nets\n")
    assert name in brought(tmp_path, "from nets import *\n")


def test_an_import_that_is_not_spelled_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    imported = ImportedWords(
        parse("from nets import Net, layer\nimport nets as all_nets\n").body, tmp_path / "run.py", (tmp_path,)
    )
    assert imported.words(["Net()", ".layer", "other"]) == {"Net", "layer"}
    assert "Trainer" in imported.words([":all_nets"])
    assert not imported.words([])


def test_what_is_many_calls_away_is_left_to_the_usual_runs(tmp_path: Path) -> None:
    assert "far_away" not in brought(tmp_path, "from nets import far_away\n")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def own(x):\n    return walk_it(x)\n", "own"),
        ("def own(x):\n    x.requires_grad_()\n", "own"),
        ("from nets import Net\nclass Own(Net):\n    pass\n", "Own"),
        ("from nets import built\nmodel = built()\n", "model"),
        ("class Own:\n    def __init__(self):\n        self.net = nn.Linear(1, 1)\n", "Own"),
        ("class Own:\n    def fit(self, loss):\n        loss.backward()\n", ".fit"),
        ("def own(x):\n    x.requires_grad = True\n", "own"),
        ("def own():\n    return torch.ones(1, requires_grad=True)\n", "own"),
        ("def own(make=built):\n    make()\ndef built():\n    return nn.Linear(1, 1)\n", "own"),
        (
            "def own():\n    def inner():\n        return built()\n    return inner\ndef built():\n    return nn.Linear(1, 1)\n",
            "own",
        ),
        ("def own(built=built):\n    return built()\ndef built():\n    return nn.Linear(1, 1)\n", "own"),
        ("def own():\n    global built\n    built = built()\ndef built():\n    return nn.Linear(1, 1)\n", "own"),
    ],
)
def test_what_leads_to_a_word_in_the_file_brings_a_graph(tmp_path: Path, text: str, word: str) -> None:
    assert word in brought(tmp_path, text)


@pytest.mark.parametrize(
    "text", ["own = 3\n", "def own(x: nn.Module) -> nn.Module:\n    return x\n", "class Own:\n    x: nn.Module\n"]
)
def test_annotations_bring_nothing(tmp_path: Path, text: str) -> None:
    assert brought(tmp_path, text).isdisjoint(("own", "Own", "x"))


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
    assert "own" not in brought(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "def own(built):\n    return built\n",
        "def own():\n    built = 1\n    return built\n",
        "class Kept:\n    def kept(self):\n        nn.Linear(1, 1)\ndef own(x):\n    return kept(x)\n",
    ],
)
def test_a_variable_is_not_what_is_called_like_it_elsewhere(tmp_path: Path, text: str) -> None:
    assert "own" not in brought(tmp_path, text + "def built():\n    return nn.Linear(1, 1)\n")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("from torch.nn import Linear", {"Linear"}),
        ("from torch.nn.modules.linear import Linear as Layer", {"Layer"}),
        ("from torch import nn as layers", {"layers"}),
        ("import torch.nn as layers", {"layers"}),
        ("import torch.nn", set()),
        ("from torch.nn import functional as F, init", set()),
        ("import torch.nn.functional as F", set()),
        ("from torch.nn.utils import clip_grad_norm_", set()),
        ("from layers.nn import Linear", set()),
    ],
)
def test_a_layer_is_known_by_where_it_is_imported_from(line: str, expected: set[str]) -> None:
    assert layers(parse(line).body) == expected


def test_a_layer_brings_a_graph_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("from torch.nn import Linear as Layer\n\ndef made(n):\n    return Layer(n, 1)\n")
    document = Document(str(tmp_path / "run.py"), "from parts import made\n")
    imported = ImportedWords(document.imports, Path(document.path), (tmp_path,))
    assert imported.words(["made"]) == {"made"}
