"""What walks a graph is spelled once: what the model walks is entered, and gets past the filter."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import pytest

from graphfix.models.words import LAUNCHERS, WALKS, spelled_by_code
from graphfix.run.engine import analyse, is_relevant

KEEPER = """\
import lightning.pytorch as pl
import torch


class Keeper(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
        self.history = []

    def on_batch(self, batch, optimizer):
        loss = self.net(batch).pow(2).mean()
        self.{word}(loss, optimizer)
        self.history.append(loss)
"""


@pytest.mark.parametrize("word", sorted(LAUNCHERS))
def test_a_method_that_only_launches_a_walk_is_entered(word: str) -> None:
    found = analyse(Path("keeper.py"), KEEPER.format(word=word)).findings
    assert [finding.code for finding in found] == ["GF102"]


@pytest.mark.parametrize("word", sorted(WALKS))
def test_no_walk_is_held_back_by_the_filter(word: str) -> None:
    assert is_relevant(f"self.{word}(loss)")


@pytest.mark.parametrize(
    "code",
    [
        "getattr(loss, 'backward')()",
        'print(f"{loss.backward()} {{")',
        "print(rf'\\n{loss.backward()}')",
        "text = '\\''; loss.backward()  # it's",
        "text = 'an open text\nloss.backward()",
        "text = '''an open text\nloss.backward()",
        'text = """it\'s \\""" ""\\""""; loss.backward()',
        "# torch\nx = loss.item()",
        "hook = 'training_step'",
        "import torch\nx = torch.data",
        "import torch\nx = loader.torch.utils.batch.data",
    ],
)
def test_what_code_may_do_gets_past_the_filter(code: str) -> None:
    assert spelled_by_code(code.encode())


@pytest.mark.parametrize(
    "code",
    [
        "x = 1  # loss.backward()",
        "'loss.backward() \\' and more'",
        "def f():\n    r'''Calls loss.backward().\n\n    It's so.'''",
        '"""The .data of a "torch" tensor\nand its .item()."""\nimport torch',
        "raise ValueError('no backward pass')  # loss.backward()",
    ],
)
def test_comments_and_texts_do_not(code: str) -> None:
    assert not spelled_by_code(code.encode()) and not is_relevant(code)


@pytest.mark.parametrize(
    "code", ["from torch.utils.data import Dataset", "import torch\nloader = torch.utils.data.DataLoader(x)"]
)
def test_the_module_that_loads_data_reads_no_data(code: str) -> None:
    assert not spelled_by_code(code.encode())


@pytest.mark.parametrize("part", ['"x', "\\n", "x"])
def test_a_long_text_takes_no_memory_for_each_character(part: str) -> None:
    assert_little_memory(b'import torch\nx = """' + (part * 50 + "\n").encode() * 4_000 + b'"""\nloss.backward()\n')


@pytest.mark.skipif(sys.version_info < (3, 11), reason="patterns that give nothing back came with Python 3.11")
@pytest.mark.parametrize("quote", [b"'", b'"'])
def test_nor_does_a_long_line_for_each_escape(quote: bytes) -> None:
    assert_little_memory(b"import torch\nx = " + quote + b"\\n" * 200_000 + quote + b"\nloss.backward()\n")


def assert_little_memory(code: bytes) -> None:
    tracemalloc.start()
    try:
        assert spelled_by_code(code)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(code)
    finally:
        tracemalloc.stop()
