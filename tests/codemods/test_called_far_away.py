"""GF103: methods are called by files that import nothing of their class, and what matters of a call lies many files away."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

DECODER = """
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def sample_text(self, z):
        self.eval()
        words = []
        for _ in range(9):
            z = self.cell(z, z)
            words.append(z.argmax(-1).tolist())
        return words
"""
BETWEEN = {
    "a model that is given it, and one script": {
        "model.py": """
class Model:
    def __init__(self, decoder):
        self.decoder = decoder

    def sample(self, z):
        return self.decoder.sample_text(z)
""",
        "main.py": """
import torch
from parts import Decoder
from model import Model

def show(model):
    print(model.sample(torch.zeros(2, 4)))

def main():
    model = Model(Decoder())
    {context}:
        show(model)

main()
""",
    },
    "a function that is given it, by a script": {
        "model.py": """
def sample(decoder, z):
    return [text for text in decoder.sample_text(z)]
""",
        "main.py": """
import torch
from parts import Decoder
import model

{context}:
    print(model.sample(Decoder(), torch.zeros(2, 4)))
""",
    },
}


def told(folder: Path, files: dict[str, str], name: str) -> set[str]:
    """The faults of the file `name`."""
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    return {finding.code for finding in examine(folder / name, Job((folder,), Wanted())).findings}


@pytest.mark.parametrize(("context", "codes"), [("with torch.no_grad()", set()), ("if True", {"GF103"})])
@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_a_method_called_by_who_imports_nothing_of_its_class(
    tmp_path: Path, between: dict[str, str], context: str, codes: set[str]
) -> None:
    package = {"parts/decoder.py": DECODER, "parts/__init__.py": "from .decoder import Decoder\n"}
    files = {name: text.format(context=context) for name, text in between.items()}
    assert told(tmp_path, {**package, **files}, "parts/decoder.py") == codes


BOTH_MODES = """
import torch

def step(model, batch, target, training):
    if training:
        model.train()
    else:
        model.eval()
    loss = (model(batch) - target).pow(2).mean()
    if training:
        loss.backward()
    return loss.item()

def iterate(model, optimizer, batches, training):
    total = 0.0
    for batch, target in batches:
        optimizer.zero_grad()
        total += step(model, batch, target, training)
        if training:
            optimizer.step()
    return total
"""
CALLED = """
import torch
from trainer import iterate

def run(model, optimizer, batches):
    iterate(model, optimizer, batches, True)
    {context}:
        print(iterate(model, optimizer, batches, False))
"""


@pytest.mark.parametrize(("context", "codes"), [("with torch.no_grad()", set()), ("if True", {"GF103"})])
def test_a_step_of_both_modes_whose_evaluation_records_nothing(tmp_path: Path, context: str, codes: set[str]) -> None:
    assert told(tmp_path, {"trainer.py": BOTH_MODES, "main.py": CALLED.format(context=context)}, "trainer.py") == codes
