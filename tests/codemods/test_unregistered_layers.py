"""GF315: layers in a plain list, which no optimizer gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Severity
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.head = nn.Linear(4, 4)
        {made}
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

given = [nn.Linear(4, 4)]
net = Net(given)
{optimizer}
for x in torch.ones(3, 2, 4):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
OPTIMIZER = "opt = torch.optim.SGD(net.parameters(), 0.1)"
PLAIN = "self.layers = [nn.Linear(4, 4) for _ in range(2)]"
LEFT_ALONE = {
    "a ModuleList": ("self.layers = nn.ModuleList([nn.Linear(4, 4)])", OPTIMIZER),
    "a ModuleList of the list, later": (f"{PLAIN}\n        self.layers = nn.ModuleList(self.layers)", OPTIMIZER),
    "registered under names": (
        f"{PLAIN}\n        for i, layer in enumerate(self.layers):\n            self.add_module(str(i), layer)",
        OPTIMIZER,
    ),
    "registered by setattr": (
        f"{PLAIN}\n        for i, layer in enumerate(self.layers):\n            setattr(self, f'layer{{i}}', layer)",
        OPTIMIZER,
    ),
    "registered by setattr where each is made": (
        "self.layers = []\n        for i in range(2):\n            self.layers.append(nn.Linear(4, 4))\n"
        "            setattr(self, 'layer_{}'.format(i), self.layers[-1])",
        OPTIMIZER,
    ),
    "made of layers that setattr has registered": (
        "parts = []\n        for i in range(2):\n            parts.append(nn.Linear(4, 4))\n            setattr(self, 'part' + str(i), parts[-1])\n"
        "        self.layers = []\n        for i in range(2):\n            self.layers.append(nn.Sequential(*parts[:i + 1]))",
        OPTIMIZER,
    ),
    "registered by __setattr__": (
        "self.layers = []\n        for i in range(2):\n            self.layers.append(nn.Linear(4, 4))\n"
        "            self.__setattr__('layer%d' % i, self.layers[-1])",
        OPTIMIZER,
    ),
    "given, not made": ("self.layers = given", OPTIMIZER),
    "given, in a list": ("self.layers = [given[0]]", OPTIMIZER),
    "frozen": (f"{PLAIN}\n        for layer in self.layers:\n            layer.requires_grad_(False)", OPTIMIZER),
    "an optimizer of their own": (
        PLAIN,
        f"{OPTIMIZER}\nother = torch.optim.SGD([p for layer in net.layers for p in layer.parameters()], 0.1)",
    ),
    "added later": (
        PLAIN,
        f'{OPTIMIZER}\nfor layer in net.layers:\n    opt.add_param_group({{"params": list(layer.parameters())}})',
    ),
}
# how the layers are made, and how after the repair
TOLD = {
    "a comprehension": (PLAIN, "self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])"),
    "a list": ("self.layers = [nn.Linear(4, 4), nn.Tanh()]", "self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])"),
    "appended": ("self.layers = []\n        self.layers.append(nn.Linear(4, 4))", "self.layers = nn.ModuleList()\n"),
}


@pytest.mark.parametrize(("made", "optimizer"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(made: str, optimizer: str) -> None:
    program = PROGRAM.format(made=made, optimizer=optimizer)
    exec(compile(program, "train.py", "exec"), {})
    assert "GF315" not in {each.code for each in findings_of(Path("train.py"), program)}


@pytest.mark.parametrize(("made", "repaired"), TOLD.values(), ids=TOLD)
def test_what_is_told(made: str, repaired: str) -> None:
    program = PROGRAM.format(made=made, optimizer=OPTIMIZER)
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF315")
    assert finding.severity is Severity.WARNING
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    text = apply_fixes(program, [finding.fix]).text
    assert repaired in text
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(compile(program, "train.py", "exec"), before)
    exec(compile(text, "train.py", "exec"), after)
    count = [len(list(names["net"].parameters())) for names in (before, after)]  # type: ignore[attr-defined]
    assert count[0] < count[1]


@pytest.mark.parametrize(
    "given", ["net.layers", "[layer.weight for layer in net.layers]", "[p for l in net.layers for p in l.parameters()]"]
)
def test_layers_that_code_out_of_sight_may_train_are_left_alone(given: str) -> None:
    program = PROGRAM.format(made=PLAIN, optimizer=f"from elsewhere import Fancy\nother = Fancy({given})\n{OPTIMIZER}")
    assert "GF315" not in {each.code for each in findings_of(Path("train.py"), program)}


def test_layers_that_are_stepped_by_hand_are_left_alone() -> None:
    step = "    for layer in net.layers:\n        for p in layer.parameters():\n            p.data -= 0.1 * p.grad\n"
    program = PROGRAM.format(made=PLAIN, optimizer=OPTIMIZER) + step
    exec(compile(program, "train.py", "exec"), {})
    assert "GF315" not in {each.code for each in findings_of(Path("train.py"), program)}
