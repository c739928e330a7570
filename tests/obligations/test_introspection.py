"""A fix is not safe where the program looks at how it computes: at frames, at objects, at each operation."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

TRAIN = """
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    {each}
"""
CUSTOM = """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {forward}
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return {backward}
taps = []
"""
LOOKS = {
    "the variables of the caller": (
        "import sys\ndef norm():\n    return torch.autograd.grad(sys._getframe(1).f_locals['loss'], net[0].weight)",
        "print(norm())",
    ),
    "the variables of a module by its name": (
        "import sys\ndef norm():\n    return torch.autograd.grad(vars(sys.modules['__main__'])['loss'], net[0].weight)",
        "print(norm())",
    ),
    "the stack": ("import inspect", "print(torch.autograd.grad(inspect.stack()[0].frame.f_locals['loss'], net[0].weight))"),
    "each operation": (
        "from torch.utils._python_dispatch import TorchDispatchMode\nclass Count(TorchDispatchMode):\n    pass",
        "print(loss.item())",
    ),
    "tangents of forward mode": (
        "import torch.autograd.forward_ad as fwAD",
        "print(fwAD.unpack_dual(loss).tangent)",
    ),
    "what is saved": ("torch.autograd.graph.saved_tensors_hooks(print, print).__enter__()", "print(loss.item())"),
    "what an operation of its own has saved": (
        CUSTOM.format(forward="ctx.save_for_backward(x); taps.append(ctx)", backward="g"),
        "print(Same.apply(loss).item(), taps[-1].saved_tensors)",
    ),
    "a record of the log": (
        "import logging\nclass Handler(logging.Handler):\n    def emit(self, record):\n"
        "        print(torch.autograd.grad(record.args[0], net[0].weight))\nlog = logging.getLogger('t')\nlog.addHandler(Handler())",
        "log.info('loss %s step %s', loss, step)",
    ),
}


PROFILED = """
from torch.profiler import profile
from torch.autograd import profiler
total = 0.0
with {profiler}() as prof:
    for step in range(4):
        loss = net(torch.randn(5, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
{after}
"""
COUNTED = {
    "of each kind": ("profile", "print({row.key: row.count for row in prof.key_averages()})"),
    "all": ("profiler.profile", "events = prof.key_averages()\nprint(sum(event.count for event in events))"),
    "each event": ("profile", "print(len(prof.events()))"),
    "in a function": ("profile", "def adds(prof):\n    return [e for e in prof.key_averages() if 'add' in e.key]\nprint(adds(prof)[0].count)"),
}  # fmt: skip
TABLES = {
    "a table": ("profile", "print(prof.key_averages().table(sort_by='cpu_time_total'))"),
    "a table under a name": ("profile", "averages = prof.key_averages(group_by_input_shape=True)\nprint(averages.table())"),
    "a trace": ("profile", "prof.export_chrome_trace('trace.json')"),
    "events of something else": ("profile", "class Log:\n    def total(self):\n        return 1\nprint(len([Log().total()]))"),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_who_counts_operations_sees_each_of_them(case: str) -> None:
    profiler, after = COUNTED[case]
    assert safe_titles(SETUP + PROFILED.format(profiler=profiler, after=after)) == []


@pytest.mark.parametrize("case", TABLES)
def test_a_table_of_operations_is_shown(case: str) -> None:
    profiler, after = TABLES[case]
    assert [code for code, _ in safe_titles(SETUP + PROFILED.format(profiler=profiler, after=after))] == ["GF101"]


@pytest.mark.parametrize("case", LOOKS)
def test_what_looks_at_the_computation(case: str) -> None:
    head, each = LOOKS[case]
    assert safe_titles(SETUP + head + TRAIN.format(each=each)) == []


def test_a_program_that_looks_at_nothing() -> None:
    assert [code for code, _ in safe_titles(SETUP + TRAIN.format(each="print(loss.item())"))] == ["GF305"]


GRADIENTS = """
for step in range(4):
    loss = Same.apply(net(torch.randn(5, 3))).mean()
    grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
    for p, g in zip(net.parameters(), grads):
        p.grad = g.detach()
    opt.step()
"""


@pytest.mark.parametrize(
    ("backward", "codes"),
    [
        ("g * 2 if torch.is_grad_enabled() else g", []),
        ("torch.autograd.grad(torch.ones(1, requires_grad=True).exp(), [], allow_unused=True) or g", []),
        ("g", ["GF307"]),
    ],
)
def test_a_backward_that_asks_whether_it_is_recorded(backward: str, codes: list[str]) -> None:
    head = CUSTOM.format(forward="pass", backward=backward)
    assert [code for code, _ in safe_titles(SETUP + head + GRADIENTS)] == codes


@pytest.mark.parametrize(
    ("each", "codes"),
    [
        ("print(grads[0].norm().requires_grad)", []),
        ("print((grads[0] * 2).retain_grad())", []),
        ("print(grads[0].norm().item())", ["GF307"]),
    ],
)
def test_gradients_that_are_asked_whether_they_are_recorded(each: str, codes: list[str]) -> None:
    head = CUSTOM.format(forward="pass", backward="g")
    assert [code for code, _ in safe_titles(SETUP + head + GRADIENTS + f"    {each}\n")] == codes


MATCHED = """
history = []
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss)
for v in history:
    match v:
        case torch.Tensor():
            print(float(v) * 100)
        case _:
            print(v)
"""


def test_a_match_tells_numbers_from_tensors() -> None:
    assert safe_titles(SETUP + MATCHED) == [("GF102", "store `loss.detach()`")]


HOOKED = """
kept, act = [], nn.Sigmoid()
{hook}
def gated(x):
    g = act(net(x))
    g += 0.5
    return g * g
loss = gated(torch.randn(4, 3)).sum()
loss.backward()
"""


@pytest.mark.parametrize(("hook", "codes"), [("act.register_forward_hook(lambda m, i, o: kept.append(o))", []), ("", ["GF401"])])
def test_a_hook_keeps_what_is_written_to(hook: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + HOOKED.format(hook=hook))] == codes


@pytest.mark.parametrize(
    ("each", "codes"),
    [
        ("first = 'kept' not in locals()", ["GF305"]),
        ("first = 'kept' in globals()", ["GF305"]),
        ("first = 'kept' in dir() or step == 0", ["GF305"]),
        ("print(locals()['loss'].item())", []),
        ("first = loss in globals().values()", []),
    ],
)
def test_which_names_there_are_tells_nothing_of_what_they_hold(each: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + TRAIN.format(each=each))] == codes


READING = """
import inspect, linecache, pathlib
text = {text}
total = 0.0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(float(total), len(str(text)))
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("pathlib.Path(__file__).read_text()", []),
        ("open(__file__).read()", []),
        ("inspect.getsource(inspect.currentframe)", []),
        ("linecache.getline('train.py', 3)", []),
        ("pathlib.Path(__file__).parent", ["GF101"]),
        ("open('train.py').closed", ["GF101"]),
    ],
)
def test_a_program_that_reads_its_own_text(text: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(SETUP + READING.format(text=text))] == codes
