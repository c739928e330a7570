"""Reentrant checkpoints: what they run is trained only where an input needs a gradient."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn
from torch.utils.checkpoint import checkpoint

block, head, table = nn.Linear(4, 4), nn.Linear(4, 4), nn.Embedding(9, 4)
before = block.weight.detach().clone()
x, ids, y = torch.randn(8, 4), torch.randint(0, 9, (8,)), torch.randn(8, 4)
"""
TRAIN = """
opt = torch.optim.SGD([p for m in (block, head, table) for p in m.parameters() if p.requires_grad], 0.1)
for _ in range(3):
    loss = F.mse_loss(net(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
moved = not torch.equal(before, block.weight)
"""
UNTRAINED = {
    "images are the input": "def net():\n    h = checkpoint(block, x, use_reentrant=True)\n    return head(h)\n",
    "it is reentrant where nothing is said": "def net():\n    return head(checkpoint(block, x))\n",
    "by its full name": "def net():\n    return head(torch.utils.checkpoint.checkpoint(block, x, use_reentrant=True))\n",
    "behind a frozen embedding": "table.requires_grad_(False)\ndef net():\n    return head(checkpoint(block, table(ids), use_reentrant=True))\n",
    "two in a row": "def net():\n    h = x\n    for _ in range(2):\n        h = checkpoint(block, h, use_reentrant=True)\n    return head(h)\n",
    "a function around the layer": "def run(a, k):\n    return block(a).relu() * k\ndef net():\n    return head(checkpoint(run, x, 2.0, use_reentrant=True))\n",
    "a function without a name": "def net():\n    return head(checkpoint(lambda a: block(a), x, use_reentrant=True))\n",
    "a pair comes out": "def two(a):\n    return block(a), a\ndef net():\n    h, a = checkpoint(two, x, use_reentrant=True)\n    return head(h + a)\n",
    "the graph is in a list, where it does not look": "def run(items):\n    return block(items[0])\ndef net():\n"
    "    return head(checkpoint(run, [head(x)], use_reentrant=True)) + head(x)\n",
    "in a module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.saves_memory = block, True
    def inner(self, a):
        return self.body(a).tanh()
    def forward(self, a):
        if self.saves_memory and self.training:
            a = checkpoint(self.inner, a, use_reentrant=True)
        else:
            a = self.inner(a)
        return head(a)
model = Net()
def net():
    return model(x)
""",
}
TRAINED = {
    "it looks at parameters": "def net():\n    return head(checkpoint(block, x, use_reentrant=False))\n",
    "a trained embedding": "def net():\n    return head(checkpoint(block, table(ids), use_reentrant=True))\n",
    "an input that is told to": "x.requires_grad_()\ndef net():\n    return head(checkpoint(block, x, use_reentrant=True))\n",
    "a dummy": "dummy = torch.ones(1, requires_grad=True)\ndef run(a, _):\n    return block(a)\ndef net():\n"
    "    return head(checkpoint(run, x, dummy, use_reentrant=True))\n",
    "a later pass trains it": "def net():\n    return head(checkpoint(block, x, use_reentrant=True)) + block(x)\n",
    "a flag that is not known": "import sys\ndef net():\n    return head(checkpoint(block, x, use_reentrant=len(sys.argv) > 900))\n",
}
MEANT = {
    "what is frozen": "block.requires_grad_(False)\ndef net():\n    return head(checkpoint(block, x, use_reentrant=True))\n",
    "what no optimizer has": "frozen = nn.Linear(4, 4)\ndef net():\n    return head(checkpoint(frozen, x, use_reentrant=True)) + block(x)\n",
}


def told(program: str) -> list[Finding]:
    return [each for each in findings_of(Path("train.py"), HEAD + program + TRAIN) if not each.yields_to]


def moved(program: str) -> bool:
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "train.py", "exec"), names)
    return bool(names["moved"])


@pytest.mark.parametrize("program", UNTRAINED.values(), ids=UNTRAINED)
def test_a_checkpoint_without_an_input_that_needs_a_gradient_is_told(program: str) -> None:
    (finding,) = told(program)
    assert not moved(HEAD + program + TRAIN)
    assert finding.code == "GF316" and finding.message.endswith("trains none of its parameters")
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    assert moved(apply_fixes(HEAD + program + TRAIN, [finding.fix]).text)


@pytest.mark.parametrize("program", TRAINED.values(), ids=TRAINED)
def test_a_checkpoint_that_trains_what_it_runs_is_left_alone(program: str) -> None:
    assert moved(HEAD + program + TRAIN) and told(program) == []


@pytest.mark.parametrize("program", MEANT.values(), ids=MEANT)
def test_what_is_not_to_be_trained_is_left_alone(program: str) -> None:
    assert told(program) == []


def test_a_loss_without_a_graph_is_repaired_in_the_checkpoint() -> None:
    program = "head.requires_grad_(False)\ndef net():\n    return head(checkpoint(block, x, use_reentrant=True))\n"
    with pytest.raises(RuntimeError, match="does not require grad"):
        moved(HEAD + program + TRAIN)
    finding = next(each for each in told(program) if each.code == "GF310")
    assert "none of its inputs needs a gradient" in finding.story[0].message
    assert finding.fix is not None and moved(apply_fixes(HEAD + program + TRAIN, [finding.fix]).text)
