"""GF103: an evaluation records a graph that no backward() uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import analyse, findings_of
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


def test_no_decorator_above_the_import_that_it_needs(tmp_path: Path) -> None:
    setup, function, rest = CALLED_IN_A_LOOP.partition("def predict(x):")
    body, loop, use = rest.partition("for step")
    path = tmp_path / "toy.py"
    for head, foot in (("", "import torch\nfrom torch import nn\n"), ("import torch\n", "from torch import nn\n")):
        program = f"{head}{function}{body}{foot}{setup}{loop}{use}"
        path.write_text(program)
        outcome = examine(path, Job((tmp_path,), Wanted(("GF103",), unsafe=True), repair=True))
        assert outcome.reason == ""
        decorated = program.replace("def predict", "@torch.no_grad()\ndef predict")
        assert outcome.after.decode() == (decorated if head else program)
        assert [finding.fix for finding in outcome.findings] == ([] if head else [None])


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
    head, line = loop.splitlines()
    assert outcome.after.decode() == f"import torch\n{parts}{rest}{head}\n    with torch.no_grad():\n    {line}\n"


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
    (rollout,) = findings
    assert rollout.code == "GF103" and rollout.fix is not None and rollout.fix.applicability is Applicability.SAFE
    text = (PREAMBLE + ROLLOUT).encode()
    assert {b"actions.append(action)", b"values.append(value)"} <= {text[s.span.start : s.span.end] for s in rollout.story}


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


@pytest.mark.parametrize(
    ("freeze", "codes"),
    [
        ("", {"GF103"}),
        ("for param in model.parameters():\n    param.requires_grad = False", set()),
        ("for param in model.parameters():\n    param.requires_grad_(False)", set()),
        ("model.requires_grad_(False)", set()),
        ("model.features.requires_grad_(False)", {"GF103"}),
        ("model.features.weight.requires_grad = False", {"GF103"}),
        ("for param in model.features.parameters():\n    param.requires_grad = False", {"GF103"}),
        ("for param in list(model.named_parameters()):\n    param[1].requires_grad = False", set()),
        ("for _, param in model.module.named_parameters():\n    param.requires_grad_(False)", {"GF103"}),
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


@pytest.mark.parametrize(
    ("freeze", "codes"),
    [
        ("", {"GF103"}),
        ("for param in self.parameters():\n            param.requires_grad = trains", set()),
        ("self.requires_grad_(trains)", set()),
        ("self.requires_grad_(requires_grad=trains)", set()),
        ("self.requires_grad_(trains)\n        self.requires_grad_()", {"GF103"}),
    ],
)
def test_unknown_layers_of_a_model_that_is_frozen(freeze: str, codes: set[str]) -> None:
    program = f"""
from elsewhere import load

class Features(nn.Module):
    def __init__(self, trains=False):
        super().__init__()
        self.layers = nn.ModuleList([load("first"), load("second")])
        {freeze}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

model = Features()
model.eval()
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


def test_a_layer_that_learns_nothing() -> None:
    program = "norm = nn.BatchNorm1d(4{how})\nnorm.eval()\nfor x in torch.ones(9, 3, 4):\n    print(norm(x).sum().item())\n"
    assert told(program.format(how=", affine=False")) == set()
    assert told(program.format(how="")) == {"GF103"}


@pytest.mark.parametrize(
    ("body", "wrapped"),
    [
        (["seen = 1", "print(F.mse_loss(net(x), y).item())"], "    seen = 1\n    with torch.no_grad():\n        print("),
        (
            ["out = net(x)", "print(F.mse_loss(out, y).item())"],
            "with torch.no_grad():\n    for x, y in valid:\n        out = net(x)\n",
        ),
        (
            ["if seen:", "    print(F.mse_loss(net(x), y).item())"],
            "    if seen:\n        with torch.no_grad():\n            print(",
        ),
        (
            ["seen = unseen(x)", "out = net(x)", "print(F.mse_loss(out, y).item())", "print(seen)"],
            "    seen = unseen(x)\n    with torch.no_grad():\n        out = net(x)\n        print(F.mse_loss(out, y).item())\n    print(seen)\n",
        ),
        (
            ["seen = 1", "for row in x:", "    out = net(row)", "    print(F.mse_loss(out, y).item())"],
            "    seen = 1\n    with torch.no_grad():\n        for row in x:\n            out = net(row)\n",
        ),
    ],
    ids=("one statement records", "all do", "one in a block", "some do", "a loop inside does"),
)
def test_a_loop_is_not_indented_where_fewer_statements_record(tmp_path: Path, body: list[str], wrapped: str) -> None:
    path = tmp_path / "toy.py"
    loop = "for x, y in valid:\n" + "".join(f"    {line}\n" for line in body)
    path.write_text("import torch\n" + NET + "net.eval()\nseen = 3\n" + loop)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF103",)), repair=True))
    assert wrapped in outcome.after.decode()


