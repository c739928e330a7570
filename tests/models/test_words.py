"""What walks a graph is spelled once: what the model walks is entered, and gets past the filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.models.words import LAUNCHERS, WALKS, spells_walk
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
    assert is_relevant(f"self.{word}(loss)") and spells_walk(f"self.{word}(loss)")
