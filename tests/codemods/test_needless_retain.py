"""GF305: a graph is retained that nobody walks again."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.again import forget_files
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

LEFT_ALONE = {
    "rows of what a caller gives": """
def hessian(forces, places):
    rows = []
    for force in forces.view(-1):
        (row,) = torch.autograd.grad([-1 * force], [places], torch.ones_like(force), retain_graph=True)
        rows.append(row.detach())
    return torch.stack(rows)
""",
    "another loss walks it": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward(retain_graph=True)
loss_b.backward()
""",
    "the same loss is walked again": """
loss = criterion(model(x), y)
loss.backward(retain_graph=True)
loss.backward()
""",
    "an expression says when": """
last = len(loader) - 1
for step, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward(retain_graph=step < last)
""",
    "nothing is retained": """
loss = criterion(model(x), y)
loss.backward(retain_graph=False)
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the last walk of a graph": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward(retain_graph=True)
loss_b.backward(retain_graph=True)
""",
    "the last of the losses that a loop counts": """
for step in range(9):
    losses = model(x).pow(2).mean(0)
    optimizer.zero_grad()
    for i, loss in enumerate(losses):
        loss.backward(retain_graph=True)
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF305"}


@pytest.mark.parametrize(
    ("losses", "repaired"),
    (
        ("out.pow(2).mean(0)", True),
        ("[out[:, 0].mean(), out[:, 1].mean()]", True),
        ("(column.mean() for column in out.t())", False),
        ("map(torch.mean, out)", False),
    ),
)
def test_only_what_has_a_length_is_asked_for_its_last(losses: str, repaired: bool) -> None:
    program = f"""
for step in range(9):
    out = model(x)
    losses = {losses}
    optimizer.zero_grad()
    for loss in losses:
        loss.backward(retain_graph=True)
    optimizer.step()
"""
    (finding,) = findings_of(Path("train.py"), PREAMBLE + program)
    assert (finding.fix is not None) is repaired


BALANCER = """
import torch
import torch.nn.functional as F


class Balancer:
    def backward(self, losses, features):
        grads = []
        for loss in losses:
            (grad,) = torch.autograd.grad(loss, [features], retain_graph=True)
            grads.append(grad)
        features.backward(sum(grads))


if __name__ == "__main__":
    x = torch.zeros(1, requires_grad=True)
    Balancer().backward([F.l1_loss(x, torch.ones(1)), F.mse_loss(x, torch.ones(1))], x)
"""


@pytest.mark.parametrize(
    ("others", "codes"),
    (
        ({}, ["GF305"]),
        ({"__init__.py": ""}, []),
        ({"train.py": "import balancer\nbalancer.Balancer().backward(losses, features)\n"}, []),
        ({"train.py": "import balancer\nbalancer.F.relu(features)\n"}, ["GF305"]),
    ),
    ids=("alone", "package", "used by another file", "imported for something else"),
)
def test_losses_that_code_elsewhere_may_give(tmp_path: Path, others: dict[str, str], codes: list[str]) -> None:
    """Theirs may share a graph, other than those that the module tries itself with."""
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    path = tmp_path / "balancer.py"
    path.write_text(BALANCER)
    assert [finding.code for finding in findings_of(path, BALANCER, (tmp_path,))] == codes


def test_another_value_over_the_graph_goes_to_code_that_is_not_in_sight() -> None:
    program = """
from cherry.algorithms import trpo

for _ in range(10):
    out = model(x)
    loss, kl = out.pow(2).mean(), out.abs().mean()
    grad = torch.autograd.grad(loss, model.parameters(), retain_graph=True)
    trpo.hessian_vector_product(kl, model.parameters())
"""
    assert told(program) == set()


@pytest.mark.parametrize(
    "second", ("helper.product(kl, model.parameters())", "kl.backward()", "torch.autograd.grad(kl, policy.parameters())")
)
def test_two_values_of_one_unknown_object(second: str) -> None:
    program = f"""
