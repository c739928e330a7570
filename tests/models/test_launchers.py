"""Objects that launch training: what they go backward through is a loss, and what they wrap is what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

TRAINING = """
import torch
{imports}
from elsewhere import make, loader

{setup}
total = 0
for batch in loader:
    loss = model(batch)
    total += loss
    {walk}
    opt.step()
    opt.zero_grad()
print(total)
"""
LAUNCHERS = {
    "accelerate": (
        "from accelerate import Accelerator",
        "a = Accelerator()\nmodel, opt = a.prepare(make(), make())",
        "a.backward(loss)",
    ),
    "fabric": ("from lightning import Fabric", "f = Fabric(devices=2)\nmodel, opt = f.setup(make(), make())", "f.backward(loss)"),
    "deepspeed": ("import deepspeed", "model, opt, _, _ = deepspeed.initialize(model=make())", "model.backward(loss)"),
}


@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS)
def test_what_it_goes_backward_through_is_a_loss(launcher: tuple[str, str, str]) -> None:
    imports, setup, walk = launcher
    (finding,) = findings_of(Path("train.py"), TRAINING.format(imports=imports, setup=setup, walk=walk))
    assert finding.code == "GF101"
    assert (
        finding.fix is not None and finding.fix.title == "store `loss.detach()`"
    )  # settings elsewhere may halve the precision


def test_what_any_object_goes_backward_through_may_be_anything() -> None:
    text = TRAINING.format(imports="", setup="engine, model, opt = make(), make(), make()", walk="engine.backward(loss)")
    assert list(findings_of(Path("train.py"), text)) == []


WRAPPED = """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = {wrap}
opt = accelerator.prepare(torch.optim.SGD(model.parameters(), 0.1))
model(torch.ones(4)).sum().backward()
model.eval()
for _ in range(9):
    print(model(torch.ones(4)).sum().item())
"""


@pytest.mark.parametrize(
    "wrap",
    ["accelerator.prepare(torch.nn.Linear(4, 1))", "accelerator.unwrap_model(accelerator.prepare(torch.nn.Linear(4, 1)))"],
)
def test_a_module_is_the_same_when_it_is_given_back(wrap: str) -> None:
    assert [finding.code for finding in findings_of(Path("train.py"), WRAPPED.format(wrap=wrap))] == ["GF103"]


COLLECTED = """
import torch
from torch import nn
from accelerate import Accelerator

class Bank(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.kept = nn.Linear(4, 4), []

    def forward(self, x):
        self.kept.append(self.linear(x))
        return sum(self.kept)

accelerator = Accelerator(gradient_accumulation_steps=2)
model = Bank()
opt = torch.optim.SGD(model.parameters(), 0.1)
model, opt = accelerator.prepare(model, opt)
for x in torch.randn(6, 3, 4):
    with accelerator.{context}(model):
        accelerator.backward(model(x).mean())
        opt.step()
        opt.zero_grad()
    if accelerator.sync_gradients:
        model.kept.clear()
"""


@pytest.mark.parametrize("context", ["accumulate", "no_sync"])
def test_a_context_in_which_gradients_are_collected_keeps_nothing_of_the_model(context: str) -> None:
    assert {finding.code for finding in findings_of(Path("train.py"), COLLECTED.format(context=context))} == {"GF102"}
