"""GF103: an evaluation builds graphs for no backward()."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, repaired, told

LEFT_ALONE = {
    "under no_grad": """
def evaluate(model):
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            print(F.mse_loss(model(x), y).item())

evaluate(model)
model(x).sum().backward()
""",
    "decorated with no_grad": """
@torch.no_grad()
def evaluate(model):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())

evaluate(model)
model(x).sum().backward()
""",
    "it is walked in evaluation mode": """
model.eval()
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "nothing is read out of what it computes": """
def predict(model, x):
    return model(x)

loss = predict(model, x).mean()
loss.backward()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "outputs of a module out of sight that are cut as a whole at the end": """
def embed(backbone, batches):
    rows = []
    for batch in batches:
        rows.append(backbone(batch))
    return torch.cat(rows, 0).detach()
def fit(backbone, batches):
    features = embed(backbone, batches)
    loss = head_a(features).pow(2).mean()
    loss.backward()
    print(sum(p.numel() for p in backbone.parameters()))
""",
    "a function that evaluates": """
def evaluate(model):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())

evaluate(model)
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF103"}


CALLED_IN_A_LOOP = """
net = nn.Linear(3, 1)
def predict(x):
    net.eval()
    for _ in range(3):
        x = x + net(x)
    return x.mean().item()
for step in range(4):
    net(torch.randn(5, 3)).sum().backward()
for batch in torch.randn(5, 4, 3):
    print(predict(batch))
"""


def test_a_loop_that_only_calls_an_evaluation_is_none_of_its_own(tmp_path: Path) -> None:
    assert repaired(tmp_path, CALLED_IN_A_LOOP, select=("GF103",)) == CALLED_IN_A_LOOP.replace(
        "def predict", "@torch.no_grad()\ndef predict"
    )


def test_torch_under_another_name(tmp_path: Path) -> None:
    program = f"import torch as th\n{CALLED_IN_A_LOOP}".replace("nn.", "torch.nn.").replace("torch.", "th.")
    path = tmp_path / "toy.py"
    path.write_text(program)
    made = examine(path, Job((tmp_path,), Wanted(("GF103",)), repair=True)).after.decode()
    assert made == program.replace("def predict", "@th.no_grad()\ndef predict")


NET = """import torch.nn.functional as F
from torch import nn, optim
from helpers import *

net = nn.Linear(3, 1)
optimizer = optim.SGD(net.parameters(), lr=0.1)
for x, y in train:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("parts", ("import torch.nn.functional as F\n", "from torch.nn import functional as F\n"))
def test_a_file_that_imports_only_parts_of_torch_gets_the_name(tmp_path: Path, parts: str) -> None:
    path = tmp_path / "toy.py"
    rest = NET.replace("import torch.nn.functional as F\n", "") + "net.eval()\n"
    loop = "for x, y in valid:\n    print(F.mse_loss(net(x), y).item())\n"
    path.write_text(parts + rest + loop)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF103",)), repair=True))
    indented = "".join(f"    {line}\n" for line in loop.splitlines())
    assert outcome.after.decode() == f"import torch\n{parts}{rest}with torch.no_grad():\n{indented}"


def test_a_name_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "toy.py"
    path.write_text("""import torch.nn.functional as F
from torch import nn
from backends import numpy_like as torch

net = nn.Linear(3, 1)
F.mse_loss(net(x), y).backward()
net.eval()
for x, y in valid:
    print(F.mse_loss(net(x), y).item())
