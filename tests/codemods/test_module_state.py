"""GF202: a module keeps its state, with its graph, from one iteration to the next."""

from __future__ import annotations

import pytest

from .toys import told

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
