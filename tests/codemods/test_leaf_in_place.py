"""GF313: a leaf that requires grad is written in place while operations are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.autograd.symptoms import PART_IN_PLACE
from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

w = torch.ones(4, requires_grad=True)
net = nn.Linear(4, 4)
norm = nn.BatchNorm1d(4)
lstm = nn.LSTM(4, 4, num_layers=2)
x = torch.randn(8, 4)
(net(x) @ w).pow(2).mean().backward()
"""
LEFT_ALONE = {
    "under no_grad": "with torch.no_grad():\n    w -= w.grad\n    net.weight[0] = 0\n",
    "through data": "w.data -= w.grad\nnet.weight.data[0].zero_()\n",
    "a detached view": "net.weight.detach()[0] = 0\n",
    "by an initialiser": "nn.init.normal_(net.weight)\n",
    "a buffer": "norm.running_mean += 1\nnorm.running_mean[0] = 0\n",
    "a copy": "copy = w.clone()\ncopy += 1\ncopy[0] = 2\n",
    "a gradient": "w.grad.zero_()\nw.grad *= 2\n",
    "frozen before": "net.requires_grad_(False)\nnet.weight.mul_(2)\n",
    "an error that is caught": "try:\n    w += 1\nexcept RuntimeError:\n    pass\n",
    "parts of what is detached": "lstm.bias_hh_l0.data.chunk(4)[1].fill_(1)\n",
    "a recurrent layer's flag": "has_bias = lstm.bias\nhas_bias += 1\n",
    "a method that is allowed": "w.requires_grad_()\nnet.weight.share_memory_()\n",
}
# a program, and what the repair makes of it
TOLD = {
    "a step by hand": ("w -= 0.1 * w.grad\n", "with torch.no_grad():\n    w -= 0.1 * w.grad\n"),
    "a row": ("net.weight[0] = 0\n", "with torch.no_grad():\n    net.weight[0] = 0\n"),
    "a method": ("net.bias.fill_(1)\n", "with torch.no_grad():\n    net.bias.fill_(1)\n"),
    "a row by a method": ("net.weight[0].zero_()\n", "net.weight.detach()[0].zero_()\n"),
    "a view with a name": ("rows = net.bias.view(2, 2)\nrows[0] += 1\nrows[1] += 2\n", "rows = net.bias.detach().view(2, 2)\n"),
    "a bias of a recurrent layer": ("lstm.bias_hh_l0[4:8] = 1\n", "with torch.no_grad():\n    lstm.bias_hh_l0[4:8] = 1\n"),
    "by a name that is put together": (
        "for i in range(2):\n    getattr(lstm, f'bias_hh_l{i}').fill_(1)\n",
        "    with torch.no_grad():\n        getattr(lstm, f'bias_hh_l{i}').fill_(1)\n",
    ),
    "a total": (
        "total = torch.zeros(1, requires_grad=True)\nfor _ in range(3):\n    total += net(x).mean()\ntotal.backward()\n",
        "total = torch.zeros(1)\n",
    ),
    "rows of results": (
        "out = torch.zeros(8, 4, requires_grad=True)\nfor i in range(8):\n    out[i] = net(x[i])\nout.mean().backward()\n",
        "out = torch.zeros(8, 4)\n",
    ),
}


def only(program: str) -> Finding:
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF313")
    return finding


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {})
    assert "GF313" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "text"), TOLD.values(), ids=TOLD)
def test_what_is_told(program: str, text: str) -> None:
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    finding = only(program)
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert text in repaired
    exec(compile(repaired, "train.py", "exec"), {})


# https://docs.pytorch.org/docs/stable/generated/torch.chunk.html: each is a view of the input
PARTS = {
    "of a chunk": "lstm.bias_hh_l0{}.chunk(4)[1].fill_(1)\n",
    "by a name with a number": "for i in range(2):\n    getattr(lstm, 'bias_hh_l%d' % i){}.chunk(4)[1].fill_(1)\n",
    "by a joined name": "getattr(lstm, 'bias_hh_l' + str(0)){}.split(4)[1].zero_()\n",
    "by a formatted name": "getattr(lstm, 'weight_ih_l{{}}'.format(1)){}.unbind()[0].mul_(2)\n",
}


@pytest.mark.parametrize("program", PARTS.values(), ids=PARTS)
def test_one_of_several_views_is_told_with_its_own_error(program: str) -> None:
    with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
        exec(compile(HEAD + program.format(""), "train.py", "exec"), {})
    finding = only(program.format(""))
    assert finding.symptoms[0] == PART_IN_PLACE
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program.format(""), [finding.fix]).text
    assert repaired == HEAD + program.format(".detach()")
    exec(compile(repaired, "train.py", "exec"), {})


