"""Data that is part of a graph: every batch of it walks the same one."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

LOADED = """
from torch.utils.data import DataLoader, TensorDataset
encoder = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
loader = DataLoader(TensorDataset({features}, torch.randn(8, 1)), batch_size=4)
opt = torch.optim.SGD([*encoder.parameters(), *net.parameters()], lr=0.1)
for z, y in loader:
    loss = (net(z) - y).pow(2).mean()
    loss.backward(retain_graph=True)
opt.step()
"""


@pytest.mark.parametrize(("features", "codes"), [("encoder(torch.randn(8, 4))", []), ("torch.randn(8, 3)", ["GF305"])])
def test_features_that_a_loader_hands_out(features: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + LOADED.format(features=features))] == codes