import helper

for _ in range(10):
    policy = helper.adapted(model)
    density = policy.density(x)
    loss = helper.loss(density.log_prob(x))
    kl = density.divergence(x).mean()
    grad = torch.autograd.grad(loss, policy.parameters(), retain_graph=True)
    {second}
"""
    assert told(program) == set()


MAML = """
class Stepper:
    def __init__(self, net):
        self.net = net

    def step(self):
        for part in self.net.modules():
            for name, parameter in list(part.named_parameters(recurse=False)):
                {step}

stepper = Stepper(model)
for _ in range(10):
    F.mse_loss(model(x), y).backward({flag})
    stepper.step()
    loss, divergence = F.mse_loss(model(x), y), F.l1_loss(model(x), y)
    first = torch.autograd.grad(loss, leaves, retain_graph=True)
    torch.autograd.grad(divergence, leaves)
"""


def test_what_is_computed_with_parameters_that_a_recorded_gradient_has_moved() -> None:
    """Both go through the step: each alone would free it for the other."""
    assert told(MAML.format(flag="create_graph=True", step="part._parameters[name] = parameter - 0.1 * parameter.grad")) == set()
    assert told(MAML.format(flag="", step="parameter.data -= 0.1 * parameter.grad")) != set()


@pytest.mark.parametrize("body", ("pass", '"""Subclasses build it."""', "...", "raise NotImplementedError"))
def test_a_method_that_a_subclass_defines_may_return_a_network(body: str) -> None:
    program = f"""
class Base:
    def build(self):
        {body}

    def setup(self):
        self.critic = self.build()

    def step(self, x, optimizer, penalised):
        self.setup()
        score, features = self.critic(x)
        score.mean().backward(retain_graph=True)
        if penalised:
            features.pow(2).mean().backward()
        optimizer.step()
"""
    assert told(program) == set()


RECORD = """
import helper
from dataclasses import dataclass

@dataclass
class Scores:
    chosen: torch.Tensor
    rejected: torch.Tensor

def scored(network, batch):
    out = network(batch)
    return Scores(out[:2], out[2:])

for _ in range(10):
    scores = scored(model, x)
    shown = scores.chosen.detach().mean()
    loss = helper.objective(scores)
    loss.backward()
"""


def test_a_record_that_is_handed_over_takes_its_graphs_along() -> None:
    assert told(RECORD) == set()
    assert told(RECORD.replace("helper.objective(scores)", "helper.objective(x)")) == {"GF103"}


def test_what_an_empty_init_is_given_is_not_handed_on() -> None:
    program = """
class Mark:
    def __init__(self, value):
        pass

for _ in range(10):
    loss = model(x).pow(2).mean()
    mark = Mark(loss)
    loss.backward(retain_graph=True)
"""
    assert told(program) == {"GF305"}


def test_a_graph_that_a_caller_in_another_file_gives_is_walked_in_each_iteration(tmp_path: Path) -> None:
    search = "import torch\n\ndef search(x, y):\n    theta = torch.randn(1, 3, requires_grad=True)\n    opt = torch.optim.Adam([theta])\n"
    search += "    for _ in range(9):\n        loss = ((x - y) * theta).sum()\n        opt.zero_grad()\n"
    search += "        loss.backward(retain_graph=True)\n        opt.step()\n    return ((x - y) * theta).sum()\n"
    use = "import torch\nfrom search import search\nnet = torch.nn.Linear(3, 3)\nfor x in torch.ones(4, 2, 3):\n    search({given}, x).backward()\n"
    (tmp_path / "search.py").write_text(search)
    told = []
    for given in ("net(x)", "net(x).detach()"):
        (tmp_path / "train.py").write_text(use.format(given=given))
        forget_files()
        told.append({finding.code for finding in examine(tmp_path / "search.py", Job((tmp_path,))).findings})
    assert ["GF305" in codes for codes in told] == [False, True]


def test_a_container_that_is_made_of_itself(tmp_path: Path) -> None:
    program = "losses = [F.mse_loss(model(x), y), F.mse_loss(model(y), x)]\nfor _ in range(3):\n    losses = list(losses)\n"
    program = PREAMBLE + program + "for loss in losses:\n    loss.backward(retain_graph=True)\n"
    assert [finding.code for finding in findings_of(tmp_path / "a.py", program)] == ["GF305"]


SLOPES = """
import asyncio
import torch
from torch import nn

