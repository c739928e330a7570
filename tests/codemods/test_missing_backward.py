"""GF309: a loss between zero_grad() and step() that no backward() goes through."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Severity
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

LEFT_ALONE = {
    "it is walked": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
""",
    "another loss trains the same parameters": """
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
    shown = F.l1_loss(out, y)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
    print(shown.item())
""",
    "a part of it is walked": """
for x, y in loader:
    optimizer.zero_grad()
    first = criterion(model(x), y)
    second = criterion(model(y), x)
    total = first + second
    first.backward()
    second.backward()
    optimizer.step()
    print(total.item())
""",
    "a helper walks it": """
def descend(value):
    value.backward()

for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    descend(loss)
    optimizer.step()
""",
    "it is walked by a name": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    getattr(loss, "backward")()
    optimizer.step()
""",
    "it is walked by a name that is not known": """
import sys
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    getattr(loss, sys.argv[1])()
    optimizer.step()
""",
    "a function of torch walks it": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    torch.autograd.backward([loss])
    optimizer.step()
""",
    "a closure walks it": """
solver = torch.optim.LBFGS(model.parameters())
def closure():
    solver.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss
for _ in range(9):
    solver.step(closure)
""",
    "it is scaled": """
scaler = torch.amp.GradScaler()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
""",
    "an accelerator walks it": """
from accelerate import Accelerator
accelerator = Accelerator()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
""",
    "code out of sight gets it": """
from engine import descend
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    descend(loss)
    optimizer.step()
""",
    "code out of sight has the model": """
from engine import Penalty
penalty = Penalty(model)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    penalty.apply()
    optimizer.step()
    print(loss.item())
""",
    "code out of sight has the loss in a container": """
from engine import queue
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    queue["loss"] = loss
    queue.work()
    optimizer.step()
""",
    "a switch decides on training": """
import sys
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    if len(sys.argv) > 1:
        loss.backward()
    optimizer.step()
""",
    "not a number is not walked": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    if not torch.isnan(loss):
        loss.backward()
    optimizer.step()
""",
    "gradients are gathered": """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % 4 == 0:
        shown = criterion(model(x), y)
        optimizer.step()
        optimizer.zero_grad()
        print(shown.item())
""",
    "cleared at times": """
for i, (x, y) in enumerate(loader):
    if i % 4 == 0:
        optimizer.zero_grad()
    loss = criterion(model(x), y)
    if i % 4 == 1:
        loss.backward()
    optimizer.step()
""",
    "gradients are put in by hand": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    print(loss.item())
""",
    "gradients are put in by a name": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    for p in model.parameters():
        setattr(p, "grad", torch.ones_like(p))
    optimizer.step()
    print(loss.item())
