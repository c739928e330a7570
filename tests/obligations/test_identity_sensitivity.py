"""A cut makes a new object: programs that can tell it from the old one get no safe fix."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

LOG = (
    SETUP
    + """
history, table = [], {}
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {first}
    history.append(loss)
{after}
"""
)
SEEN = {
    "an attribute that the code gave it": ("loss.size_of_batch = 5", "print([each.size_of_batch for each in history])"),
    "an attribute of a name that is made": ("setattr(loss, 'step', step)", "print([each.step for each in history])"),
    "all of its attributes": ("loss.step = step", "print([vars(each) for each in history])"),
    "a registry that holds it weakly": (
        "import weakref; registry = weakref.WeakValueDictionary(); registry[step] = loss",
        "print(sum(float(each) for each in registry.values()))",
    ),
    "a table in which it is a key": ("table[loss] = step", "print([table.get(each, 0) for each in history])"),
    "a template that reads its attributes": ("", "print('{0.requires_grad}'.format(history[-1]))"),
    "a template from elsewhere": ("", "print(open('template').read().format(history[-1]))"),
    "a getter made of a text": ("import operator", "print(list(map(operator.attrgetter('requires_grad'), history)))"),
    "an attribute by a name that is not known": ("", "print([getattr(history[-1], name) for name in ['grad_fn']])"),
    "a copy that autograd refuses": (
        "import copy",
        "try:\n    print(len(copy.deepcopy(history)))\nexcept RuntimeError:\n    print('refused')",
    ),
    "an array that autograd refuses": (
        "import numpy as np",
        "points = []\nfor each in history:\n    try:\n        points.append(np.asarray(each * 2))\n    except RuntimeError:\n        pass",
    ),
    "a place for a sum that autograd refuses": (
        "sums = torch.zeros(()); failed = 0",
        "for each in history:\n    try:\n        torch.add(sums, each, out=sums)\n    except RuntimeError:\n        failed += 1\nprint(failed)",
    ),
    "an array of another library": (
        "from scipy import stats",
        "try:\n    print(stats.zscore(history[-1]))\nexcept RuntimeError:\n    print('refused')",
    ),
    "an equal pair": ("loss = torch.stack([loss, loss])", "print((1, history[-1]) == (1, loss))"),
    "an equal record": (
        "loss = torch.stack([loss, loss]); record = {'of': loss}",
        "print({'of': history[-1]} == record)",
    ),
    "all names of the file": ("", "print(sum(getattr(v, 'grad_fn', None) is not None for v in list(globals().values())))"),
    "a pattern": ("", "match history[-1]:\n    case torch.Tensor(requires_grad=True):\n        print('graph')"),
}


AVERAGED = """
import copy
average, refused = 0.0, 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    average = 0.9 * average + 0.1 * loss
    try:
        copy.deepcopy(average)
    except RuntimeError:
        refused += 1
"""


def test_a_copy_that_autograd_refuses_of_what_is_computed() -> None:
    assert safe_titles(SETUP + AVERAGED) == []


@pytest.mark.parametrize("case", SEEN)
def test_no_safe_cut_of_what_is_told_apart_by(case: str) -> None:
    first, after = SEEN[case]
    assert safe_titles(LOG.replace("{first}", first or "pass").replace("{after}", after)) == []


def test_a_function_that_asks_for_the_type_is_given_no_number() -> None:
    after = """import functools
@functools.singledispatch
def cell(value):
    return 0.0
@cell.register
def _(value: torch.Tensor):
    return float(value)
print([cell(each) for each in history])"""
    titles = safe_titles(LOG.replace("{first}", "pass").replace("{after}", after))
    assert [title for _, title in titles if ".item()" in title] == []


def test_an_object_that_is_iterated_gives_what_it_holds() -> None:
    text = (
        SETUP
        + """
class Memory:
    def __init__(self):
        self.items = []
    def push(self, value):
        self.items.append(value)
    def __iter__(self):
        return iter(self.items)
memory = Memory()
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    memory.push(loss)
print(sum(memory).item())
"""
    )
    assert [title for _, title in safe_titles(text) if ".item()" in title] == []


@pytest.mark.parametrize(
    "after",
    ["print('{:.3f}'.format(history[-1]))", "print(f'{history[-1]:.3f}')", "print([each.shape for each in history])"],
)
def test_a_cut_that_nobody_notices(after: str) -> None:
    assert safe_titles(LOG.replace("{first}", "pass").replace("{after}", after))


def test_a_number_that_lies_in_the_same_place_is_no_tensor() -> None:
    text = (
        SETUP
        + """
stats = {"loss": 0.0, "n": 0}
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    stats["loss"] = stats["loss"] + loss.detach()
    if step % 2:
        stats["loss"] = 0.0
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(stats["loss"]))
"""
    )
    assert [code for code, _ in safe_titles(text) if code == "GF904"] == []


def test_a_mean_that_decides_is_computed_from_tensors() -> None:
    text = (
        SETUP
        + """
losses, best, bad = [], None, 0
for step in range(8):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss)
    mean = sum(losses) / len(losses)
    if best is None or mean < best:
        best = mean
    else:
        bad += 1
"""
    )
    assert ("GF102", "store `loss.detach()`") in safe_titles(text)


def test_a_generator_walks_what_it_is_sent() -> None:
    text = (
        SETUP
        + """
def watch():
    worst = None
    while True:
        loss = yield worst
        if loss.item() > 0.5:
            worst = torch.autograd.grad(loss, list(net.parameters()))
watcher = watch()
next(watcher)
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    watcher.send(loss)
    opt.step()
"""
    )
    assert safe_titles(text) == []


def test_a_total_that_is_read_by_its_name_is_not_moved() -> None:
    text = (
        SETUP
        + """