net = nn.Linear(3, 1)

def norm(loss, p):
    return torch.autograd.grad(loss, p, retain_graph=True)[0].norm().item()

async def later(loss, p):
    return torch.autograd.grad(loss, p, retain_graph=True)[0].norm().item()

async def every(loss):
    return await asyncio.gather(*(later(loss, p) for p in net.parameters()))

for x in torch.randn(4, 5, 3):
    loss = net(x).pow(2).mean()
    {slopes}
"""
SLOPE = "torch.autograd.grad(loss, p, retain_graph=True)[0].norm().item()"


@pytest.mark.parametrize(
    "slopes",
    [
        f"print(sum({SLOPE} for p in net.parameters()))",
        f"print(' '.join(f'{{{SLOPE}:.4f}}' for p in net.parameters()))",
        f"print(*({SLOPE} for p in net.parameters()))",
        f"print([{SLOPE} for p in net.parameters()])",
        f"print({{name: {SLOPE} for name, p in net.named_parameters()}})",
        f"print([p.numel() for p in net.parameters() if {SLOPE} > 0])",
        f"print({{name: 1 for name, p in net.named_parameters() if {SLOPE} > 0}})",
        "print(any([norm(loss, p) for p in net.parameters()]))",
        f"for p in net.parameters():\n        print({SLOPE})",
        "print(asyncio.run(every(loss)))",
    ],
)
def test_a_graph_that_is_walked_for_each_parameter(slopes: str) -> None:
    assert findings_of(Path("train.py"), SLOPES.format(slopes=slopes)) == []


def test_a_graph_that_is_made_for_each_parameter() -> None:
    each = "[(net(x).sum() * p.sum()).backward(retain_graph=True) for p in net.parameters()]"
    assert [finding.code for finding in findings_of(Path("train.py"), SLOPES.format(slopes=each))] == ["GF305"]


HELPED = """
import torch
from torch import nn

a, b = nn.Linear(4, 4), nn.Linear(4, 1)
a_opt, b_opt = torch.optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)

def update(optimizer, loss, keep=False):
    optimizer.zero_grad()
    loss.backward(retain_graph=keep)
    optimizer.step()

for x in torch.randn(5, 8, 4):
    hidden = a(x)
    first, second = {losses}
    update(a_opt, first, {kept})
    update(b_opt, second)
"""


@pytest.mark.parametrize(
    ("losses", "kept", "told"),
    [
        ("hidden.mean(), b(x).mean()", "True", 1),
        ("hidden.mean(), b(x).mean()", "keep=True", 1),
        ("hidden.mean(), b(x).mean()", "False", 0),
        ("hidden.pow(2).mean(), b(hidden).mean()", "keep=True", 0),
    ],
)
def test_a_helper_that_is_told_to_keep_the_graph(tmp_path: Path, losses: str, kept: str, told: int) -> None:
    program = HELPED.format(losses=losses, kept=kept)
    found = [f for f in findings_of(tmp_path / "train.py", program) if f.code == "GF305"]
    assert len(found) == told
    if found:
        path = tmp_path / "train.py"
        path.write_text(program)
        after = examine(path, Job((tmp_path,), Wanted(("GF305",), unsafe=True), repair=True)).after.decode()
        assert after == program.replace(kept, kept.replace("True", "False"), 1)