""",
    "gradients are computed and put in": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
        p.grad = g
    optimizer.step()
""",
    "gradients of the iteration before are used": """
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
""",
    "two optimizers for one gradient": """
second = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    shown = criterion(model(x), y)
    second.step()
    print(shown.item())
""",
    "a penalty is a part of the loss": """
for x, y in loader:
    critic_optimizer.zero_grad()
    shown = criterion(critic(y), x)
    x = x.clone().requires_grad_()
    score = critic(x)
    slope = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    loss = score.mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    loss.backward()
    critic_optimizer.step()
    print(shown.item())
""",
    "a penalty on gradients is all there is": """
for x, y in loader:
    critic_optimizer.zero_grad()
    x = x.clone().requires_grad_()
    slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    loss = (slope - y).pow(2).mean()
    loss.backward()
    critic_optimizer.step()
""",
    "a measure is taken now and then beside a loss of gradients": """
for i, (x, y) in enumerate(loader):
    critic_optimizer.zero_grad()
    x = x.clone().requires_grad_()
    slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    loss = (slope - y).pow(2).mean()
    loss.backward()
    if i % 4 == 0:
        error = criterion(critic(y), x)
        print(error.item())
    critic_optimizer.step()
""",
    "nothing is computed": """
optimizer.zero_grad()
optimizer.step()
""",
    "nothing is recorded": """
for x, y in loader:
    optimizer.zero_grad()
    with torch.no_grad():
        loss = criterion(model(x), y)
    optimizer.step()
    print(loss.item())
""",
    "it is of other parameters": """
other = nn.Linear(4, 4)
for x, y in loader:
    critic_optimizer.zero_grad()
    loss = criterion(other(x), y)
    critic_optimizer.step()
    print(loss.item())
""",
    "it has more than one element": """
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
    optimizer.step()
    print(out)
""",
    "an unknown optimizer": """
from engine import make
stepper = make(model)
for x, y in loader:
    stepper.zero_grad()
    loss = criterion(model(x), y)
    stepper.step()
    print(loss.item())
""",
    "a trainer walks what it returns": """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.automatic_optimization = False
        self.solver = torch.optim.SGD(self.inner.parameters(), lr=0.1)

    def training_step(self, batch):
        self.solver.zero_grad()
        loss = criterion(self.inner(batch), batch)
        self.manual_backward(loss)
        self.solver.step()
""",
    "a mixin that is not in sight walks it": """
from engine import Descends
class Trainer(Descends):
    def __init__(self):
        self.inner = nn.Linear(4, 4)
        self.solver = torch.optim.SGD(self.inner.parameters(), lr=0.1)

    def train(self, loader):
        for x, y in loader:
            self.solver.zero_grad()
            self.loss = criterion(self.inner(x), y)
            self.descend()
            self.solver.step()
Trainer().train(loader)
""",
    "another method walks it": """
class Trainer:
    def __init__(self):
        self.inner = nn.Linear(4, 4)
        self.solver = torch.optim.SGD(self.inner.parameters(), lr=0.1)

    def descend(self):
        self.loss.backward()

    def train(self, loader):
        for x, y in loader:
            self.solver.zero_grad()
            self.loss = criterion(self.inner(x), y)
            self.descend()
            self.solver.step()
Trainer().train(loader)
""",
    "a subclass walks it": """
class Trainer:
    def __init__(self):
        self.inner = nn.Linear(4, 4)
        self.solver = torch.optim.SGD(self.inner.parameters(), lr=0.1)

    def descend(self, loss):
        pass

    def train(self, x, y):
        self.solver.zero_grad()
        loss = criterion(self.inner(x), y)
        self.descend(loss)
        self.solver.step()

class Descending(Trainer):
    def descend(self, loss):
        loss.backward()
Descending().train(x, y)
""",
    "a callback walks it": """
def train(descend):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        descend(loss)
        optimizer.step()
train(lambda loss: loss.backward())
""",
    "a context manager walks it": """
from contextlib import contextmanager
losses = []
@contextmanager
def descent():
    optimizer.zero_grad()
    yield
    losses[-1].backward()
    optimizer.step()
for x, y in loader:
    with descent():
        loss = criterion(model(x), y)
        losses.append(loss)
""",
    "a subclass of tensors walks it when it is deleted": """
from engine import Tracked
for x, y in loader:
    optimizer.zero_grad()
    loss = Tracked(criterion(model(x), y))
    del loss
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert "GF309" not in told(program)


TOLD = {
    "in a loop": """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    optimizer.step()
    print(loss.item())
""",
    "cleared at the end": """
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
""",
    "the model clears": """
for x, y in loader:
    critic.zero_grad()
    loss = criterion(critic(x), y)
    critic_optimizer.step()
    print(loss.item())
""",
    "in a function that returns it": """
def train(x, y):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    optimizer.step()
    return loss
for x, y in loader:
    train(x, y)
""",
    "in a method": """
class Trainer:
    def __init__(self):
        self.inner = nn.Linear(4, 4)
        self.solver = torch.optim.SGD(self.inner.parameters(), lr=0.1)

    def train(self, x, y):
        self.solver.zero_grad()
        self.loss = criterion(self.inner(x), y)
        self.solver.step()
Trainer().train(x, y)
""",
    "in a closure": """
solver = torch.optim.LBFGS(model.parameters())
def closure():
    solver.zero_grad()
    loss = criterion(model(x), y)
    return loss
for _ in range(9):
    solver.step(closure)
""",
    "another player is trained": """
for x, y in loader:
    generator_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    fake = generator(z)
    critic_loss = criterion(critic(fake.detach()), y)
    critic_loss.backward()
    critic_optimizer.step()
    generator_loss = criterion(fake, y)
    generator_optimizer.step()
    print(generator_loss.item())
""",
    "weighted by what is not known": """
import sys
weight = float(sys.argv[1])
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y) + weight * criterion(model(y), x)
    optimizer.step()
    print(loss.item())
""",
    "only its penalty is walked": """
for x, y in loader:
    critic_optimizer.zero_grad()
    loss = criterion(critic(y), x)
    x = x.clone().requires_grad_()
    slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()
    critic_optimizer.step()
    print(loss.item())
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) - {"GF102"} == {"GF309"}


