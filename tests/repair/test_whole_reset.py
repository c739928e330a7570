"""A reset that leaves out nested modules goes through all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

NEURONS = """
import torch
from torch import nn

class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = torch.zeros(1)

    def forward(self, x):
        self.mem = 0.9 * self.mem + x
        return self.mem.tanh()

    def clear(self):
        self.mem = torch.zeros(1)

def reset(net):
    for layer in {items}:
        {inside}

net = nn.Sequential(nn.Sequential(nn.Linear(3, 4), Leaky()), nn.Sequential(nn.Linear(4, 2), Leaky()))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(6, 2, 3):
    reset(net)
    opt.zero_grad()
    net(x).mean().backward()
    opt.step()
"""
TESTED = "if isinstance(layer, Leaky):\n            {what}"


@pytest.mark.parametrize("what", ["layer.clear()", "layer.mem = torch.zeros(1)"])
@pytest.mark.parametrize("items", ["net._modules.values()", "net.children()"])
def test_it_is_offered_in_place_of_a_detach(items: str, what: str) -> None:
    text = NEURONS.format(items=items, inside=TESTED.format(what=what))
    (finding,) = findings_of(Path("train.py"), text)
    assert finding.code == "GF202" and finding.fix is not None
    assert (finding.fix.title, finding.fix.applicability) == ("reset all modules: `net.modules()`", Applicability.UNSAFE)
    (operation,) = finding.fix.operations
    span = operation.span  # type: ignore[union-attr]
    repaired = text.encode()[: span.start] + operation.text.encode() + text.encode()[span.end :]  # type: ignore[union-attr]
    assert findings_of(Path("train.py"), repaired.decode()) == []


@pytest.mark.parametrize(
    ("items", "inside"),
    [
        ("net.children()", "layer.clear()"),  # not each module has it
        ("net.children()", TESTED.format(what="layer.train()")),
        ("[net[0]]", TESTED.format(what="layer.clear()")),
    ],
)
def test_a_loop_that_resets_nothing_stays(items: str, inside: str) -> None:
    for finding in findings_of(Path("train.py"), NEURONS.format(items=items, inside=inside)):
        assert finding.fix is None or "reset" not in finding.fix.title
