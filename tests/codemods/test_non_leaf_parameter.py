"""GF205: what is to be trained is computed from a leaf that has no name."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "the parameter itself is kept": """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(4))

    def forward(self, votes):
        return votes @ self.weights.softmax(dim=0)

model = Mixture()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "the initial value is computed": """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(4) + 0.1)

    def forward(self, votes):
        return votes @ self.weights

model = Mixture()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "it requires grad when it is ready": """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = (torch.zeros(4) + 0.1).requires_grad_()

    def forward(self, votes):
        return votes @ self.weights

model = Mixture()
optimizer = torch.optim.Adam([model.weights])
for x, y in loader:
    loss = F.mse_loss(model(x), y.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "a scaled parameter": """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(4)) * 0.1

    def forward(self, votes):
        return votes @ self.weights

model = Mixture()
optimizer = torch.optim.Adam([model.weights])
for x, y in loader:
    loss = F.mse_loss(model(x), y.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a scaled tensor that requires grad": """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.ones(4, requires_grad=True) * 0.1

    def forward(self, votes):
        return votes @ self.weights

model = Mixture()
optimizer = torch.optim.Adam([model.weights])
for x, y in loader:
    loss = F.mse_loss(model(x), y.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF205"}
