"""What a program does out of the way of its loop: code behind a loader, attributes by any name, identities, texts, types, counts."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

EVALUATED = """
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        x = torch.ones(3) * index
        {made}
        return x

net(torch.ones(2, 3)).sum().backward()
rows = []
memory = torch.zeros(4, 3)
net.eval()
for x in DataLoader(Items()):
    out = net(x).sum()
    {used}
    print(out.item())
{after}
"""
GRADIENT = "x, = torch.autograd.grad(net(x.requires_grad_()).sum(), x)"


@pytest.mark.parametrize(
    ("made", "used", "after", "codes"),
    [
        ("", "", "", ["GF103"]),
        (GRADIENT, "", "", []),
        ("", "live = 'grad_fn' in repr(out)", "", []),
        ("", "live = 'loss' in repr(x)", "", ["GF103"]),
        ("", "rows.append(memory[0])", "", ["GF103"]),
        ("", "rows.append(memory[0])", "rows[0].add_(net(torch.ones(3)).sum())", ["GF103"]),
    ],
    ids=("plain", "the items need a gradient", "the text says it", "another text", "views", "views that are written"),
)
def test_evaluations_and_what_lies_behind_them(made: str, used: str, after: str, codes: list[str]) -> None:
    text = EVALUATED.format(made=made or "pass", used=used or "pass", after=after)
    assert [code for code, _ in safe_titles(SETUP + text) if code == "GF103"] == codes


BESIDE = """
for x in torch.randn(10, 2, 3):
    loss = net(x).sum()
    loss.backward()
    net.eval()
    out = net(x).exp()
    {used}
    net.train()
