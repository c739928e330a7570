"""What a trainer walks: the loss that a training step, or `compute_loss`, gives, however it calls its forward pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import analyse

LIGHTNING = """
import {library} as pl
import torch
import torch.nn as nn
import torch.nn.functional as F

class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.running = 0.0

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss({forward}, y)
        self.running += {added}
        return {given}

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
"""
TRANSFORMERS = """
import torch
{imported}

class Own({base}):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.total = 0.0

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = {loss}
        self.total += {added}
        return (loss, outputs) if return_outputs else loss
"""
CALLS = ("self(x)", "self.forward(x)", "self.net(x)")
LOSSES = ("outputs.loss", "torch.nn.functional.cross_entropy(outputs.logits, inputs['labels'])")
BASES = {"from transformers import Trainer": "Trainer", "import transformers as tf": "tf.Seq2SeqTrainer"}


def found(program: str) -> list[tuple[str, Applicability | None]]:
    return [(each.code, each.fix.applicability if each.fix else None) for each in analyse(Path("page.py"), program).findings]


@pytest.mark.parametrize("forward", CALLS)
@pytest.mark.parametrize("library", ["pytorch_lightning", "lightning.pytorch"])
@pytest.mark.parametrize("given", ["loss", "{'loss': loss}"])
def test_a_total_of_a_training_step_is_told_however_it_calls_its_forward_pass(forward: str, library: str, given: str) -> None:
    program = LIGHTNING.format(library=library, forward=forward, given=given, added="loss")
    assert found(program) == [("GF101", Applicability.SAFE)]
    assert found(LIGHTNING.format(library=library, forward=forward, given=given, added="loss.item()")) == []


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("imported", "base"), BASES.items())
def test_a_total_of_the_losses_that_a_trainer_is_given_is_told(loss: str, imported: str, base: str) -> None:
    assert [code for code, _ in found(TRANSFORMERS.format(loss=loss, imported=imported, base=base, added="loss"))] == ["GF101"]
    assert found(TRANSFORMERS.format(loss=loss, imported=imported, base=base, added="loss.detach()")) == []


def test_an_object_that_calls_itself_enters_what_an_heir_defines() -> None:
    program = LIGHTNING.format(library="pytorch_lightning", forward="self(x)", given="loss", added="loss")
    heir = "\n\nclass Other(Lit):\n    def forward(self, x):\n        return self.net(x) + self.running\n"
    assert ("GF101", Applicability.SAFE) not in found(program + heir)
