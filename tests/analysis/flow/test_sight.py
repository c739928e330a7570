"""What names mean in the files in sight: as scopes, imports and assignments have it, and not as they are spelled."""

from __future__ import annotations

import ast

import pytest

from graphfix.analysis.flow.sight import Sight
from graphfix.source.document import Document


def sight_of(text: str, **others: str) -> Sight:
    documents = {name: Document(f"{name}.py", content, name) for name, content in others.items()}
    sight = Sight(lambda name, importing: documents.get(name.lstrip(".")))
    sight.look_at(Document("train.py", text))
    return sight


def called(text: str, **others: str) -> str:
    """The library's function that the last call of a text means; nothing where it is not known to be one."""
    sight = sight_of(text, **others)
    return [dotted for call, dotted in sight.calls.items() if getattr(call.func, "attr", "") or getattr(call.func, "id", "")][-1]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch.ones(1)", "torch.ones"),
        ("import torch.nn.functional as F\nF.relu(x)", "torch.nn.functional.relu"),
        ("from torch import ones as made\nmade(1)", "torch.ones"),
        ("import torch\nTensor = torch.FloatTensor\nTensor(1)", "torch.FloatTensor"),
        ("import torch\nTensor = torch.cuda.FloatTensor if x else torch.FloatTensor\nTensor(1)", "torch.cuda.FloatTensor"),
        ("try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle\npickle.dumps(x)", "pickle.dumps"),
        ("from torch import *\nones(1)", "torch.ones"),
        ("from common import *\ntorch.ones(1)", "torch.ones"),
        ("def f(y):\n    import torch\n    torch.ones(y)", "torch.ones"),
        ("import torch\ndef f(torch): pass\ntorch.ones(1)", "torch.ones"),
    ],
)
def test_a_name_means_a_library(text: str, name: str) -> None:
    assert called(text + "\n", common="import torch\n") == name


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch = load()\ntorch.ones(1)",
        "import torch\ndef f(torch):\n    torch.ones(1)",
        "import torch\nmake = torch.ones\nmake = other\nmake(1)",
        "import torch\nmake = torch.ones if x else torch.cos\nmake(1)",
        "from .a import ones\nones(1)",
        "from common import made\nmade(1)",
    ],
)
def test_a_name_that_may_mean_something_else_is_none(text: str) -> None:
    assert not called(text + "\n", common="def made(x): return x\n")


def test_a_file_in_a_folder_that_is_no_package_is_in_sight() -> None:
    sight = sight_of("import lib.steps\nlib.steps.walk(1)\n", **{"lib.steps": "def walk(loss): loss.backward()\n"})
    assert len(sight.documents) == 2
    (read,) = [node for node in ast.walk(sight.program.main.tree) if isinstance(node, ast.Attribute) and node.attr == "walk"]
    cell = sight.shared(read)
    assert cell is not None and cell.name == "walk"


def test_what_is_imported_in_a_function_is_in_sight() -> None:
    sight = sight_of(
        "def f():\n    from steps import walk\n    walk(1)\n", steps="from more import deep\n", more="def deep(): pass\n"
    )
    assert [document.path for document in sight.documents.values()] == ["train.py", "steps.py", "more.py"]
