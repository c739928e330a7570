"""An evaluation runs without recording only where that is seen by nobody."""

from __future__ import annotations

import pytest

from tests.repairs.programs import safe_titles

LOOP = """
import functools
import torch
from torch import nn

{net}
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [torch.randn(5, 3) for _ in range(3)]

def evaluate(net, data):
    net.eval()
    total = 0.0
    for x in data:
        total += net(x).pow(2).mean().item()
    return total

print(evaluate(net, data))
for x in data:
    net.train()
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(evaluate(net, data))
"""
PLAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 1)
    def forward(self, x):
        {body}
"""
SEEN = {
    "a property that is computed once": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3, 2)), nn.Parameter(torch.ones(2, 1))
    @functools.cached_property
    def weight(self):
        return self.a @ self.b
    def forward(self, x):
        return x @ self.weight
""",
    "a forward pass that asks for the graph": PLAIN.replace(
        "{body}", "h = self.a(x); return h if h.grad_fn is None else h * 1.5"
    ),
    "a forward pass that asks under a name that is made": PLAIN.replace(
        "{body}", "h = self.a(x); return h * (1 + getattr(h, '_'.join(['requires', 'grad'])))"
    ),
    "an operation that asks for which inputs": """
class Coarse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round() if ctx.needs_input_grad[0] else x.clone()
    @staticmethod
    def backward(ctx, g):
        return g
"""
    + PLAIN.replace("{body}", "return Coarse.apply(self.a(x))"),
    "a forward pass that asks whether it is recorded": PLAIN.replace("{body}", "h = self.a(x); return h * (1 + h.requires_grad)"),
    "a write to a parameter that autograd refuses": PLAIN.replace(
        "{body}",
        """table = self.a.weight
        try:
            table[0] = 0.0
        except RuntimeError:
            table = table.clone()
        return x @ table.T""",
    ),
}


@pytest.mark.parametrize("case", SEEN)
def test_what_sees_that_nothing_is_recorded(case: str) -> None:
    assert [each for each in safe_titles(LOOP.replace("{net}", SEEN[case])) if each[0] == "GF103"] == []


def test_an_evaluation_that_nobody_looks_into() -> None:
    assert [code for code, _ in safe_titles(LOOP.replace("{net}", PLAIN.replace("{body}", "return self.a(x)")))] == ["GF103"]


MEMO = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.memo = nn.Linear(3, 1), {}
    def forward(self, x):
        if id(x) not in self.memo:
            self.memo[id(x)] = self.a(x)
        return self.memo[id(x)]
"""
LEFT = PLAIN.replace("{body}", "self.last = self.a(x); return self.last")
LATER = {
    "a memo that training reads": (MEMO, ""),
    "an attribute that is read under a name that is made": (LEFT, "vars(net)['la' + 'st'].sum().backward()"),
    "a copy that is refused": (
        LEFT,
        """
import copy
try:
    kept = copy.deepcopy(net)
except RuntimeError:
    kept = None
""",
    ),
}


@pytest.mark.parametrize("case", LATER)
def test_what_an_evaluation_leaves_behind(case: str) -> None:
    net, after = LATER[case]
    assert [each for each in safe_titles(LOOP.replace("{net}", net) + after) if each[0] == "GF103"] == []


def test_what_is_made_anew_in_each_call_is_not_left_behind() -> None:
    """A mapping of outputs, and an attribute that is read by its name where runs show who reads it."""
    for body in ("self.last = self.a(x); return self.last * 2", "out = {}; out[str(x)] = self.a(x); return out[str(x)]"):
        assert [code for code, _ in safe_titles(LOOP.replace("{net}", PLAIN.replace("{body}", body)))] == ["GF103"], body


def test_a_hook_for_all_modules() -> None:
    hook = "from torch.nn.modules.module import register_module_forward_hook as hook\nhook(lambda m, i, out: out.retain_grad())\n"
    program = LOOP.replace("{net}", PLAIN.replace("{body}", "return self.a(x)"))
    assert [code for code, _ in safe_titles(hook + program)] == []


def test_a_view_that_is_written_to_later() -> None:
    """A view that is made without gradients refuses writes that need one."""
    program = """
import torch
from torch import nn
net = nn.Linear(3, 3)
def centres(net, data):
    net.eval()
    rows = []
    for x in data:
        rows.append(net(x)[0])
    return rows
rows = centres(net, [torch.randn(4, 3) for _ in range(3)])
first = rows[0]
first *= nn.Parameter(torch.ones(3))
print(first.sum().item())
"""
    assert safe_titles(program) == []
    assert [code for code, _ in safe_titles(program.replace("first *=", "first = first *"))] == ["GF103"]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("return self.a(x) @ torch.ones(1, 1)", []),
        ("return x @ self.a.weight.T", []),
        ("return self.a.weight @ x.T", ["GF103"]),
        ("return self.a(x) * torch.linalg.svdvals(x * self.a.weight)[0]", []),
        ("return torch.norm(x * self.a.weight, 'nuc')", []),
        ("return torch.norm(x * self.a.weight, 2)", ["GF103"]),
        ("return nn.functional.scaled_dot_product_attention(x[None], x[None], x[None] * self.a.weight)", []),
        ("return torch.utils.checkpoint.checkpoint(self.a, x, use_reentrant=True)", []),
    ],
)
def test_what_torch_computes_otherwise_without_recording(body: str, codes: list[str]) -> None:
    program = "import torch.utils.checkpoint\n" + LOOP.replace("{net}", PLAIN.replace("{body}", body))
    assert [code for code, _ in safe_titles(program)] == codes


@pytest.mark.parametrize(("function", "codes"), [("torch.linalg.svdvals", []), ("torch.linalg.det", ["GF103"])])
def test_a_function_that_is_taken_out_of_a_table(function: str, codes: list[str]) -> None:
    body = "return self.a(x).mean() + TABLE['one'](torch.ones(3, 3)).sum()"
    program = LOOP.replace("{net}", f"TABLE = {{'one': {function}}}\n" + PLAIN.replace("{body}", body))
    assert [code for code, _ in safe_titles(program)] == codes
