"""State that a module's forward pass hands on from step to step: it is part of what the pass gives, and ends with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

MODEL = """\
import torch
from torch import nn

class Core(nn.Module):
    def __init__(self):
        super().__init__()
        self.i2h = nn.Linear(4, 4)

    def forward(self, x, state):
        h = torch.tanh(self.i2h(x) + state)
        return h, (h * state).unsqueeze(0)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = Core()
        self.embed = nn.Embedding(10, 4)

    def forward(self, seq):
        return self.decode(seq)

    def decode(self, seq):
        {before}
        outputs = []
        for i in range(seq.size(1)):
            if i {stop} and seq[:, i - 1].sum() == 0:
                break
            output, {state} = self.core(self.embed(seq[:, i]), {state})
            outputs.append(output)
        return torch.cat([_.unsqueeze(1) for _ in outputs[1:]], 1)

model = Model()
"""
TRAINED = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randint(1, 10, (2, 5))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SHOWN = """\
for _ in range(3):
    print(model(torch.randint(1, 10, (2, 5))).pow(2).mean().item())
"""
NAME = {"before": "state = torch.zeros(4)", "state": "state"}
ATTRIBUTE = {"before": "pass", "state": "self.state"}


def codes(script: str, **parts: str) -> list[str]:
    text = MODEL.format(**parts).replace("self.embed =", "self.state = torch.zeros(4)\n        self.embed =") + script
    return [finding.code for finding in findings_of(Path("program.py"), text)]


@pytest.mark.parametrize(("script", "expected"), [(TRAINED, []), (SHOWN, ["GF103"])], ids=["trained", "shown"])
@pytest.mark.parametrize("stop", ["> 0", ">= 2"])
def test_what_a_variable_holds_is_left_alone(script: str, expected: list[str], stop: str) -> None:
    assert codes(script, stop=stop, **NAME) == expected


def test_what_an_attribute_holds_is_told() -> None:
    assert codes(SHOWN, stop=">= 2", **ATTRIBUTE) == ["GF202"]


def test_a_loop_of_the_script_is_told() -> None:
    script = "core, state = Core(), torch.zeros(4)\nfor _ in range(9):\n    output, state = core(torch.ones(4), state)\n    print(output.sum().item())\n"
    assert codes(script, stop=">= 2", **NAME) == ["GF201"]
