"""An evaluation runs without recording only where that is seen by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.model import Decorate
from graphfix.run.engine import findings_of
from tests.obligations.programs import SETUP, only, safe_titles

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
    "a place for a result that autograd refuses": PLAIN.replace(
        "{body}",
        """try:
            return torch.mm(x, self.a.weight.t(), out=torch.empty(len(x), 1))
        except RuntimeError:
            return self.a(x) * 2""",
    ),
    "an array that autograd refuses": "import numpy as np"
    + PLAIN.replace(
        "{body}",
        """h = self.a(x)
        try:
            return h * float(np.abs(h).max())
        except RuntimeError:
            return h""",
    ),
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


CONVERTED = """
import numpy as np
import torch
from scipy import stats
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def rows_of(value):
    try:
        return {made}
    except (RuntimeError, TypeError):
        return []

def validate(batches):
    net.eval()
    rows = []
    for x in batches:
        rows.extend(rows_of(net(x){cut}))
    return rows

for _ in range(3):
    net.train()
    opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
print(len(validate([torch.randn(3, 4) for _ in range(2)])))
"""
CONVERSIONS = ["np.asarray(value).tolist()", "stats.rankdata(value).tolist()", "np.vstack([value, value]).tolist()", "value.numpy().tolist()"]


@pytest.mark.parametrize("made", CONVERSIONS)
def test_an_array_of_what_an_evaluation_gives_may_be_refused(made: str) -> None:
    assert safe_titles(CONVERTED.format(made=made, cut="")) == []


@pytest.mark.parametrize("made", CONVERSIONS[:-1])
def test_an_array_of_what_has_no_graph_is_none(made: str) -> None:
    assert [code for code, _ in safe_titles(CONVERTED.format(made=made, cut=".detach()"))] == ["GF103"]


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


NAMESAKES = {
    "a function of the program": ("def checkpoint(total):\n    print('saving', total)\n", "checkpoint(total)"),
    "a method of the program": ("class Log:\n    def cond(self, total):\n        return total > 1\n", "print(Log().cond(total))"),
    "of numpy": ("import numpy as np\n", "print(np.matmul(np.ones((2, 2)), np.ones((2, 2))).sum())"),
    "imported under the name": ("from numpy.linalg import eigvals\nimport numpy\n", "print(eigvals(numpy.eye(2)))"),
}


@pytest.mark.parametrize(("made", "used"), NAMESAKES.values(), ids=NAMESAKES)
def test_what_has_the_name_of_such_a_function_alone(made: str, used: str) -> None:
    program = LOOP.replace("{net}", made + PLAIN.replace("{body}", "return self.a(x)"))
    program = program.replace("    return total\n", f"    {used}\n    return total\n")
    assert [code for code, _ in safe_titles(program)] == ["GF103"]


@pytest.mark.parametrize(("function", "codes"), [("torch.linalg.svdvals", []), ("torch.linalg.det", ["GF103"])])
def test_a_function_that_is_taken_out_of_a_table(function: str, codes: list[str]) -> None:
    body = "return self.a(x).mean() + TABLE['one'](torch.ones(3, 3)).sum()"
    program = LOOP.replace("{net}", f"TABLE = {{'one': {function}}}\n" + PLAIN.replace("{body}", body))
    assert [code for code, _ in safe_titles(program)] == codes


KEPT_FOR_TRAINING = """
import collections, itertools, torch
from torch import nn
from torch.nn.utils import prune

gain = nn.Parameter(torch.ones(3))
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD([gain, *net.parameters()], lr=0.1)
{before}

def evaluate():
    total = 0.0
    for x in torch.randn(3, 2, 3):
        total += net(x * {scale}).pow(2).mean().item()
    return total / 3

