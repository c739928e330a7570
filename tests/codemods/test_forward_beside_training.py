"""GF103: forward passes beside the training, of which nothing but numbers is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.autograd.symptoms import GROWS
from graphfix.model import Applicability, Severity
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

BESIDE = """
class Agent:
    def __init__(self):
        self.net, self.target = nn.Linear(4, 2), nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def act(self, state):
        values = self.net(state)
        return values{read}

    def learn(self, state, following):
        later = self.target(following)
        aim = 0.9 * later.max(1)[0].detach()
        loss = (self.net(state).max(1)[0] - aim).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

agent = Agent()
for _ in range(9):
    agent.act(torch.ones(3, 4))
    agent.learn(torch.ones(3, 4), torch.ones(3, 4))
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (BESIDE.format(read=".data.numpy()"), ["values = self.net(state)", "later = self.target(following)"]),
        (BESIDE.format(read=""), ["later = self.target(following)"]),
        (BESIDE.format(read="").replace("self.target(following)", "self.target(following).detach()"), []),
        (
            BESIDE.format(read="").replace(
                "later = self.target(following)",
                "parts = []\n        for each in following:\n            parts.append(self.target(each))\n        later = torch.stack(parts)",
            ),
            ["parts.append(self.target(each))"],
        ),
    ],
    ids=("both", "one is given away", "detached on the spot", "collected first"),
)
def test_a_forward_pass_beside_training_of_which_only_detached_values_are_used(text: str, lines: list[str]) -> None:
    program = PREAMBLE + text
    found = [finding for finding in findings_of(Path("train.py"), program) if finding.code == "GF103"]
    assert [program.encode()[f.span.start : f.span.end].decode() for f in found] == lines


def test_a_forward_pass_that_runs_once_is_left_alone() -> None:
    assert {code for code in told("shown = model(x)\nprint(shown.data.numpy())\n") if code < "GF9"} == set()


def test_an_evaluation_and_what_it_keeps_is_one_finding() -> None:
    program = PREAMBLE
    for name in ("validate", "score"):
        program += f"""
def {name}(data):
    kept = []
    model.eval()
    for x in data:
        kept.append(model(x))
    return torch.stack(kept).argmax().item()

print({name}(torch.ones(3, 4)))
"""
    found = [finding for finding in findings_of(Path("train.py"), program) if finding.code in ("GF102", "GF103")]
    assert [finding.code for finding in found] == ["GF103", "GF103"]
    assert all(finding.severity is Severity.ERROR and GROWS in finding.symptoms for finding in found)


BOTH = """
def run(data, training):
    if training:
        model.train()
    else:
        model.eval()
    total = 0.0
    for x in data:
        out = model(x)
        loss = out.pow(2).mean()
        if training:
            loss.backward()
        total += loss.item()
    return total

for epoch in range(3):
    run(torch.ones(3, 4), True)
    {scored}
"""


def test_a_loop_that_training_and_evaluation_share(tmp_path: Path) -> None:
    program = PREAMBLE + BOTH.format(scored="print(run(torch.ones(2, 4), False))")
    [found] = [finding for finding in findings_of(Path("train.py"), program) if finding.code < "GF9"]
    assert found.code == "GF103" and program.encode()[found.span.start : found.span.end] == b"out = model(x)"
    assert found.fix is not None and found.fix.applicability is Applicability.UNSAFE
    path = tmp_path / "train.py"
    path.write_text(program)
    again = examine(path, Job((tmp_path,), Wanted(("GF1",), unsafe=True), repair=True)).after.decode()
    assert "        with torch.set_grad_enabled(model.training):\n            out = model(x)\n" in again
    assert not [finding for finding in findings_of(Path("train.py"), again) if finding.code < "GF9"]


@pytest.mark.parametrize(
    "text",
    [
        BOTH.format(scored="with torch.no_grad():\n        print(run(torch.ones(2, 4), False))"),
        BOTH.format(scored="print(run(torch.ones(2, 4), False))").replace(
            "if training:\n            loss", "if True:\n            loss"
        ),
        BOTH.format(scored="print(run(torch.ones(2, 4), False))").replace("loss.item()", "loss.item()\n        keep(out)"),
    ],
    ids=("called under no_grad", "walked in both modes", "handed on"),
)
def test_a_loop_that_is_shared_and_right(text: str) -> None:
    program = PREAMBLE + text
    assert not [finding for finding in findings_of(Path("train.py"), program) if finding.code < "GF9"]


def test_a_teacher_within_a_module_that_trains_is_no_evaluation_of_it() -> None:
    program = PREAMBLE + """
class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.teacher = nn.Linear(4, 2), nn.Linear(4, 2)
        self.teacher.eval()

    def forward(self, x):
        return (self.head(x) - self.teacher(x).detach()).pow(2).mean()

distilled = Distilled()
for x in torch.ones(3, 4):
    loss = distilled(x)
    loss.backward()
"""
    assert not [finding for finding in findings_of(Path("train.py"), program) if "in evaluation mode" in finding.message]