CALLED = """\
import torch
from torch import nn

def clamped(count):
    layers = [nn.Linear(4, 4) for _ in range(count)]
    for layer in layers:
        layer.weight.clamp_(-1, 1)
    return layers

def train(net, xs):
    net(xs).mean().backward()
"""


def test_whoever_calls_a_function_may_record_nothing() -> None:
    exec(compile(CALLED + "with torch.no_grad():\n    clamped(2)\n", "train.py", "exec"), {})
    assert "GF313" not in {each.code for each in findings_of(Path("train.py"), CALLED)}
    assert "GF313" in {each.code for each in findings_of(Path("train.py"), CALLED + "clamped(2)\n")}


EMBEDS = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
text, vision, block, head = nn.Embedding(10, 4), nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(4, 2)
text.requires_grad_(False)
optimizer = torch.optim.SGD([*vision.parameters(), *block.parameters(), *head.parameters()], lr=0.1)
before = vision.weight.detach().clone()
SET_UP
for step in range(3):
    ids = torch.randint(0, 10, (2, 5))
    embeds = text(ids)
    WRITE
    loss = head(checkpoint(block, embeds, use_reentrant=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
is_trained = not torch.equal(before, vision.weight)
"""
HOOK = "text.register_forward_hook(lambda module, args, output: output.requires_grad_(True))"
# how the result comes to require grad, and what is written to it
PASSING = {
    "by a hook": (HOOK, "embeds[:, 0] = vision(torch.randn(2, 6))", True),
    "by a hook, and twice": (HOOK, "embeds[:, 0] = vision(torch.randn(2, 6))\n    embeds[:, 1] *= 2", True),
    "by hand": ("", "embeds.requires_grad_()\n    embeds[ids == 3] = vision(torch.randn(6))", True),
    "by its attribute": ("", "embeds.requires_grad = True\n    embeds += vision(torch.randn(6))", True),
    "a number": ("", "embeds.requires_grad_()\n    embeds.masked_fill_((ids == 0).unsqueeze(-1), 0.0)", False),
}


@pytest.mark.parametrize(("made", "write", "is_trained"), PASSING.values(), ids=PASSING)
def test_a_result_that_requires_grad_is_copied_before_it_is_written_to(made: str, write: str, is_trained: bool) -> None:
    program = EMBEDS.replace("SET_UP", made).replace("WRITE", write)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(compile(program, "train.py", "exec"), {})
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF313")
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(program, [finding.fix]).text
    assert repaired.count("    embeds = embeds.clone()\n") == 1 and "no_grad" not in repaired
    names: dict[str, object] = {}
    exec(compile(repaired, "train.py", "exec"), names)
    assert names["is_trained"] is is_trained


def test_a_leaf_whose_gradient_is_read_stays_the_leaf() -> None:
    program = (
        HEAD
        + "for step in range(2):\n    y = torch.randn(4)\n    y.requires_grad_()\n    y[0] = 1\n    net(y).sum().backward()\n    print(y.grad)\n"
    )
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF313")
    assert finding.fix is not None
    assert "    with torch.no_grad():\n        y[0] = 1\n" in apply_fixes(program, [finding.fix]).text


BASE = """
class Hooks:
    def enable_input_require_grads(self):
        def need(module, args, output):
            output.requires_grad_(True)

        self.handle = self.get_input_embeddings().register_forward_hook(need)
"""
MODEL = """
import torch
from torch import nn
from hooks_of_the_project import Hooks


class Model(Hooks, nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.image = nn.Embedding(10, 4), nn.Linear(6, 4)

    def get_input_embeddings(self):
        return self.text

    def forward(self, ids, pixels, mask):
        embeds = self.get_input_embeddings()(ids)
        {write}
        return embeds


model = Model()
for p in model.text.parameters():
    p.requires_grad = False
model.enable_input_require_grads()
mask = torch.zeros(2, 5, dtype=torch.bool)
mask[:, 0] = True
model(torch.randint(10, (2, 5)), torch.randn(2, 6), mask).mean().backward()
"""
WRITES = (
    "embeds[mask] = self.image(pixels)",
    "embeds.masked_scatter_(mask.unsqueeze(-1), self.image(pixels))",
    "embeds.index_copy_(1, torch.tensor([0]), self.image(pixels).unsqueeze(1))",
)


@pytest.mark.parametrize("write", WRITES)
def test_a_hook_that_a_base_in_another_file_registers(write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hooks_of_the_project.py").write_text(BASE)
    program = MODEL.format(write=write)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(compile(program, "train.py", "exec"), {})
    (finding,) = (each for each in findings_of(tmp_path / "train.py", program) if each.code == "GF313")
    assert finding.fix is not None
    repaired = apply_fixes(program, [finding.fix]).text
    exec(compile(repaired, "train.py", "exec"), {})
