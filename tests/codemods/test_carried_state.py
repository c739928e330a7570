"""GF201: state that an iteration hands to the next with its graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.report.effects import effect
from graphfix.run.engine import findings_of

from .toys import PREAMBLE, is_left_alone, repaired, told

LEFT_ALONE = {
    "it is detached before it is read": """
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    out, h = rnn(x, h.detach())
    loss = F.mse_loss(out, y)
    loss.backward()
""",
    "each iteration starts from zeros": """
for x, y in loader:
    h = torch.zeros(1, batch, hidden)
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    loss.backward()
""",
    "what is bound by a star in each iteration": """
for x, y in loader:
    out, *rest = rnn(x)
    loss = F.mse_loss(out, y) + rest[0].mean()
    loss.backward()
""",
    "all iterations are walked together, behind the loop": """
h, loss = torch.zeros(1, batch, hidden), 0.0
for x, y in loader:
    out, h = rnn(x, h)
    loss = loss + F.mse_loss(out, y)
loss.backward()
""",
    "all iterations are walked together, and another method returns what this one does not walk": """
class Objective:
    def __init__(self, count):
        self.count = count
        self.model = nn.Linear(3, 3)

    def both(self, data):
        loss = surrogate = 0.0
        for x in data:
            value = self.model(x).sum()
            loss = loss - torch.log(value) / self.count
            surrogate = surrogate - value / self.count
        return loss, surrogate

    def differentiable(self, data):
        loss, surrogate = self.both(data)
        return loss + (surrogate - surrogate.detach())

    def step(self, data):
        loss, surrogate = self.both(data)
        surrogate.backward()
        return loss.item()
""",
}
COLLECTED = """
net = nn.Linear(3, 1)
predictions = None
for batch in torch.randn(5, 4, 3):
    output = net(batch)
    if predictions is None:
        predictions = output
    else:
        predictions = torch.cat((predictions, output))
print(predictions.detach().mean().item())
"""


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


def test_a_detach_behind_one_arm_is_enough(tmp_path: Path) -> None:
    """The other arm's graph is bounded: what a pass inserts is understood by the next, and not detached again and again."""
    after = repaired(tmp_path, COLLECTED, select=())
    assert after.count("predictions = predictions.detach()") == 1
    assert is_left_alone(tmp_path, after, select=())


BY_HAND = """
w = nn.Parameter(torch.zeros(3, 1))
x, y = torch.randn(9, 3), torch.randn(9, 1)
for epoch in range(5):
    wrong = x @ w - y
    slope = x.t() @ wrong
    w = w - 0.1 * slope
print(w.sum().item())
"""


def test_what_is_carried_is_cut_and_not_all_that_is_made_of_it(tmp_path: Path) -> None:
    after = repaired(tmp_path, BY_HAND, select=())
    assert after == BY_HAND.replace("0.1 * slope\n", "0.1 * slope\n    w = w.detach()\n")


@pytest.mark.parametrize(("over", "codes"), [("range(300)", {"GF201"}), ("range(3)", set()), ("(x, y)", set())])
def test_a_loop_that_only_shows_what_a_module_gives(over: str, codes: set[str]) -> None:
    program = f"h = torch.zeros(1, 4)\ncell = nn.GRUCell(4, 4)\nfor i in {over}:\n    h = cell(torch.ones(1, 4), h)\n    print(h.size())\n"
    assert told("model(x).sum().backward()\n" + program) == codes


@pytest.mark.parametrize(
    ("layers", "codes"), [("[nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)]", set()), ("[nn.Linear(4, 4)] * 3", {"GF201"})]
)
def test_a_stack_of_layers_is_no_state_and_one_layer_over_and_over_is(layers: str, codes: set[str]) -> None:
    program = f"h = torch.zeros(1, 4)\nfor layer in nn.ModuleList({layers}):\n    h = layer(h)\nprint(h.sum().item())\n"
    assert told("model(x).sum().backward()\n" + program) == codes


def test_state_that_no_walk_comes_to_costs_memory_and_raises_nothing() -> None:
    (found,) = (f for f in findings_of(Path("w.py"), PREAMBLE + BY_HAND) if f.code == "GF201")
    assert effect(found) == "memory that grows with every iteration"
