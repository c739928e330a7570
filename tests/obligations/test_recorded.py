"""A fix that rests on a backward pass which raises needs the graph to be recorded: nothing unknown freezes it or turns recording off."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

LEVEL = """
import json, sys
slope = nn.Parameter(torch.zeros(1))
chosen = torch.optim.SGD([slope], lr=1e-3)
{begin}
level = torch.zeros(1)
for t in range(6):
    level = level + slope + net(torch.randn(2, 3)).mean()
    error = (level - t).pow(2).mean()
    chosen.zero_grad()
    error.backward()
    chosen.step()
"""
RECORDED = {
    "nothing": "",
    "a constant": "net.requires_grad_(True)",
    "a hook that gives back nothing": "net.register_forward_hook(lambda module, inputs, output: kept.append(output.mean().item()))\nkept = []",
}
UNKNOWN = {
    "a flag of each parameter": "for p in net.parameters():\n    p.requires_grad = len(sys.argv) > 5",
    "a flag of a module": "net.requires_grad_(json.loads('false'))",
    "an attribute that is set by its name": "for p in net.parameters():\n    setattr(p, 'requires_grad', json.loads('false'))",
    "a hook that replaces what a module gives": "net.register_forward_hook(lambda module, inputs, output: output.detach())",
    "a hook that gives back a number": "net.register_forward_hook(lambda module, inputs, output: output.mean().item())",
    "a hook that gives back a constant": "net.register_forward_hook(lambda module, inputs, output: 0)",
    "a hook of which nothing is known": "net.register_forward_hook(json.loads('0'))",
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDED)
def test_state_whose_graph_is_surely_recorded(case: str) -> None:
    assert [code for code, _ in safe_titles(SETUP + LEVEL.format(begin=RECORDED[case]))] == ["GF201"]


@pytest.mark.parametrize("case", UNKNOWN)
def test_state_that_may_have_no_graph(case: str) -> None:
    assert safe_titles(SETUP + LEVEL.format(begin=UNKNOWN[case])) == []
