"""What a module keeps for as long as it is given one object: on real torch, and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.interpreter.identity import of_two_iterations
from graphfix.interpreter.interning import interned
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn

def same(a, b):
    return {same}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)
        self.seen = self.kept = None

    def features(self, x):
        if {asked}:
            self.seen = {held}
            self.kept = self.body(x)
        return self.kept

    def forward(self, x):
        return self.head(self.features(x) + self.features(x))

def train(loader):
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    {loop}
        {made}
        opt.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        opt.step()

if __name__ == "__main__":
    pairs = [(torch.randn(2, 4), torch.randn(2, 1)) for _ in range(4)]
    train({data})
"""
DEFAULTS = {
    "same": "a is b", "asked": "not same(x, self.seen)", "held": "x", "loop": "for x, y in loader:", "made": "pass", "data": "pairs",
}  # fmt: skip
BOTH = "a is b or b is not None and a.data_ptr() == b.data_ptr() and a.shape == b.shape"
KEPT = {
    "is": {},
    "is not": {"asked": "x is not self.seen"},
    "identity or memory": {"same": BOTH},
    "its address": {"asked": "id(x) != self.seen", "held": "id(x)"},
    "its memory": {"asked": "x.data_ptr() != self.seen", "held": "x.data_ptr()"},
    "moved": {"same": BOTH, "made": "x = x.to('cpu')"},
    "computed from the item": {"made": "x = x.view(-1, 4).float()"},
    "a part of a record": {
        "loop": "for batch in loader:",
        "made": "x, y = batch['x'], batch['y']",
        "data": "[{'x': x, 'y': y} for x, y in pairs]",
    },
    "made in the loop": {"loop": "for step in loader:", "made": "x, y = torch.randn(2, 4), torch.randn(2, 1)", "data": "range(4)"},
    "in each epoch": {"loop": "for epoch in range(3):\n     for x, y in loader:"},
}
RAISES = {
    "never anew": {"asked": "self.kept is None"},
    "of one size": {"asked": "self.seen is None or self.seen.shape != x.shape"},
    "of one length": {"asked": "len(x) != self.seen", "held": "len(x)"},
    "of the first": {"made": "x, y = (x, y) if step else (x, y)", "loop": "for step, (x, y) in loader:", "data": "enumerate(pairs)",
                     "asked": "self.seen is None"},
}  # fmt: skip


def program(changes: dict[str, str]) -> str:
    return PROGRAM.format(**DEFAULTS | changes)


def raises(text: str) -> bool:
    try:
        exec(compile(text, "kept.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as error:
        assert "second time" in str(error), error
        return True
    return False


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_for_one_object_is_made_anew_for_each_item(name: str) -> None:
    text = program(KEPT[name])
    assert not raises(text)
    assert [finding.code for finding in findings_of(Path("kept.py"), text)] == []


@pytest.mark.parametrize("name", RAISES)
def test_what_is_kept_for_more_than_one_object_is_told(name: str) -> None:
    text = program(RAISES[name])
    assert raises(text)
    assert [finding.code for finding in findings_of(Path("kept.py"), text)] == ["GF202"]


def test_items_of_two_iterations_are_two_objects() -> None:
    first, second = interned(("item", "loader", 0, 3)), interned(("item", "loader", 1, 4))
    assert of_two_iterations(first, second)
    assert of_two_iterations(interned(("item", first, "x")), interned(("item", second, "x")))
    assert not of_two_iterations(interned(("item", first, "x")), interned(("item", second, "y")))
    assert not of_two_iterations(interned(("attribute", first, "device")), interned(("attribute", second, "device")))
    assert not of_two_iterations(first, interned(("item", "loader", 0, 9))), "another pass over a list gives its items again"
    assert not of_two_iterations(interned(("item", "xs", 0)), interned(("item", "xs", 1))), "a list may hold one object twice"
