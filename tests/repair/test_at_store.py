"""State of an object whose loop is out of sight: it is detached where it is stored, if the iteration needs no graph through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Fix
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

torch = pytest.importorskip("torch")

TRAINER = """\
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.cell = nn.{cell}(3, 3)
        self.optimizer = torch.optim.SGD(self.cell.parameters(), 0.1)
        self.state = {start}

    def step(self, x):
        {step}
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
"""
GRU = {"cell": "GRUCell", "start": "torch.zeros(1, 3)"}
STORES = {
    "a name": (GRU, "h = self.cell(x, self.state)", "self.state = h", "loss = h.mean()", "self.state = h.detach()"),
    "a call": (
        GRU, "h = self.cell(x, self.state)", "self.state = torch.tanh(h)", "loss = h.mean()", "self.state = torch.tanh(h).detach()",
    ),
    "a tuple": (
        {"cell": "LSTM", "start": "None"}, "x = x", "h, self.state = self.cell(x, self.state)", "loss = h.mean()",
        "h, self.state = self.cell(x, self.state)\n        self.state = tuple(s.detach() for s in self.state)",
    ),
}  # fmt: skip
IN_THE_ITERATION = "loss = 0\n        for _ in range(2):\n            self.state = self.cell(x, self.state)\n            loss = loss + self.state.mean()"
LIGHTNING = """\
import lightning as L
import torch
from torch import nn


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.hidden = None

    def training_step(self, batch, batch_idx):
        x, y = batch
        h = self.cell(x, self.hidden)
        self.hidden = h
        return (h - y).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""


def run(text: str) -> list[float]:
    """The losses of three steps, in a loop that the analysis does not see."""
    names: dict[str, type] = {}
    torch.manual_seed(0)
    exec(compile(text, "trainer.py", "exec"), names)  # type: ignore[arg-type]
    trainer = names["Trainer"]()
    return [trainer.step(torch.ones(1, 3)) for _ in range(3)]


def repaired(folder: Path, text: str) -> str:
    path = folder / "trainer.py"
    path.write_text(text)
    return examine(path, Job((folder,), Wanted(("GF202",), unsafe=True), repair=True)).after.decode()


@pytest.mark.parametrize(("kind", "before", "store", "behind", "wanted"), STORES.values(), ids=STORES)
def test_the_state_is_detached_where_it_is_stored(
    tmp_path: Path, kind: dict[str, str], before: str, store: str, behind: str, wanted: str
) -> None:
    text = TRAINER.format(**kind, step="\n        ".join((before, store, behind)))
    with pytest.raises(RuntimeError, match="second time|inplace operation"):
        run(text)
    fixed = repaired(tmp_path, text)
    assert fixed == text.replace(store, wanted)
    assert len(run(fixed)) == 3


def test_state_through_which_the_same_iteration_goes_backward_is_detached_behind_that(tmp_path: Path) -> None:
    text = TRAINER.format(**GRU, step=IN_THE_ITERATION)
    with pytest.raises(RuntimeError, match="second time|inplace operation"):
        run(text)
    (finding,) = findings_of(tmp_path / "trainer.py", text)
    assert finding.code == "GF202" and isinstance(finding.fix, Fix)
    made = repaired(tmp_path, text)
    assert "        loss.backward()\n        self.state = self.state.detach()\n" in made
    assert len(run(made)) == 3


def test_the_state_of_a_lightning_module(tmp_path: Path) -> None:
    assert repaired(tmp_path, LIGHTNING) == LIGHTNING.replace("self.hidden = h\n", "self.hidden = h.detach()\n")