""")
    outcome = examine(path, Job((tmp_path,), Wanted(("GF103",)), edits=True))
    assert [finding.fix for finding in outcome.findings] == [None]


@pytest.mark.parametrize(
    ("name", "head", "optional"),
    (("test_toy.py", "", True), ("shared.py", "import pytest\n", True), ("shared.py", "", False)),
    ids=("name", "import", "neither"),
)
def test_in_tests_it_has_to_be_asked_for(tmp_path: Path, name: str, head: str, optional: bool) -> None:
    path = tmp_path / name
    path.write_text(head + "import torch\n" + NET + "net.eval()\nfor x, y in valid:\n    print(F.mse_loss(net(x), y).item())\n")
    found = examine(path, Job((tmp_path,), Wanted(("GF103",)), edits=True)).findings
    assert [finding.optional for finding in found] == [optional]


ROLLOUT = """
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for episode in range(4):
    actions, values = [], []
    for step in range(5):
        mean, value = model(torch.ones(4)), critic(torch.ones(4))
        action = mean + torch.randn(4)
        actions.append(action)
        values.append(value)
        print(action.data.numpy())
    batch = torch.cat(actions).data
    loss = (model(batch.view(5, 4)) - torch.cat(values).data.view(5, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_rollout_of_which_only_the_numbers_are_used() -> None:
    """Reading `.data` at once does not keep the graph from outliving its iteration."""
    findings = [f for f in findings_of(Path("train.py"), PREAMBLE + ROLLOUT) if f.code < "GF9"]
    assert [finding.code for finding in findings] == ["GF103", "GF102"]
    rollout, kept = findings
    assert rollout.fix is not None and rollout.fix.applicability is Applicability.SAFE
    assert "`actions` and 1 more" in kept.message and kept.fix is None


def test_a_rollout_that_is_walked_is_left_alone() -> None:
    walked = ROLLOUT.replace("torch.cat(values).data", "torch.cat(values)").replace(
        "torch.cat(actions).data", "torch.cat(actions)"
    )
    assert {code for code in told(walked) if code < "GF9"} == set()


@pytest.mark.parametrize(
    ("use", "codes"),
    [
        ("print(model(x).max().item())", {"GF103"}),
        ("print(model(x).detach().cpu().numpy()[0])", {"GF103"}),
        ("print(model(x).shape)", set()),
        ("print((x @ logits).item())", set()),
    ],
    ids=("numbers are read", "an array is read", "nothing is read", "no module"),
)
def test_a_file_that_goes_backward_nowhere(use: str, codes: set[str]) -> None:
    program = (
        "import torch\nfrom torch import nn\nmodel = nn.Linear(4, 4)\nx, logits = torch.ones(4), nn.Parameter(torch.ones(4))\n"
    )
    program += f"for step in range(100):\n    {use}\n"
    assert {finding.code for finding in findings_of(Path("play.py"), program)} == codes


@pytest.mark.parametrize(("caller", "codes"), [("with torch.no_grad():", set()), ("if True:", {"GF103"})])
def test_a_function_that_the_project_calls_under_no_grad(tmp_path: Path, caller: str, codes: set[str]) -> None:
    program = "from torch import nn\n\n\ndef score(data):\n    model = nn.Linear(4, 1)\n    model.eval()\n    return show(model, data)\n\n\n"
    program += "def show(model, data):\n    for x in data:\n        print(model(x).sum().item())\n"
    path = tmp_path / "scores.py"
    path.write_text(program)
    (tmp_path / "main.py").write_text(f"import torch\nfrom scores import score\n{caller}\n    score(torch.ones(2, 4))\n")
    assert {finding.code for finding in findings_of(path, program, (tmp_path,))} == codes


@pytest.mark.parametrize(
    ("freeze", "codes"),
    [
        ("", {"GF103"}),
        ("for param in model.parameters():\n    param.requires_grad = False", set()),
        ("model.requires_grad_(False)", set()),
    ],
)
def test_an_unknown_model_that_is_frozen(freeze: str, codes: set[str]) -> None:
    program = f"""
from elsewhere import load

model = load("model")
model.eval()
{freeze}
for x in torch.ones(3, 4):
    print(model(x).argmax().item())
"""
    assert told(program) == codes


def test_a_flag_that_is_read_asks_for_no_gradient() -> None:
    program = """
def summary(model):
    model.eval()
    for x in torch.ones(3, 4):
        print(model(x).sum().item(), sum(p.numel() for p in model.parameters() if p.requires_grad))

summary(model)
"""
    assert told(program) == {"GF103"}
    assert told(program.replace("p.requires_grad)", "p.requires_grad_(True) is p)")) == set()


def test_a_dict_of_data_is_no_graph() -> None:
    program = """
from elsewhere import load, score

def tensors(batch):
    found = {}
    for key, value in batch.items():
        found[key] = value
    return found

def evaluate(net, loader):
    net.eval()
    for batch in loader:
        batch = tensors(batch)
        print(net(batch).sum().item())

evaluate(load("net"), load("data"))
"""
    assert told(program) == {"GF103"}


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


def test_what_two_evaluations_keep_is_two_findings() -> None:
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
    assert sorted(finding.code for finding in found) == ["GF102", "GF102", "GF103", "GF103"]


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
