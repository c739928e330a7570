"""GF903: `Variable`, `volatile`, `retain_variables`, and a gradient of one dimension."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import HEAD, has_to_be_asked_for, is_left_alone, repaired

LEFT_ALONE = {
    "an array is no tensor": """
import numpy as np
try:
    v = Variable(np.ones(3))
except TypeError:
    pass
""",
    "a flag is not known": """
import sys
v = Variable(x, requires_grad=len(sys.argv) > 1)
""",
    "flags are not in sight": """
def f(t, **flags):
    return Variable(t, **flags).sum().item()
f(x)
""",
    "a gradient that matches": """
loss.view(1).backward(torch.ones(1))
""",
    "a gradient of no dimension": """
loss.backward(torch.tensor(1.0))
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(tmp_path: Path, program: str) -> None:
    assert is_left_alone(tmp_path, program)


UNSAFE = {
    "volatile in code that is not in sight": """
import other
v = Variable(x, volatile=True)
y = other.net(v)
other.keep(y)
""",
    "a tensor of another file": """
def f(t):
    return Variable(t).sum().item()
""",
}


@pytest.mark.parametrize("program", UNSAFE.values(), ids=UNSAFE)
def test_what_has_to_be_asked_for(tmp_path: Path, program: str) -> None:
    assert has_to_be_asked_for(tmp_path, program)


REPAIRED = {
    "fresh noise": (
        """
v = Variable(torch.randn(3))
""",
        """
v = torch.randn(3)
""",
    ),
    "a sum": (
        """
v = Variable(x + 1).sum()
""",
        """
v = (x + 1).sum()
""",
    ),
    "a rebound name": (
        """
x = Variable(x)
""",
        """
""",
    ),
    "a cut": (
        """
v = Variable(net(x))
""",
        """
v = net(x).detach()
""",
    ),
    "a fresh leaf": (
        """
v = Variable(torch.randn(3), requires_grad=True)
""",
        """
v = torch.randn(3).requires_grad_()
""",
    ),
    "a leaf of something": (
        """
v = Variable(x, requires_grad=True)
""",
        """
v = x.detach().requires_grad_()
""",
    ),
    "no flag": (
        """
v = Variable(torch.randn(3), requires_grad=False, volatile=False)
""",
        """
v = torch.randn(3)
""",
    ),
    "a conditional": (
        """
v = Variable(x if x.sum() > 0 else x + 1).cpu()
""",
        """
v = (x if x.sum() > 0 else x + 1).cpu()
""",
    ),
    "several lines": (
        """
v = Variable(torch.randn(3) +
             torch.ones(3))
""",
        """
v = (torch.randn(3) +
             torch.ones(3))
""",
    ),
    "a gradient of one element": (
        """
loss.backward(torch.ones(1))
""",
        """
loss.backward(torch.ones(1).squeeze())
""",
    ),
    "a gradient for a penalty over parameters": (
        """
penalty = sum(p.pow(2).sum() for p in net.parameters())
penalty.backward(torch.ones(1))
""",
        """
penalty = sum(p.pow(2).sum() for p in net.parameters())
penalty.backward(torch.ones(1).squeeze())
""",
    ),
    "a gradient by name": (
        """
loss.backward(gradient=torch.Tensor([2.0]))
""",
        """
loss.backward(gradient=torch.Tensor([2.0]).squeeze())
""",
    ),
    "retain_variables for a second walk": (
        """
loss.backward(retain_variables=True)
loss.backward()
""",
        """
loss.backward(retain_graph=True)
loss.backward()
""",
    ),
    "one statement, two regions": (
        """
a, b = Variable(x, volatile=True), Variable(x)
y = net(a)
""",
        """
a, b = x, x
with torch.no_grad():
    y = net(a)
""",
    ),
}


@pytest.mark.parametrize(("before", "after"), REPAIRED.values(), ids=REPAIRED)
def test_what_is_repaired(tmp_path: Path, before: str, after: str) -> None:
    assert repaired(tmp_path, before) == after


