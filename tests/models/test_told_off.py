"""Parameters that are told to need no gradient, in whichever way: what they compute records nothing."""

from __future__ import annotations

import pytest

from tests.codemods.toys import told

EVALUATION = """
def evaluate(xs):
    total = 0
    for x in xs:
        total += frozen(x).pow(2).mean()
    return total.item()
print(evaluate([x, x, x]))
"""
FROZEN = {
    "detached in place": "for p in frozen.parameters():\n    p.detach_()\n",
    "each one detached in place": "frozen.weight.detach_()\nfrozen.bias.detach_()\n",
    "by assignment": "for p in frozen.parameters():\n    p.requires_grad = False\n",
    "each one by assignment": "frozen.weight.requires_grad = False\nfrozen.bias.requires_grad = False\n",
    "by name": "for name, p in frozen.named_parameters():\n    p.requires_grad_(False)\n",
}
NETWORKS = {
    "of torch": "frozen = nn.Linear(4, 4)\n",
    "of the project": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))
        self.bias = nn.Parameter(torch.zeros(4))
    def forward(self, x):
        return x @ self.weight + self.bias
frozen = Net()
""",
    "out of sight": "from models import Net\nfrozen = Net()\n",
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("how", FROZEN.values(), ids=FROZEN)
def test_a_frozen_network_records_nothing(how: str, network: str) -> None:
    assert told(network + how + EVALUATION) == set()


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_a_network_that_is_not_frozen_does(network: str) -> None:
    training = "(frozen(x).sum()).backward()\n"
    assert told(network + training + EVALUATION) & {"GF101", "GF103"}