for epoch in range(5):
    print(evaluate())
    loss = net(torch.randn(5, 3) * {scale}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""
KEEPERS = {
    "a generator that is begun outside": (
        "def gains():\n    w = gain\n    while True:\n        w = w * gain\n        yield w\nmade = gains()",
        "next(made)",
        "pass",
    ),
    "a cycle of what is computed": ("made = itertools.cycle(gain * i for i in range(4))", "next(made)", "pass"),
    "branches of an iterator": (
        "def gains():\n    while True:\n        yield gain.exp()\nleft, made = itertools.tee(gains())",
        "next(left)",
        "next(made)",
    ),
    "a dict that computes what is missing": (
        "class Made(dict):\n    def __missing__(self, key):\n        self[key] = value = gain.exp()\n        return value\nmade = Made()",
        "made['gain']",
        "made.clear()",
    ),
    "an operator": (
        "class Made:\n    kept = None\n    def __matmul__(self, other):\n        if Made.kept is None:\n            Made.kept = gain.exp()\n"
        "        return Made.kept\nmade = Made()",
        "(made @ 1)",
        "Made.kept = None",
    ),
    "a list of the class": (
        "class Made:\n    kept = []\n    def __class_getitem__(cls, key):\n        if not cls.kept:\n            cls.kept.append(gain.exp())\n"
        "        return cls.kept[0]",
        "Made[0]",
        "Made.kept.clear()",
    ),
    "a descriptor": (
        "class Once:\n    def __get__(self, owner, kind):\n        if 'made' not in owner.__dict__:\n            owner.__dict__['made'] = gain.exp()\n"
        "        return owner.__dict__['made']\nclass Made:\n    scale = Once()\nmade = Made()",
        "made.scale",
        "made.__dict__.clear()",
    ),
    "an attribute of what it gets": (
        "def scaled(x):\n    x.kept = x * gain\n    return x.kept\nshared = torch.ones(2, 3)",
        "scaled(shared).sum()",
        "shared.kept.sum().backward()",
    ),
    "an attribute that is set by its name": (
        "class Made:\n    def give(self):\n        object.__setattr__(self, 'kept', gain.exp())\n        return self.kept\nmade = Made()",
        "made.give()",
        "made.kept.sum().backward()",
    ),
    "weights that a hook masks": ("prune.random_unstructured(net, 'weight', 0.4)", "gain", "net.weight.sum().backward()"),
    "a text that is run": ("", "gain", "eval('loss')"),
}


@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_an_evaluation_makes_for_the_training(keeper: str) -> None:
    before, scale, after = KEEPERS[keeper]
    program = KEPT_FOR_TRAINING.format(before=before, scale=scale, after=after)
    safe = [code for code, _ in safe_titles(program) if code == "GF103"]
    assert safe == (["GF103"] if keeper == "a text that is run" else [])  # no variable of the evaluation is read by its name


def test_rows_that_are_ordered_by_their_gradients() -> None:
    program = """
class Row:
    def __init__(self, x):
        self.x = x
    def __lt__(self, other):
        return bool(torch.autograd.grad(net(self.x).sum(), net.parameters())[0].sum() > 0)

def evaluate():
    net.eval()
    total = 0.0
    for row in sorted([Row(x) for x in torch.randn(4, 2, 3)]):
        total += net(row.x).sum().item()
    return total

print(evaluate())
"""
    assert safe_titles(SETUP + program) == []


METHODS = """
class Metrics:
    @{decorator}
    def error({first}):
        net.eval()
        total = 0.0
        for x in torch.randn(4, 2, 3):
            total += net(x).sum().item()
        return total

net(torch.ones(2, 3)).sum().backward()
print(Metrics().error{call})
"""


@pytest.mark.parametrize(
    ("decorator", "first", "call"), [("property", "self", ""), ("classmethod", "cls", "()"), ("staticmethod", "", "()")]
)
def test_the_decorator_goes_below_what_makes_no_function(decorator: str, first: str, call: str) -> None:
    program = SETUP + METHODS.format(decorator=decorator, first=first, call=call)
    finding = only(program)
    assert finding.code == "GF103"
    assert finding.fix is not None
    [decorate] = (each for each in finding.fix.operations if isinstance(each, Decorate))
    assert decorate.inside


DISPATCHER = """
class Evaluate:
    def on_epoch_end(self, epoch):
        net.eval()
        total = 0.0
        for x in torch.randn(3, 2, 3):
            total += net(x).pow(2).mean().item()
        print(epoch, total)
        net.train()

class Other:
    def on_epoch_end(self, epoch):
        {other}

class Callbacks:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def on_epoch_end(self, epoch):
        for callback in self.callbacks:
            callback.on_epoch_end(epoch)

def fit(callbacks):
    callbacks = Callbacks(callbacks)
    for epoch in range(3):
        for x in torch.randn(3, 2, 3):
            loss = net(x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        callbacks.on_epoch_end(epoch)

fit([Evaluate()])
"""


def test_a_dispatcher_that_may_get_to_a_backward_pass_is_not_decorated() -> None:
    """The callback is used by another script, perhaps: it would raise under the decorator."""
    finding = only(SETUP + DISPATCHER.format(other="net(torch.ones(2, 3)).sum().backward()"))
    assert finding.code == "GF103"
    assert finding.fix is None
    assert "raises under no_grad" in finding.unfixed
    assert only(SETUP + DISPATCHER.format(other="print(epoch)")).fix is not None


SAMPLED = """
import torch
from torch import nn

def initialise(m):
    if isinstance(m, nn.Linear):
        {written}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(3, 3))

    def forward(self, x):
        return nn.parallel.data_parallel(self.main, x, range(2)) if x.is_cuda else self.main(x)

net = Net()
net.apply(initialise)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 5, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    shown = net(x)
    torch.save(shown.detach(), 'shown.pt')
"""


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ("nn.init.normal_(m.weight, 0.0, 0.02)", ["GF103"]),
        ("m.weight.data.normal_(0.0, 0.02)", ["GF103"]),
        ("m.weight.detach().normal_(0.0, 0.02)", ["GF103"]),
        ("m.weight.normal_(0.0, 0.02)", ["GF103"]),
        ("m.data = m.weight; m.data.normal_(0.0, 0.02)", ["GF103"]),
    ],
)
def test_a_callback_that_autograd_may_refuse_to_record(written: str, codes: list[str]) -> None:
    """`apply` of a module calls what it is given then, and nobody later: what that raises is raised before the evaluation, with recording or without."""
    assert [code for code, _ in safe_titles(SAMPLED.replace("{written}", written))] == codes