@pytest.mark.parametrize("guard", ("", 'if __name__ == "__main__":\n    print(loss.item())\n'), ids=("module", "script"))
def test_an_import_goes_when_its_last_use_has_gone(tmp_path: Path, guard: str) -> None:
    """Not that of a module: others may import the name from it."""
    path = tmp_path / "toy.py"
    path.write_text(HEAD.replace("import Variable", "import Function, Variable") + "v = Variable(torch.randn(3))\n" + guard)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF903",)), repair=True))
    kept = "from torch.autograd import Function, Variable\n" if not guard else "from torch.autograd import Function\n"
    assert outcome.after.decode() == HEAD.replace("from torch.autograd import Variable\n", kept) + "v = torch.randn(3)\n" + guard
    assert len(outcome.findings) == (0 if guard else 1)


TYPES = """
def cut(h):
    if type(h) == Variable:
        return Variable(h.data)
    return tuple(cut(v) for v in h)
print(cut(loss), cut((loss, x)))
"""


def test_a_test_for_the_type_of_a_variable(tmp_path: Path) -> None:
    """It is never true any more: what the program does instead is for its owner to decide."""
    after = repaired(tmp_path, TYPES, unsafe=True, select=("GF903",))
    assert "if isinstance(h, torch.Tensor):" in after
    assert "if type(h) == Variable:" in repaired(tmp_path, TYPES, select=("GF903",))


EVALUATION = """
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()

def evaluate(net):
    net.eval()
    total = 0.0
    for x, y in loader:
        x = Variable(x, volatile=True)
        y = Variable(y, volatile=True)
        total += F.mse_loss(net(x), y).item()
    return total

print(evaluate(net))
"""


def test_an_evaluation_with_flags_is_one_fault(tmp_path: Path) -> None:
    path = tmp_path / "toy.py"
    path.write_text(HEAD + EVALUATION)
    job = Job((tmp_path,), Wanted(("GF1", "GF903"), unsafe=True), edits=True)
    (finding,) = [f for f in examine(path, job).findings if not f.optional]
    assert finding.code == "GF903" and len(finding.story) >= 3
    after = examine(path, Job((tmp_path,), Wanted(("GF103", "GF903"), unsafe=True), repair=True)).after.decode()
    assert "@torch.no_grad()\ndef evaluate(net):" in after and "Variable(" not in after.replace(HEAD, "")


def test_a_flag_that_is_handed_to_another_file(tmp_path: Path) -> None:
    (tmp_path / "inputs.py").write_text(
        "from torch.autograd import Variable\n\n\ndef made(x, volatile=False):\n    return Variable(x, volatile=volatile)\n"
    )
    program = """import torch
from torch import nn
from inputs import *

net, target = nn.Linear(3, 1), nn.Linear(3, 1)
for x in torch.ones(4, 2, 3):
    aim = target(made(x, volatile=True))
    loss = (net(made(x)) - aim).pow(2).mean()
    loss.backward()
"""
    path = tmp_path / "train.py"
    path.write_text(program)
    found = [finding for finding in findings_of(path, program, (tmp_path,)) if finding.code == "GF903"]
    assert [(finding.message, finding.fix) for finding in found] == [
        ("`volatile` of `Variable(x, volatile=vola...` is ignored: the graph is recorded", None)
    ]


PAIRS = """
model, kept = nn.Linear(3, 3), []

def infer(loader):
    for inputs, labels in loader:
        inputs = Variable(inputs, volatile=True)
        labels = Variable(labels, volatile=True)
        kept.append(F.mse_loss(model(inputs), labels))
    return kept
"""


def test_the_inputs_and_the_labels_of_a_loop_are_one_fault() -> None:
    found = [f for f in findings_of(Path("toy.py"), HEAD + PAIRS) if f.code == "GF903" and "volatile" in f.message]
    assert len(found) == 1 and found[0].fix is not None
    assert found[0].fix.title == "compute this under `torch.no_grad()`"


BELOW = """
v = Variable(x, volatile=True)
{}
"""


@pytest.mark.parametrize(
    ("use", "recording"),
    [
        ("for _ in range(3):\n    print(len(str(x)))\n    shown = net(v)\n    print(shown.sum().item())", "shown = net(v)"),
        ("with open('log') as file:\n    file.read()\n    print(net(v).sum().item())", "print(net(v).sum().item())"),
        ("for row in net(v):\n    print(row.sum().item())", "net(v)"),
    ],
)
def test_what_records_is_named_and_not_the_statement_around_it(use: str, recording: str) -> None:
    program = HEAD + BELOW.format(use)
    (found,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF903")
    spans = [each.span for each in found.story if each.message.startswith("this records")]
    assert [program.encode()[span.start : span.end].decode() for span in spans] == [recording]
