"""GF901: an index on what has no dimension."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

from .toys import is_left_alone, repaired

LEFT_ALONE = {
    "a vector has an element 0": """
v = net(x).sum(1).detach()[0]
""",
    "the larger of two tensors has the shape of both": """
v = torch.max(net(x), x).detach()[0]
""",
    "one element of one dimension": """
v = loss.detach().view(1)[0]
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(tmp_path: Path, program: str) -> None:
    assert is_left_alone(tmp_path, program)


WALKED_IN_PART = """
def check(model, x):
    out = model(x).flatten()
    {walked}
    print(out[0])
"""


@pytest.mark.parametrize(
    ("walked", "is_told"),
    [
        ("out.backward()", True),
        ("out[0].backward()", False),
        ("for each in out:\n        each.backward(retain_graph=True)", False),
        ("first, second = out\n    first.backward()", False),
        ("next(iter(out)).backward()", False),
    ],
)
def test_what_has_a_part_of_one_element_has_an_element_0(tmp_path: Path, walked: str, is_told: bool) -> None:
    found = findings_of(tmp_path / "a.py", WALKED_IN_PART.format(walked=walked))
    assert ("GF901" in {finding.code for finding in found}) is is_told


ASKED_FOR = """
from elsewhere import forward_loss
for batch in batches:
    loss = forward_loss(batch)
    if {test}:
        print(loss[0])
    loss.backward()
"""


@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ("isinstance(loss, tuple)", False),
        ("not torch.is_tensor(loss)", False),
        ("loss.dim() > 0", False),
        ("loss is not None", True),
        ("isinstance(batch, tuple)", True),
    ],
)
def test_what_is_indexed_where_a_branch_tells_its_kind(tmp_path: Path, test: str, is_told: bool) -> None:
    found = findings_of(tmp_path / "a.py", ASKED_FOR.format(test=test))
    assert ("GF901" in {finding.code for finding in found}) is is_told


HELPER = """
def to_np(t):
    return t.data.cpu().numpy()[0]
print(to_np(loss))
"""


SCORED = """
import torch

def loss_of(net, x, y):
    return net.loss_fn(net.body(x), y)

def train(net, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss_of(net, x, y).backward()
        optimizer.step()

def score(net, loader):
    return sum(loss_of(net, x, y).data.cpu().numpy()[0] for x, y in loader)
"""


def test_what_a_helper_gives_for_a_walk_tells_what_it_gives_elsewhere() -> None:
    """The other network may give something else there, so that the fix is not safe."""
    found = [each for each in findings_of(Path("train.py"), SCORED) if each.code == "GF901"]
    assert [each.fix is not None and each.fix.applicability for each in found] == [Applicability.UNSAFE]


def test_a_helper_that_gets_a_vector_too_is_left_alone(tmp_path: Path) -> None:
    assert is_left_alone(tmp_path, HELPER + "print(to_np(net.bias))\n", select=("GF901",))


def test_a_helper_that_all_callers_give_a_loss_is_repaired(tmp_path: Path) -> None:
    assert "return t.item()\n" in repaired(tmp_path, HELPER, select=("GF901",))


@pytest.mark.parametrize(
    ("total", "told"),
    [("2 * a + b", {"a.data[0]", "b.data[0]"}), ("a @ b", set()), ("a", {"a.data[0]"})],
)
def test_parts_of_one_number_have_one_element(total: str, told: set[str]) -> None:
    program = f"""import torch
model = torch.nn.Linear(3, 3)
def step(x, shape):
    a, b = model(x).reshape(shape), model(x).reshape(shape)
    loss = {total}
    loss.backward()
    print(a.data[0], b.data[0])
"""
    found = [f for f in findings_of(Path("toy.py"), program) if f.code == "GF901"]
    assert {f.message.split("`")[1] for f in found} == told


@pytest.mark.parametrize(
    "score", ("(net(x) > 0.5).float().mean()", "(0.5 < net(x)).float().mean()", "(net(x).argmax(1) == labels).sum()")
)
def test_a_score_of_comparisons_has_no_dimension(tmp_path: Path, score: str) -> None:
    program = f"""
labels = torch.zeros(4)
shown = {score}.data[0]
print("%.3f" % shown)
"""
    assert f"shown = {score}.item()\n" in repaired(tmp_path, program, select=("GF901",))


WALKED = """
import torch

def train(model, optimizer, episode):
    total = 0
    for x, action, weight in episode:
        out = torch.relu(model(x))
        {term}
        total = total + weight * term
    penalty = model.penalty()
    loss = total + 0.1 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(total.data[0], penalty.data.numpy()[0])
"""


@pytest.mark.parametrize(
    ("term", "is_told"),
    [
        ("term = out.gather(1, action)", False),
        ("term = torch.log_softmax(out, dim=1).gather(1, action)", False),
        ("term = out.sum(1)", False),
        ("term = out.index_select(1, action)", False),
        ("term = out.narrow(-2, 0, 1) - model.baseline(x)", False),
        ("term = out.view(1, 1)", False),
        ("term = out.mean()", True),
        ("term = out", True),
    ],
)
def test_what_has_one_element_and_a_dimension_has_an_element_0(term: str, is_told: bool) -> None:
    """A backward() shows that the sum has one element; what is added to something with a dimension may have one, too."""
    found = findings_of(Path("train.py"), WALKED.format(term=term))
    assert any(finding.code == "GF901" for finding in found) is is_told