"""


@pytest.mark.parametrize(
    ("used", "codes"),
    [
        ("print(out)", []),
        ("print('out', out[0])", []),
        ("print([out])", []),
        ("print(f'{out}')", []),
        ("print('{}'.format(out))", []),
        ("print('%s' % out.mean())", []),
        ("import logging; logging.getLogger().info('%s', out)", []),
        ("print(f'{out.mean()}')", ["GF103"]),
        ("print('{:.3f} {:.3f}'.format(out.mean(), out.sum()))", ["GF103"]),
        ("print('%d: %.3f' % (1, out.mean()))", ["GF103"]),
        ("import logging; logging.getLogger().info('%.3f', out.mean())", ["GF103"]),
        ("print(out.argmax(), out.shape, torch.max(out, 1)[1], out.log().detach())", ["GF103"]),
        ("print(len(out), out > 0)", ["GF103"]),
        ("live = 'grad_fn' in repr(out)", []),
        ("print(len(str(out)))", []),
        ("print(f'{out.item()}')", ["GF103"]),
    ],
)
def test_the_text_of_an_output_behind_the_evaluation(used: str, codes: list[str]) -> None:
    """The text of a tensor says that it has a graph, its number does not; a program may print the one, or go by it."""
    assert [code for code, _ in safe_titles(SETUP + BESIDE.format(used=used)) if code == "GF103"] == codes


TOTAL = """
errors, parts = [], []
for x in data:
    total = 0.0
    for y in x:
        loss = net(y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
        parts.append(1)
        if y.sum() > 0:
            errors.append(y)
    print(f"{{total / {count}:.3f}}")
{more}
"""


@pytest.mark.parametrize(
    ("count", "more", "number"),
    [
        ("len(x)", "", True),
        ("len(parts)", "", True),
        ("len(errors)", "", False),  # a tensor over nothing is infinite, a number raises
        ("len(x)", "kept = torch.ones(3).numpy().astype('f2')", False),
    ],
)
def test_totals_that_python_would_not_divide_alike(count: str, more: str, number: bool) -> None:
    titles = [title for code, title in safe_titles(SETUP + TOTAL.format(count=count, more=more)) if code == "GF101"]
    assert [".item()" in title for title in titles] == [number]


RANKED = """
history = []
for step in range(9):
    loss = net(torch.randn(2, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss)
ranks = {kept}
print(len(ranks))
"""


@pytest.mark.parametrize(
    ("kept", "number"),
    [
        ("[place for place, loss in enumerate(history)]", True),
        ("{loss: 1 for loss in history}", False),
        ("{loss for loss in history}", False),
    ],
)
def test_losses_that_are_keys(kept: str, number: bool) -> None:
    titles = [title for code, title in safe_titles(SETUP + RANKED.format(kept=kept)) if code == "GF102"]
    assert any(".item()" in title for title in titles) is number


PLAYERS = """
from torch.autograd.graph import register_multi_grad_hook
value = nn.Linear(3, 1)
slow = torch.optim.SGD(value.parameters(), lr=0.1)
{before}
for step in range(6):
    x = torch.randn(8, 3)
    v = value(x)
    loss = (net(x) * (1 - v)).mean()
    goal = (v - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    {between}
    opt.step()
    slow.zero_grad()
    goal.backward()
    slow.step()
"""


@pytest.mark.parametrize(
    ("before", "between", "codes"),
    [
        ("", "", ["GF303"]),
        ("register_multi_grad_hook(tuple(value.parameters()), print)", "", []),
        ("names = ['grad']", "print([getattr(p, names[0]) for p in value.parameters()])", []),
    ],
)
def test_gradients_that_are_read_by_any_name(before: str, between: str, codes: list[str]) -> None:
    text = SETUP + PLAYERS.format(before=before, between=between or "pass")
    if not before:
        text = text.replace("from torch.autograd.graph import register_multi_grad_hook\n", "")
    assert [code for code, _ in safe_titles(text)] == codes


STATE = """
cell = nn.RNNCell(3, 4)
start = torch.zeros(2, 4)
h = start
for step in range(5):
    for x in torch.randn(4, 2, 3):
        {asked}
        h = cell(x, h)
    h.pow(2).mean().backward()
"""


@pytest.mark.parametrize(
    ("asked", "codes"), [("pass", ["GF201"]), ("h = torch.ones(2, 4) if h is start else h", [])], ids=("not asked", "asked")
)
def test_state_that_is_known_by_its_object(asked: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + STATE.format(asked=asked))] == codes


MIXED = """
counted = []
weight = nn.Parameter(torch.ones(3))
opt.add_param_group({{"params": [weight]}})
def mixture():
    {effect}
    return torch.softmax(weight, 0)
mixed = mixture()
for x in torch.randn(5, 2, 3):
    loss = (net(x) * mixed).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(("effect", "moves"), [("pass", True), ("counted.append(1)", False)])
def test_what_is_moved_and_counted(effect: str, moves: bool) -> None:
    assert bool([code for code, _ in safe_titles(SETUP + MIXED.format(effect=effect)) if code == "GF203"]) is moves


VOLATILE = """
from torch.autograd import Variable
net(torch.ones(2, 3)).sum().backward()
def predict(batch):
    v = Variable(batch, volatile=True)
    {change}
    return net(v).data.max().item()
for step in range(9):
    print(predict(torch.ones(2, 3)))
"""


@pytest.mark.parametrize(("change", "safe"), [("pass", True), ("v.data = v.data - 1", False)])
def test_a_variable_that_gets_data_of_its_own(change: str, safe: bool) -> None:
    assert bool([code for code, _ in safe_titles(SETUP + VOLATILE.format(change=change)) if code == "GF903"]) is safe


RESUMED = """
def slopes():
    for _ in range(9):
        x = torch.ones(2, 3, requires_grad=True)
        {walk}
        yield 1
net(torch.ones(2, 3)).sum().backward()
begun = slopes()
net.eval()
for x in torch.ones(9, 2, 3):
    next(begun)
    print(net(x).sum().item())
"""


@pytest.mark.parametrize(("walk", "codes"), [("pass", ["GF103"]), ("net(x).sum().backward()", [])])
def test_generators_that_go_on_inside(walk: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + RESUMED.format(walk=walk)) if code == "GF103"] == codes


@pytest.mark.parametrize(
    ("look", "codes"),
    [
        ("", ["GF101"]),
        ("import __main__", []),
        ("import sys; here = sys.modules[__name__]", []),
        ("print.__globals__", []),
        ("import sys; hosted = 'google.colab' in sys.modules", ["GF101"]),
        ("import sys\nif 'apex' not in sys.modules:\n    print('slow')", ["GF101"]),
        ("import sys; loaded = [name for name in ('json', 'csv') if name in sys.modules]", ["GF101"]),
        ("import sys; found = sys.modules in (None, print)", []),
    ],
)
def test_a_program_that_sees_its_own_variables(look: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + look + TOTAL.format(count="len(x)", more="")) if code == "GF101"] == codes


EXPECTED = """
import unittest
class Test(unittest.TestCase):
    {decorated}
    def test_two(self):
        h = net(torch.ones(2, 3))
        a, b = h.exp().sum(), h.pow(2).mean()
        a.backward()
        b.backward()
"""


@pytest.mark.parametrize(("decorated", "safe"), [("", True), ("@unittest.expectedFailure", False)])
def test_what_is_expected_to_fail(decorated: str, safe: bool) -> None:
    assert bool(safe_titles(SETUP + EXPECTED.format(decorated=decorated))) is safe


ROUNDED = """
total = 0.0
for x in torch.ones(9, 2, 3):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
{shown}
"""


@pytest.mark.parametrize(
    ("shown", "number"),
    [("print(round(total, 3))", True), ("try:\n    print(round(total, 1))\nexcept TypeError:\n    print(f'{total:.4f}')", False)],
    ids=("rounded", "or not"),
)
def test_a_number_that_is_rounded_where_a_tensor_is_not(shown: str, number: bool) -> None:
    titles = [title for code, title in safe_titles(SETUP + ROUNDED.format(shown=shown)) if code == "GF101"]
    assert any(".item()" in title for title in titles) is number


KEPT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.zero = nn.RNNCell(3, 4), torch.zeros(2, 4)
        self.h = self.zero
    def forward(self, x):
        {asked}
        self.h = self.cell(x, self.h)
        return self.h
model = Net()
for x in torch.ones(9, 2, 3):
    model(x).pow(2).mean().backward()
"""


@pytest.mark.parametrize(
    ("asked", "codes"), [("pass", ["GF202"]), ("print(self.h is None)", ["GF202"]), ("print(self.h is self.zero)", [])]
)
def test_state_of_an_object_that_is_known_by_itself(asked: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + KEPT.format(asked=asked))] == codes
