"""What an error rests on: where a loop may have no iteration, a context may not record, or a layer may be frozen, it is a warning."""

from __future__ import annotations

import pytest

from graphfix.model import Applicability, Severity
from tests.obligations.programs import only

LEVEL = """
import argparse, contextlib, json
import torch
from torch import nn

class Level(nn.Module):
    def __init__(self, layers, guard):
        super().__init__()
        self.slope, self.guard = nn.Parameter(torch.zeros(2)), guard
        self.drop = nn.Dropout(0.5)
        self.blocks = nn.ModuleList({blocks})

    def forward(self, level, x):
        level = level + self.slope + x
        {body}
        return level

{before}
model = Level({layers}, {guard})
{after}
opt = torch.optim.SGD(model.parameters(), lr=0.1)
level = torch.zeros(2)
for t in range(10):
    level = model(level, torch.full((2,), 0.1))
    loss = (level - t).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
BLOCKS = "for block in self.blocks:\n            level = level + torch.tanh(block(level))"
GUARDED = "with self.guard():\n            z = torch.tanh(self.blocks[0](x))\n        level = level + z"


def program(
    blocks: str = "nn.Linear(2, 2) for _ in range(layers)", body: str = BLOCKS, before: str = "", layers: str = "2", guard: str = "None", after: str = ""
) -> str:
    return LEVEL.format(blocks=blocks, body=body, before=before, layers=layers, guard=guard, after=after)


OPTION = "parser = argparse.ArgumentParser()\nparser.add_argument('--layers', type=int, default={})\nargs = parser.parse_args()"
SETTING = "settings = json.load(open('settings.json'))"
GUARD = "guards = {'frozen': torch.no_grad, 'tuned': contextlib.nullcontext}"
DOUBTED = {
    "layers by an option that may be none": program(before=OPTION.format(0), layers="args.layers"),
    "layers by a setting": program(before=SETTING, layers="settings['layers']"),
    "layers by the text of a setting": program(before=SETTING, layers="int(settings['layers'])"),
    "no less than no layers": program(before=SETTING, layers="max(0, settings['layers'])"),
    "layers by the item of a tensor": program(before="count = torch.tensor(2)", layers="count.item()"),
    "a loop over a setting": program(
        blocks="[nn.Linear(2, 2)]", body="for _ in range(self.guard):\n            level = level + torch.tanh(level)", before=SETTING, guard="settings['times']"
    ),
    "a context by a setting": program(body=GUARDED, before=f"{SETTING}\n{GUARD}", guard="guards[settings['trunk']]"),
    "a context from elsewhere": program(body=GUARDED, before="from elsewhere import guard", guard="guard"),
    "a layer by a name that is frozen": program(
        blocks="[nn.Linear(2, 2)]", body="level = level + torch.tanh(self.blocks[0](x))", before=SETTING,
        after="model.get_submodule(settings['frozen']).requires_grad_(False)",
    ),
}  # fmt: skip
SURE = {
    "layers by a number": program(),
    "layers by an option": program(before=OPTION.format(2), layers="args.layers"),
    "layers by a number that is made whole": program(layers="int(2)"),
    "layers in a list": program(blocks="[nn.Linear(2, 2), nn.Linear(2, 2)]"),
    "as many times as there is data": program(
        blocks="[nn.Linear(2, 2)]", body="for i in range(x.size(0)):\n            level = level + torch.tanh(level) * x[i]"
    ),
    "a context that is known": program(body=GUARDED, guard="contextlib.nullcontext"),
    "a product outside of the loop": program(before=SETTING, layers="settings['layers']", body="level = level * self.slope\n        " + BLOCKS),
    "something else is frozen": program(before="from elsewhere import teacher", after="teacher.encoder.requires_grad_(False)"),
    "another layer is frozen": program(
        before=SETTING, after="other = nn.Sequential(nn.Linear(2, 2))\nother.get_submodule(settings['frozen']).requires_grad_(False)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBTED)
def test_an_error_with_an_open_premise_is_a_warning_with_an_unsafe_fix(case: str) -> None:
    finding = only(DOUBTED[case])
    assert finding.code == "GF201" and finding.fix is not None
    assert (finding.severity, finding.fix.applicability) == (Severity.WARNING, Applicability.UNSAFE)


@pytest.mark.parametrize("case", SURE)
def test_an_error_with_known_premises_stays_one(case: str) -> None:
    finding = only(SURE[case])
    assert finding.code == "GF201" and finding.fix is not None
    assert (finding.severity, finding.fix.applicability) == (Severity.ERROR, Applicability.SAFE)


def test_dropout_that_evaluates_saves_nothing() -> None:
    dropped = program(body="level = self.drop(level)", after="model.eval()")
    from tests.obligations.programs import found

    assert [each.code for each in found(dropped)] == []
    assert only(program(body="level = self.drop(level)")).code == "GF201"