def outcome_of(folder: Path, program: str) -> tuple[list, Outcome]:
    """What is told of a program, and what safe fixes alone make of it."""
    path = folder / "page.py"
    path.write_text(PREAMBLE + program)
    return findings_of(path, PREAMBLE + program), examine(path, Job((folder,), Wanted(), repair=True))


MADE_OF = {
    "what a function has put away": """
saved = []

def act(x):
    score = model(x).mean()
    saved.append(score)
    return score.item()

for x, y in loader:
    optimizer.zero_grad()
    print(act(x), act(y))
    loss = torch.stack(saved).sum()
    optimizer.step()
    saved.clear()
    print(loss.item())
""",
    "what the iteration before has left": """
for i in range(9):
    generator_optimizer.zero_grad()
    fake = generator(z)
    loss = -critic(fake).mean()
    generator_optimizer.step()
    print(loss.item())
""",
    "a sum over an inner loop": """
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.zeros(())
    for part in x.split(2):
        loss = loss + model(part).pow(2).mean()
    optimizer.step()
    print(loss.item())
""",
    "gradients of which a penalty is made": """
for x, y in loader:
    critic_optimizer.zero_grad()
    x = x.clone().requires_grad_()
    slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    critic_optimizer.step()
    print(penalty.item())
""",
}
BURIED = {**{name: TOLD[name] for name in ("in a loop", "another player is trained", "only its penalty is walked")}, **MADE_OF}


@pytest.mark.parametrize("program", BURIED.values(), ids=BURIED)
def test_nothing_safe_is_offered_for_it(tmp_path: Path, program: str) -> None:
    findings, outcome = outcome_of(tmp_path, program)
    assert [finding.code for finding in findings if finding.fix is None or finding.code == "GF309"].count("GF309") == 1
    assert not [each for each in findings if each.fix is not None and each.fix.applicability is Applicability.SAFE]
    assert not outcome.changed


def test_a_total_that_is_repaired_hides_nothing(tmp_path: Path) -> None:
    """A number in place of the graph is safe in a log; what has no backward() is told before and after."""
    _, outcome = outcome_of(
        tmp_path,
        """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    optimizer.step()
    total += loss
print(total)
""",
    )
    assert [finding.code for finding in outcome.findings if finding.code == "GF309"] == ["GF309"]


def test_two_steps_that_lack_one_loss_are_told_once(tmp_path: Path) -> None:
    findings, _ = outcome_of(
        tmp_path,
        """
for x, y in loader:
    critic_optimizer.zero_grad()
    generator_optimizer.zero_grad()
    loss = criterion(critic(generator(x)), y)
    critic_optimizer.step()
    generator_optimizer.step()
    print(loss.item())
""",
    )
    assert [finding.code for finding in findings] == ["GF309"]


def test_a_penalty_beside_it_makes_a_warning(tmp_path: Path) -> None:
    (finding,), _ = outcome_of(tmp_path, TOLD["only its penalty is walked"])
    assert finding.severity is Severity.WARNING


WITHOUT_FIX = {
    "several losses": ("several losses come before this step, and the code does not show which one is meant", """
for x, y in loader:
    optimizer.zero_grad()
    one = criterion(model(x), y)
    other = criterion(model(y), x)
    optimizer.step()
    print(one.item(), other.item())
"""),
    "a step now and then": ("the step does not follow the loss in the same block", """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
    print(loss.item())
"""),
    "a scaler": ("the step goes through a wrapper such as a gradient scaler, which may need a backward() of its own", """
scaler = torch.amp.GradScaler()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
"""),
    "another value of that name": ("`loss` is assigned again before the step", """
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss = loss.item()
    optimizer.step()
    print(loss)
"""),
}  # fmt: skip


@pytest.mark.parametrize(("why", "program"), WITHOUT_FIX.values(), ids=WITHOUT_FIX)
def test_where_there_is_no_fix(tmp_path: Path, why: str, program: str) -> None:
    (finding,), _ = outcome_of(tmp_path, program)
    assert (finding.code, finding.fix, finding.unfixed) == ("GF309", None, why)


def test_a_program_whose_helpers_are_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "def shared(model, other):\n    for p, q in zip(model.parameters(), other.parameters()):\n        p._grad = q.grad\n"
    )
    findings, _ = outcome_of(
        tmp_path,
        """
from helpers import shared
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    shared(model, trunk)
    optimizer.step()
    print(loss.item())
""",
    )
    assert findings == []
