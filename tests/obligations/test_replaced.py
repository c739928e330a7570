"""What a name says is not what runs: methods that are replaced, functions that are changed, items that come again."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

STATE = """
{patch}
rnn = nn.RNN(3, 4)
h = torch.zeros(1, 2, 4)
for step in range(3):
    out, h = rnn(torch.randn(5, 2, 3), h)
    out.pow(2).mean().backward()
"""


@pytest.mark.parametrize(
    ("patch", "codes"),
    [
        ("", ["GF201"]),
        ("torch.backends.cudnn.benchmark = True", ["GF201"]),
        ("import functools; torch.Tensor.backward = functools.partialmethod(torch.Tensor.backward, retain_graph=True)", []),
        ("nn.RNN.forward = lambda self, x, h: (x, h)", []),
        ("setattr(nn.RNN, 'forward', lambda self, x, h: (x, h))", []),
        ("net._forward_hooks[0] = print", []),
        ("opt.step = lambda: None", []),
        ("import functools; functools.lru_cache = lambda f: f", []),
        ("from settings import cfg; cfg.cuda = True", ["GF201"]),
        ("from settings import cfg; setattr(cfg, 'cuda', True)", ["GF201"]),
        ("import settings; settings.options.forward = print", []),
    ],
)
def test_methods_that_are_replaced(patch: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + STATE.format(patch=patch))] == codes


EVALUATED = """
def evaluate(limit=5):
    net.eval()
    for step in range(limit):
        print(net(torch.ones(2, 3)).sum().item())
{change}
evaluate()
"""


@pytest.mark.parametrize(
    ("change", "codes"),
    [("", ["GF103"]), ("evaluate.__defaults__ = (2,)", []), ("getattr(net, 'register_forward_hook')(print)", [])],
)
def test_functions_that_are_changed(change: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + EVALUATED.format(change=change))] == codes


DRAWN = """
import itertools, random
losses = [net(torch.randn(2, 3)).pow(2).mean() for _ in range(4)]
{loop}
    loss.backward(retain_graph=True)
opt.step()
"""


@pytest.mark.parametrize(
    ("loop", "codes"),
    [
        ("for loss in random.choices(losses, k=8):", []),
        ("for loss in itertools.islice(itertools.cycle(losses), 8):", []),
        ("for one, two in zip(losses, losses[1:]):\n    loss = two - one", []),
        ("turns = itertools.cycle(losses)\nfor turn in range(8):\n    loss = next(turns)", []),
        ("for one in random.sample(range(4), 4):\n    loss = losses[one]", []),
        ("for one in range(8):\n    loss = losses[one % 4]", []),
        ("for one in range(8):\n    loss = losses[random.randrange(4)]", []),
    ],
)
def test_items_that_may_come_again(loop: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + DRAWN.format(loop=loop)) if code == "GF305"] == codes


SET_UP = """
head = nn.Linear(1, 1)
x = torch.ones(2, 3)
features = net(x)
{between}
for epoch in range(3):
    loss = head(features).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("between", "codes"),
    [
        ("head_opt = torch.optim.SGD(head.parameters(), lr=0.1)\nprint('start')", ["GF203"]),
        ("for p in net.parameters(): p.data.mul_(2)", []),
        ("net.load_state_dict(torch.load('net.pt'))", []),
        ("nn.init.zeros_(head.weight)", []),
        ("x.zero_()", []),
        ("x[0] = 0", []),
        ("del net", []),
        ("net.eval()", []),
        ("net.double()", []),
        ("x *= 2", []),
        ("nn.utils.vector_to_parameters(torch.zeros(21), net.parameters())", []),
        ("torch.set_default_dtype(torch.float64)", []),
        ("items = [x]; items.sort()", []),
        ("import numpy; numpy.random.shuffle(x.numpy())", []),
        ("class Doubled:\n    def __init__(self, net):\n        net[0].weight.data.mul_(2)\nDoubled(net)", []),
        ("class Holder:\n    def __init__(self, net):\n        self.net = net\nHolder(net)", ["GF203"]),
        ("count = 0; count += 1", ["GF203"]),
        ("def later():\n    x[0] = 1", ["GF203"]),
        ("print(nn.MSELoss()(x, x), torch.cuda.is_available())", ["GF203"]),
        ("for n, p in net.named_parameters(): p.requires_grad = 'head' in n", []),
    ],
)
def test_what_a_set_up_is_moved_past(between: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + SET_UP.format(between=between)) if code == "GF203"] == codes


TAGGED = """
rnn = nn.RNN(3, 4)
h = torch.zeros(1, 2, 4)
h.step = 0
for batch in range(3):
    out, new = rnn(torch.randn(5, 2, 3), h)
    out.pow(2).mean().backward()
    {after}
    h = new
"""


@pytest.mark.parametrize(("after", "codes"), [("new.step = h.step + 1", []), ("print({h: 1}[h])", [])])
def test_state_that_is_told_apart(after: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + TAGGED.format(after=after)) if code == "GF201"] == codes


SCALE = """
def read(ctx):
    return ctx.saved_tensors
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        {read}
        return grad / 2
loss = Scale.apply(net[0].weight).sum()
loss.backward()
loss.backward()
"""


@pytest.mark.parametrize(
    ("read", "codes"), [("ctx.needs_input_grad", []), ("(x,) = ctx.saved_tensors", ["GF302"]), ("read(ctx)", ["GF302"])]
)
def test_an_operation_that_reads_nothing_saved(read: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + SCALE.format(read=read)) if code == "GF302"] == codes


TOTAL = """
import math, random
total = 0.0
for step in range(4):
    loss = net(torch.randn(6, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
{read}
"""


@pytest.mark.parametrize(
    ("read", "number"),
    [
        ("print(math.exp(total / 4))", True),
        ("random.seed(float(total))", False),
        ("print(pow(total, 60))", False),
        ("print(math.cos(total))", False),
    ],
)
def test_numbers_of_which_much_is_made(read: str, number: bool) -> None:
    titles = [title for code, title in safe_titles(SETUP + TOTAL.format(read=read)) if code == "GF101"]
    assert [".item()" in title for title in titles] == [number]


FOREIGN = """
class Batch:
    def __init__(self, parts):
        self.parts = parts
    def __getitem__(self, item):
        return self.parts[item]
kept = torch.zeros(9, 1)
for step in range(9):
    batch = Batch([torch.ones(1, 3)])
    out = net(batch[0])
    mask = torch.ones(2, 1)
    loss = (out * mask[:1]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept[step:step + 1] = out
print(kept.detach())
"""


def test_an_index_into_a_tensor_is_no_method_of_the_codes_own() -> None:
    assert [code for code, _ in safe_titles(SETUP + FOREIGN)] == ["GF101"]
