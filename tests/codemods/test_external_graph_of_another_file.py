"""A graph that another file of the project makes, once and before the loop whose every backward() walks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.run.engine import findings_of

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def table(self):
        return self.layer(torch.randn(3, 4)).tanh()

    def forward(self, x):
        return self.layer(x)

def features(net, x):
    return net(x).tanh()
"""

TRAINING = """
import torch

from model import Net, features

net, x = Net(), torch.randn(3, 4)
optimizer = torch.optim.Adam(net.parameters())
{before}
for step in range(4):
    {start}
    loss = (emb - torch.randn(3, 2)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def told(tmp_path: Path, before: str, start: str) -> list[Finding]:
    (tmp_path / "model.py").write_text(MODEL)
    code = TRAINING.format(before=before, start=start)
    return findings_of(tmp_path / "train.py", code, (tmp_path,))


@pytest.mark.parametrize("made", ["net.table()", "features(net, x)", "net(x).tanh()"])
def test_it_is_told_where_it_is_asked_for(tmp_path: Path, made: str) -> None:
    (finding,) = told(tmp_path, f"emb = {made}", "pass")
    assert finding.code == "GF203"
    assert "`emb`" in finding.message
    assert finding.span.start == TRAINING.format(before="", start="pass").index("\nfor step")
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.SAFE


@pytest.mark.parametrize(
    ("before", "start"),
    [
        ("pass", "emb = net.table()"),
        ("emb = net.table().detach()", "pass"),
        ("with torch.no_grad():\n    emb = net.table()", "pass"),
    ],
)
def test_what_each_iteration_makes_or_has_no_graph_is_left_alone(tmp_path: Path, before: str, start: str) -> None:
    assert "GF203" not in {finding.code for finding in told(tmp_path, before, start)}
