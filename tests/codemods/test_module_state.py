"""GF202: a module keeps its state, with its graph, from one iteration to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

REDIRECTED = """
class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {{"v": {empty}}}

    def __getattr__(self, name):
        if "kept" in self.__dict__ and name in self.__dict__["kept"]:
            return self.__dict__["kept"][name]
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        kept = self.__dict__.get("kept")
        if kept is not None and name in kept:
            kept[name] = value
        else:
            super().__setattr__(name, value)

    def forward(self, x):
        {step}
        return v

model = nn.Sequential(nn.Linear(4, 4), Neuron())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    loss.backward()
    model[1].kept["v"] = {empty}
"""
LEFT_ALONE = {
    "it is detached where it is read": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.hidden = torch.zeros(8, 4)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden.detach())
        return self.hidden

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "the class keeps attributes elsewhere, and clears them there": REDIRECTED.format(
        empty="0.0", step="self.v = v = self.v + x / 2"
    ),
    "the class keeps two in a tuple elsewhere": REDIRECTED.format(empty="(0.0, 0)", step="v = self.v[0] + x / 2; self.v = v, 1"),
    "the loop sets it up anew": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.hidden = torch.zeros(8, 4)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.hidden

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    model.hidden = torch.zeros(8, 4)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "it has no graph": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.hidden = torch.zeros(8, 4)

    def forward(self, x):
        self.hidden = self.hidden + x.mean()
        return self.cell(x)

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "it is kept in an attribute": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.hidden = torch.zeros(8, 4)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.hidden

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF202"}


NEURONS = """
class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = torch.zeros(4)
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        self.v = self.v * 0.5 + self.layer(x)
        return torch.sigmoid(self.v)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([Neuron(), Neuron()])
        self.head = nn.Sequential(nn.Linear(4, 4), nn.Sequential(Neuron(), nn.ReLU()))

    def forward(self, x):
        for layer in self.body:
            x = layer(x)
        return self.head(x)

network = Net()
for x, y in loader:
    F.mse_loss(network(x), y).backward()
"""


def test_layers_that_keep_the_same_state_are_one_fault(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + NEURONS)
    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(path.read_text(), "train.py", "exec"), {"__name__": "__main__"})
    (finding,) = examine(path, Job((tmp_path,), Wanted(), edits=True)).findings
    assert finding.code == "GF202" and finding.message.startswith("`network.body[0].v` and 2 more bring")
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    after = examine(path, Job((tmp_path,), Wanted(unsafe=True), repair=True)).after.decode()
    exec(compile(after, "train.py", "exec"), {"__name__": "__main__"})

OBJECTS = {
    "a namespace": ("from types import SimpleNamespace\nkept = SimpleNamespace(h=torch.zeros(1, batch, hidden))", "kept.h"),
    "an object of a class": ("class Kept: pass\nkept = Kept()\nkept.h = torch.zeros(1, batch, hidden)", "kept.h"),
    "a module of torch": ("rnn.kept = torch.zeros(1, batch, hidden)", "rnn.kept"),
}


@pytest.mark.parametrize(("begins", "place"), OBJECTS.values(), ids=OBJECTS)
def test_state_in_any_object_that_has_attributes(tmp_path: Path, begins: str, place: str) -> None:
    program = (
        f"{begins}\nfor _ in range(3):\n    out, {place} = rnn(torch.randn(1, batch, 4), {place})\n"
        "    loss = out.pow(2).mean()\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    )
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + program)
    with pytest.raises(RuntimeError):
        exec(compile(path.read_text(), "train.py", "exec"), {"__name__": "__main__"})
    after = examine(path, Job((tmp_path,), Wanted(("GF202",)), repair=True)).after.decode()
    assert f"{place} = {place}.detach()" in after
    exec(compile(after, "train.py", "exec"), {"__name__": "__main__"})