total = 0.0
for step in range(4):
    total = total + net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    total.backward()
    opt.step()
print("{total:.5f}".format_map(globals()))
"""
    )
    assert safe_titles(text) == []


@pytest.mark.parametrize(
    ("after", "codes"),
    [("print(len(str(rows[0])))", []), ("print(sum(len(str(row)) for row in rows))", []), ("print(len(rows))", ["GF102"])],
)
def test_the_text_of_a_record(after: str, codes: list[str]) -> None:
    text = (
        SETUP
        + f"""
import collections
Row = collections.namedtuple("Row", "step loss")
rows = []
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    rows.append(Row(step, loss))
{after}
"""
    )
    assert [code for code, _ in safe_titles(text)] == codes


@pytest.mark.parametrize(("layer", "codes"), [("nn.Tanh()", ["GF307"]), ("nn.SiLU()", []), ("nn.GroupNorm(1, 3)", [])])
def test_gradients_that_torch_computes_otherwise_where_they_are_recorded(layer: str, codes: list[str]) -> None:
    text = f"""
import torch
from torch import nn
model = nn.Sequential(nn.Linear(3, 3), {layer}, nn.Linear(3, 1))
x = torch.randn(4, 3, requires_grad=True)
for _ in range(3):
    slope = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
    print(slope.pow(3).sum().item())
"""
    assert [code for code, _ in safe_titles(text)] == codes


@pytest.mark.parametrize(("made", "codes"), [("x.tanh()", ["GF307"]), ("torch.linalg.solve(x, y)", []), ("x.det()", [])])
def test_functions_whose_gradients_torch_computes_otherwise_where_they_are_recorded(made: str, codes: list[str]) -> None:
    text = f"""
import torch
x, y = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)
for _ in range(3):
    slope = torch.autograd.grad({made}.sum(), x, create_graph=True)[0]
    print(slope.pow(3).sum().item())
"""
    assert [code for code, _ in safe_titles(text)] == codes


COLUMNS = """
class Rollout:
    def __init__(self):
        self.columns = {{"value": [], "reward": []}}
    def add(self, **row):
        for name, each in row.items():
            self.columns[name].append(each)
    def {read}(self, name):
        {body}

rollout = Rollout()
for step in range(4):
    rollout.add(value=net(torch.randn(5, 3)).mean(), reward=1.0)
loss = torch.stack(rollout.value).sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("read", "body"),
    [
        ("__getattr__", "return self.columns[name]"),
        ("__getattribute__", "return object.__getattribute__(self, name) if name != 'value' else self.columns['value']"),
    ],
)
def test_attributes_that_a_method_looks_up(read: str, body: str) -> None:
    assert safe_titles(SETUP + COLUMNS.format(read=read, body=body)) == []


SHOWN = """
critic = nn.Linear(1, 1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(4):
    fake = net(torch.randn(5, 3))
    loss = critic(fake).mean()
    critic_opt.zero_grad()
    {seen}
    loss.backward(retain_graph=True)
    critic_opt.step()
    score = -critic(fake).mean()
    opt.zero_grad()
    score.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("seen", "safe"),
    [("pass", True), ("fake.retain_grad()", False), ("fake.register_hook(print)", False)],
)
def test_a_gradient_that_is_shown_is_not_dropped(seen: str, safe: bool) -> None:
    assert ("GF303" in {code for code, _ in safe_titles(SETUP + SHOWN.format(seen=seen))}) is safe


FINALIZED = """
freed, sizes = [], []
class Token:
    def __init__(self, number):
        self.number = number
    def __del__(self):
        freed.append(self.number)
class Tagged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, token):
        {forward}
        return x * 1.0
    @staticmethod
    def backward(ctx, grad):
        return grad, None
total = 0.0
for step in range(4):
    token = Token(step)
    loss = {made}
    {held}
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
    sizes.append(len(freed))
print(total, sizes)
"""
PLAIN_LOSS = "net(torch.randn(5, 3)).pow(2).mean()"
TAGGED = "Tagged.apply(net(torch.randn(5, 3)), token).pow(2).mean()"


@pytest.mark.parametrize(
    ("forward", "made", "held", "codes"),
    [
        ("ctx.token = token", TAGGED, "del token", []),
        ("ctx.tokens = [token]", TAGGED, "del token", []),
        ("ctx.token = Token(3)", TAGGED, "pass", []),
        ("pass", PLAIN_LOSS, "loss.register_hook(lambda grad, own=token: print(own.number)); del token", []),
        ("pass", PLAIN_LOSS, "loss.register_hook(lambda grad: print(token.number))", []),
        ("pass", PLAIN_LOSS, "print(token.number)", ["GF101"]),
    ],
)
def test_what_a_graph_holds_is_freed_with_it(forward: str, made: str, held: str, codes: list[str]) -> None:
    program = SETUP + FINALIZED.format(forward=forward, made=made, held=held)
    assert [code for code, _ in safe_titles(program)] == codes


WARNED = """
import warnings
total = 0.0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
with {context} as heard:
    mean = float(total) / 4
print(mean, heard)
"""


@pytest.mark.parametrize(
    ("context", "codes"),
    [
        ("warnings.catch_warnings(record=True)", []),
        ("warnings.catch_warnings(action='always', record=step > 0)", []),
        ("warnings.catch_warnings(**{'record': True})", []),
        ("warnings.catch_warnings(record=False)", ["GF101"]),
        ("warnings.catch_warnings()", ["GF101"]),
    ],
)
def test_a_program_that_records_warnings_hears_of_graphs(context: str, codes: list[str]) -> None:
    """Torch warns where `float()` takes the number of a tensor that requires a gradient."""
    assert [code for code, _ in safe_titles(SETUP + WARNED.format(context=context))] == codes