def test_a_function_is_decorated_whose_forward_passes_stand_beside_its_loop_too(tmp_path: Path) -> None:
    program = """
def greedy(x):
    code = encoder(x)
    for _ in range(3):
        code = code + net(code).argmax(1, keepdim=True)
    return code.sum().item()

encoder = nn.Linear(3, 3)
net(encoder(x)).sum().backward()
for batch in torch.randn(5, 4, 3):
    print("=> " + str(greedy(batch)))
"""
    assert repaired(tmp_path, program, select=("GF103",)) == program.replace("def greedy", "@torch.no_grad()\ndef greedy")


ONCE = PREAMBLE + """
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
{}
"""


@pytest.mark.parametrize(
    ("after", "is_found"),
    [
        ("drawn = model(x)\npoints = drawn.detach().cpu().numpy()\nprint(points.max())", True),
        ("points = model(x).detach().numpy()\nprint(points.max())", True),
        ("print(model(x).argmax().item())", True),
        ("print(model(x).detach().max())", False),
        ("F.mse_loss(model(x), y).backward()", False),
    ],
)
def test_a_forward_pass_that_runs_once_is_optional(after: str, is_found: bool) -> None:
    found = [finding for finding in findings_of(Path("train.py"), ONCE.format(after)) if finding.code == "GF103"]
    assert [finding.optional for finding in found] == [True] * is_found


def test_what_also_runs_in_a_loop_is_not_optional() -> None:
    score = "\ndef score(x):\n    seen = model(x)\n    return seen.argmax(1).tolist()\n\nprint(score(x))\n"
    for after, optional in ((score, True), (score + "for x, y in loader:\n    print(score(x))\n", False)):
        found = [finding for finding in findings_of(Path("train.py"), ONCE.format(after)) if finding.code == "GF103"]
        assert [finding.optional for finding in found] == [optional]


HEADS = {
    "for row in {}.softmax(1):\n        total += row.mean().item()": "net(xs)",
    "while {}.mean().item() > 3 and total < 9:\n        total += 1.0": "net(xs)",
    "with open(str({}.mean().item())) as file:\n        total += 1.0": "net(xs)",
}
BELOW = """
import torch
from torch import nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def evaluate(xs):
    total = 0.0
    {}
    return total
for _ in range(3):
    loss = net(torch.randn(2, 3)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(evaluate(torch.randn(2, 3)))
"""


@pytest.mark.parametrize(("statement", "call"), HEADS.items())
def test_the_call_that_records_is_named_and_not_the_statement_that_it_begins(statement: str, call: str) -> None:
    program = BELOW.format(statement.format(call))
    findings = [each for each in analyse(Path("page.py"), program).findings if each.code == "GF103"]
    assert {program.encode()[each.story[0].span.start : each.story[0].span.end].decode() for each in findings} == {call}


FAR = BELOW.replace("net = nn.Linear(3, 3)\n", "def build():\n    made = nn.Linear(3, 3)\n    made.eval()\n    return made\nnet = build()\n")


def test_evaluation_mode_is_told_where_it_is_of_the_evaluation() -> None:
    loop = "{}for x in xs:\n        total += net(x).mean().item()"
    for mode, program in (("", FAR), ("net.eval()\n    ", BELOW)):
        (finding,) = (each for each in analyse(Path("page.py"), program.format(loop.format(mode))).findings if each.code == "GF103")
        assert any("eval() does not" in each.message for each in finding.story) is bool(mode)