def test_what_is_detached_for_numpy_was_not_decided() -> None:
    program = PREAMBLE + BESIDE.format(read=".data.numpy()").replace(
        "values = self.net(state)\n        return values.data.numpy()", "return self.net(state).detach().cpu().numpy().argmax(1)"
    )
    found = [finding for finding in findings_of(Path("train.py"), program) if finding.code == "GF103"]
    assert [f.message.split("`")[1] for f in found][0] == "act"


RECURRENT = """
class Learner:
    def __init__(self):
        self.net = nn.GRUCell(3, 4)
        self.target = nn.GRUCell(3, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def unrolled(self, batch, steps):
        mine, theirs = [], []
        for i in range(steps):
            self.h = self.net(batch[:, i], self.h)
            self.later = self.target(batch[:, i], self.later)
            mine.append(self.h)
            theirs.append(self.later)
        return torch.stack(mine, 1), torch.stack(theirs, 1)

    def learn(self, batch, steps):
        self.h = torch.zeros(2, 4)
        self.later = torch.zeros(2, 4)
        mine, theirs = self.unrolled(batch, steps)
        loss = ((mine - (theirs * 0.9).detach()) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("", ""), 1),
        (("(theirs * 0.9).detach()", "theirs * 0.9"), 0),
        (("self.optimizer.step()", "self.optimizer.step()\n\n    def drift(self):\n        self.later.sum().backward()"), 0),
    ],
    ids=("nobody walks it", "the loss walks it", "another method walks the state"),
)
def test_a_target_network_that_keeps_its_state_on_an_object(change: tuple[str, str], expected: int) -> None:
    program = PREAMBLE + RECURRENT.replace(*change)
    found = [finding for finding in findings_of(Path("train.py"), program) if finding.code == "GF103"]
    assert len(found) == expected


def test_evaluations_that_call_each_other() -> None:
    program = """
def walk(data, depth):
    model.eval()
    for x in data:
        print(model(x).argmax().item())
    return again(data, depth - 1) if depth else 0

def again(data, depth):
    return walk(data, depth)
"""
    assert told(program) == {"GF103"}


def test_a_forward_pass_for_a_score_that_is_shown() -> None:
    program = """
for _ in range(9):
    loss = model(x).pow(2).mean()
    loss.backward()
    shown = trunk(model(x))
    print(shown.abs().mean().item())
trunk(x).sum().backward()
"""
    found = [f for f in findings_of(Path("train.py"), PREAMBLE + program) if f.code == "GF103"]
    assert [(PREAMBLE + program).encode()[f.span.start : f.span.end] for f in found] == [b"shown = trunk(model(x))"]


def test_what_is_volatile_is_told_once() -> None:
    program = """
from torch.autograd import Variable
for _ in range(9):
    noise = Variable(torch.ones(3, 4), volatile=True)
    made = Variable(generator(noise).data)
    critic(made).mean().backward()
    critic(generator(torch.ones(3, 4))).mean().backward()
"""
    assert {f.code for f in findings_of(Path("train.py"), PREAMBLE + program) if not f.optional} == {"GF903"}


RATED = """
import torch
from elsewhere import accuracy, attack