INSIDE = """
import torch
from torch import nn

{before}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.widest = nn.Linear(3, 3), 0

    def forward(self, x):
        hidden = self.body(x).tanh()
        {inside}
        return hidden

net = Net()
net.eval()
rows = []
for x in torch.randn(4, 2, 3):
    rows.append(net(x).sum().item())
print(rows, net.widest)
"""


@pytest.mark.parametrize(
    ("inside", "codes"),
    [
        ("self.widest = max(self.widest, len(repr(hidden[0])))", []),
        ("self.widest = len(f'{hidden!r}')", []),
        ("self.widest = PROBES['recording']()", []),
        ("hidden = hidden / torch.linalg.norm(self.body.weight, ord=2)", []),
        ("hidden = hidden / torch.linalg.norm(hidden, dim=1, keepdim=True)", ["GF103"]),
        ("self.widest = len(f'{hidden.shape}')", ["GF103"]),
        ("self.widest = torch.get_num_threads()", ["GF103"]),
    ],
)
def test_what_is_called_inside_may_tell_if_it_is_recorded(inside: str, codes: list[str]) -> None:
    before = "PROBES = {'recording': torch.is_grad_enabled, 'threads': torch.get_num_threads}" if "PROBES" in inside else ""
    assert [code for code, _ in safe_titles(INSIDE.format(inside=inside, before=before))] == codes


LATE = """
import torch
from torch import nn

slot, rows = [None], {{"x": None}}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.layer, self.rows = nn.Parameter(torch.ones(3)), nn.Linear(3, 1), {{}}

    def forward(self, x):
        gain = self.scale.exp()
        if not self.training:
            {kept} = gain
        return self.layer(x * gain)

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(8, 3), torch.randn(8, 1)

def evaluate():
    net.eval()
    errors = []
    for a, b in zip(x.split(4), y.split(4)):
        errors.append(((net(a) - b) ** 2).mean().item())
    net.train()
    return sum(errors)

def pull(epoch):
    if epoch % 40 == 39:
        return {read}.sum()
    return None

for epoch in range(40):
    score = evaluate()
    extra = pull(epoch)
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    if extra is not None:
        {walked}.backward()
    opt.step()
print(score)
"""


@pytest.mark.parametrize(
    ("kept", "read"),
    [("slot[0]", "slot[0]"), ("rows['x']", "rows.get('x')"), ("self.rows['x']", "net.rows['x']"), ("self.last", "net.last"), ("slot[-1]", "slot[0]")],
)
@pytest.mark.parametrize(("walked", "codes"), [("extra", []), ("(0 * y.sum() + net.scale.sum())", ["GF103"])])
def test_what_is_kept_may_be_walked_where_no_run_comes(kept: str, read: str, walked: str, codes: list[str]) -> None:
    """A run that keeps an item under a known key shows who reads it, as far as it comes: not to the fortieth iteration."""
    assert [code for code, _ in safe_titles(LATE.format(kept=kept, read=read, walked=walked))] == codes


@pytest.mark.parametrize("torch", ["import torch", "pass"])
def test_a_file_has_torch_that_imports_one_that_has(tmp_path: Path, torch: str) -> None:
    (tmp_path / "data.py").write_text("import models\nfrom models import *\n")
    (tmp_path / "models.py").write_text(f"{torch}\nfrom made import net, batches\n")
    (tmp_path / "made.py").write_text(
        "def load():\n    import torch\n    return torch.nn.Linear(3, 1), [torch.ones(2, 3)] * 300\n\n\nnet, batches = load()\n"
    )
    body = "    net.eval()\n    return sum(net(x).mean().item() for x in batches)\n"
    program = f"# evaluates what torch made\nfrom data import *\n\n\ndef evaluate():\n{body}\n\nevaluate()\n"
    (found,) = findings_of(tmp_path / "evaluate.py", program, (tmp_path,), NO_CONVENTIONS)
    assert found.code == "GF103" and found.fix is not None
    assert ("does without torch" in found.fix.doubt) == (torch == "pass")
