"""GF205: what is to be trained is computed from a leaf that has no name."""

from __future__ import annotations

from pathlib import Path

import pytest

from .toys import has_to_be_asked_for, told

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
    "it keeps its gradient, so that an optimizer takes it": """
scale = torch.rand(3, requires_grad=True) * 0.1
scale.retain_grad()
optimizer = torch.optim.Adam([{"params": [scale], "lr": 0.1}])
(scale - 1).pow(2).sum().backward()
optimizer.step()
""",
    "the steps of the optimizer are recorded": """
def start(recorded):
    raw = torch.zeros(4, requires_grad=True).sigmoid()
    return raw, torch.optim.RMSprop([raw], lr=0.1, differentiable=recorded)

raw, optimizer = start(True)
(raw.grad,) = torch.autograd.grad(raw.pow(2).sum(), raw)
optimizer.step()
""",
    "a flag that is not known says whether the steps are recorded": """
fast = torch.ones(4, requires_grad=True).clone()
optimizer = torch.optim.SGD([fast], lr=0.1, differentiable=bool(sys.argv[1:]))
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


STEPS = """
scale = torch.ones(4, requires_grad=True) * 0.1
optimizer = torch.optim.Adam([scale], lr=0.1, differentiable=False)
(scale - 1).pow(2).sum().backward()
optimizer.step()
"""


def test_an_optimizer_that_records_no_steps_refuses_what_is_no_leaf() -> None:
    assert told(STEPS) == {"GF205"}


TRAINED = """
scale = {made}
opt = torch.optim.SGD([scale], lr=0.1)
for step in range(3):
    out = (scale - 2).pow(2).mean()
    opt.zero_grad()
    out.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "made",
    [
        "torch.rand(3, requires_grad=True).expand(4, 3)",  # its rows share memory: no optimizer can step
        "torch.rand(3, requires_grad=True).repeat(4, 1)",  # its rows are one: as a leaf they would part
        "torch.rand(3, requires_grad=True) * torch.rand(4, 3)",
    ],
)
def test_elements_that_share_a_number_have_to_be_asked_for(tmp_path: Path, made: str) -> None:
    assert has_to_be_asked_for(tmp_path, TRAINED.format(made=made), select=())


def test_an_optimizer_that_may_refuse_it(tmp_path: Path) -> None:
    program = TRAINED.format(made="torch.rand(3, requires_grad=True) * 0.1").replace(
        "opt = torch.optim.SGD([scale], lr=0.1)",
        "try:\n    opt = torch.optim.SGD([scale], lr=0.1)\nexcept ValueError:\n    opt = torch.optim.SGD([scale.detach()], lr=0.2)",
    )
    assert has_to_be_asked_for(tmp_path, program, select=())