def validate(model, criterion, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        out = model(x)
        {use}
    return total
"""


@pytest.mark.parametrize(
    ("use", "codes"),
    [
        ("total += criterion(out, y).item()", {"GF103"}),
        ("total += criterion(out, y).mean().detach()", {"GF103"}),
        ("first, fifth = accuracy(out, y)\n        total += first.item()", {"GF103"}),
        ("criterion(out, y)", set()),  # it may go backward
        ("total += model(attack(out, x)).sum().item()", set()),
        ("total += criterion(out, y)", set()),  # whoever calls this may go backward
    ],
)
def test_a_criterion_out_of_sight_of_which_a_number_is_read(use: str, codes: set[str]) -> None:
    assert {finding.code for finding in findings_of(Path("engine.py"), RATED.format(use=use))} & {"GF103"} == codes


@pytest.mark.parametrize(
    ("result", "codes"),
    [("torch.cat(made)", {"GF103"}), ("torch.stack(made).mean(0)", {"GF103"}), ("made", set())],
)
def test_what_is_joined_over_a_loader_is_no_objective(result: str, codes: set[str]) -> None:
    program = "import torch\ndef test(model, loader):\n    model.eval()\n    made = []\n    for x in loader:\n"
    program += f"        made.append(model(x))\n    return {result}\n"
    assert {finding.code for finding in findings_of(Path("engine.py"), program)} == codes


@pytest.mark.parametrize(("walked", "codes"), [("model(x).mean()", {"GF103"}), ("model.loss(x)", set())])
def test_a_module_that_is_trained_by_another_method(walked: str, codes: set[str]) -> None:
    program = f"""
import torch
from elsewhere import make, loader

model = make()
opt = torch.optim.Adam(model.parameters())
for x in loader:
    loss = {walked}
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
for x in loader:
    print(model(x).sum().item())
"""
    assert {finding.code for finding in findings_of(Path("train.py"), program)} == codes


VALIDATED = """
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {made}

    def forward(self, x):
        return {used}

net = Net()
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(8, 4), torch.zeros(8, dtype=torch.long)

def train(fast):
    net.train()
    optimizer.zero_grad()
    F.nll_loss(net(x), y).backward()
    optimizer.step()
    if not fast:
        net.eval()
        out = net(x)
        loss = F.nll_loss(out, y)
        print({read})

for epoch in range(100):
    train(False)
"""
LAYERS = [("self.w = nn.Linear(4, 3)", "self.w(x)"), ("self.w = nn.Parameter(torch.randn(4, 3))", "x @ self.w")]


@pytest.mark.parametrize("read", ["loss.item()", "loss.data.item()"])
@pytest.mark.parametrize(("made", "used"), LAYERS, ids=["a layer", "a parameter"])
def test_a_validation_within_each_training_step(made: str, used: str, read: str) -> None:
    program = VALIDATED.format(made=made, used=used, read=read)
    assert {f.code for f in findings_of(Path("train.py"), program) if not f.optional} == {"GF103"}


STATEFUL = """
import torch

def train_batch(net, optimizer, rows):
    optimizer.zero_grad()
    for row in rows:
        {fed}
    net().mean().backward()
    for p in net.parameters():
        p.grad.clamp_(-10, 10)
    optimizer.step()
"""


@pytest.mark.parametrize(("fed", "codes"), [("net(row)", set()), ("print(net(row).sum().item())", {"GF103"})])
def test_a_net_out_of_sight_that_is_fed_row_by_row(fed: str, codes: set[str]) -> None:
    assert {f.code for f in findings_of(Path("train.py"), STATEFUL.format(fed=fed)) if not f.optional} == codes


ACTOR_CRITIC = """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(4, 4)

    def sample(self, x):
        action = self.mean(x).tanh()
        return action, action.sum(1)

policy, critic, target = Policy(), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*policy.parameters(), *critic.parameters()], 0.1)
for _ in range(9):
    action, entropy = policy.sample(torch.ones(3, 4))
    aim = target(action).squeeze(1) - entropy
    loss = (critic(torch.ones(3, 4)).squeeze(1) - aim.detach()).pow(2).mean()
    loss = loss - critic(policy.sample(torch.ones(3, 4))[0]).mean(){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "first"), [("", "action, entropy"), (" + entropy.mean()", "aim = ")], ids=("for it alone", "walked as well")
)
def test_the_block_begins_where_what_it_uses_is_made(tmp_path: Path, more: str, first: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + ACTOR_CRITIC.format(more=more))
    after = examine(path, Job((tmp_path,), Wanted(("GF103",), unsafe=True), repair=True)).after.decode()
    assert f"    with torch.no_grad():\n        {first}" in after


KEPT_OUT_OF_SIGHT = """
from elsewhere import Contrast

contrast = Contrast(critic)
optimizer = torch.optim.SGD(critic.parameters(), 0.1)
for _ in range(9):
    for _ in range(4):
        made = generator(torch.ones(3, 4))
        contrast({given})
    loss = contrast.calculate()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    critic(generator(torch.ones(3, 4))).mean().backward()
"""


@pytest.mark.parametrize(("given", "found"), [("made.detach()", ["made = generator(torch.ones(3, 4))"]), ("made", [])])
def test_what_a_call_out_of_sight_records_and_keeps_is_left_alone(given: str, found: list[str]) -> None:
    program = PREAMBLE + KEPT_OUT_OF_SIGHT.format(given=given)
    told = [f for f in findings_of(Path("train.py"), program) if f.code == "GF103"]
    spans = [program.encode()[each.start : each.end].decode() for f in told for each in f.fix.operations[0].spans]
    assert spans == found


def test_loops_inside_of_a_module_are_its_own_affair() -> None:
    program = """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x

maker = Deep()
for _ in range(9):
    made = maker(torch.ones(3, 4))
    critic(made.detach()).mean().backward()
    critic(maker(torch.ones(3, 4))).mean().backward()
"""
    assert "GF103" in told(program)
    once = program.replace("for _ in range(9):\n    made", "made").replace("\n    critic", "\ncritic")
    found = findings_of(Path("page.py"), PREAMBLE + once)
    assert "GF103" not in {finding.code for finding in found if not finding.optional}
