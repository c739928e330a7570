"""Errors that no backward pass is refused for: the run names the tensor that they are about, and the line that made it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import graphfix

from .programs import HEAD, line_of, traced

pytestmark = pytest.mark.deep

NOT_SCALAR = """
def criterion(out):
    return (out - 1).clamp(min=0)  # made
criterion(net(x)).backward()  # now
"""
COPIED = """
import copy
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.ones(4, 4))
    def forward(self, x):
        self.weight = self.v / self.v.norm()  # made
        return x @ self.weight
model = nn.Sequential(Layer())
model(x)
old = copy.deepcopy(model)  # now
"""
NOT_A_LEAF = """
w = torch.randn(4, requires_grad=True) * 0.1  # made
opt = torch.optim.SGD([w], lr=0.1)  # now
"""
UNUSED = """
params = dict(net.named_parameters())
def adapt(params):
    loss = net(x).pow(2).mean()  # loss
    grads = torch.autograd.grad(loss, list(params.values()))  # now
    return {name: p - g for (name, p), g in zip(params.items(), grads)}  # made
for _ in range(2):
    params = adapt(params)
"""
EMBEDDED = """
def ask(module, given, result):
    result.requires_grad_()  # made
net.requires_grad_(False)
net.register_forward_hook(ask)
hidden = net(x)
hidden[0] = 1  # now
"""
START = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2, 4))
        row = self.bias.view(-1)  # made
        row.fill_(1)  # now
Gate()
"""
NOISE = """
class Attack:
    def __init__(self, like):
        self.noise = torch.zeros_like(like)
        self.noise.requires_grad = True  # made
    def start(self, mask):
        self.noise.masked_scatter_(mask, torch.randn(mask.numel()))  # now
attack = Attack(x)
for _ in range(2):
    net(x).sum().backward()
attack.start(x > 0)
"""
FROZEN = """
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, value, *weights):
        ctx.block = block
        ctx.save_for_backward(value, *weights)
        return block(value)
    @staticmethod
    def backward(ctx, grad):
        value, *weights = ctx.saved_tensors
        with torch.enable_grad():
            out = ctx.block(value.detach().requires_grad_())
        return None, grad, *torch.autograd.grad(out, weights, grad)  # now
for p in net.parameters():
    p.requires_grad = False  # made
Again.apply(net, x.requires_grad_(), *net.parameters()).sum().backward()
"""
ASKED = """
def penalty(batch):
    (grad,) = torch.autograd.grad(net(batch).sum(), batch)  # now
    return grad.norm()
penalty(x)
"""
COMPILED = """
def energy(x):
    return net(x).tanh().sum()
compiled = torch.compile(energy, backend="aot_eager")
def forces(x):
    x.requires_grad_()
    return torch.autograd.grad(compiled(x), x, create_graph=True)[0]  # made
forces(x).pow(2).sum().backward()  # now
"""
ERRORS = {
    "a gradient of compiled code": (COMPILED, ("made", "now"), ("took a gradient of compiled code", "does not support: error")),
    "a gradient of what is frozen": (FROZEN, ("made", "now"), ("this line told `net.weight` (attribute", "the gradient for `net.weight`")),
    "a gradient of data": (ASKED, ("now",), ("the gradient for `x` (variable) is asked for, which does not require grad",)),
    "a leaf by a hook": (EMBEDDED, ("made", "now"), ("this line made `hidden` (variable) a leaf", "writes to `hidden`")),
    "a view of a parameter": (START, ("made", "now"), ("made a view of `self.bias` (attribute", "writes through the view")),
    "a leaf by its attribute": (NOISE, ("made", "now"), ("`self.noise` (attribute", "this line writes to `self.noise`")),
    "not a scalar": (NOT_SCALAR, ("made", "now"), ("this line made the tensor, of shape (", "needs one number")),
    "copied": (COPIED, ("made", "now"), ("this line computed `model[0].weight`", "this copies what holds it")),
    "no leaf": (NOT_A_LEAF, ("made", "now"), ("this line computed `w`", "the optimizer is given it")),
    "unused": (UNUSED, ("made", "loss", "now"), ("`params['weight']` (entry", "which goes back to `net.", "was not computed from: error")),
}


@pytest.mark.parametrize(("script", "lines", "words"), ERRORS.values(), ids=ERRORS)
def test_the_line_that_made_the_tensor_is_named(
    graphfix: Any, tmp_path: Any, script: str, lines: tuple[str, ...], words: tuple[str, ...]
) -> None:
    script = HEAD + script
    done, data = traced(graphfix, tmp_path, script)
    said = done.stderr.decode()
    for line in lines:
        assert f"train.py:{line_of(script, line)}" in said
    for word in words:
        assert word in said
    assert done.returncode == 1 and len(data["trace"]["failures"]) == 1


def test_a_reentrant_checkpoint_whose_inputs_are_frozen() -> None:
    net, x = nn.Linear(4, 4), torch.ones(2, 4)
    with graphfix.trace() as t, pytest.raises(RuntimeError, match="does not require grad"):
        checkpoint(net, x, use_reentrant=True).sum().backward()  # type: ignore[no-untyped-call]
    (failure,) = t.failures
    assert failure.cut is not None and failure.cut.how == "checkpoint" and failure.cut.place.file == __file__
    assert "use_reentrant" in t.report()


def test_a_checkpoint_under_no_grad_is_not_to_blame() -> None:
    net, x = nn.Linear(4, 4), torch.ones(2, 4)
    with graphfix.trace() as t, pytest.raises(RuntimeError, match="does not require grad"):
        with torch.no_grad():
            out = net(x)
        checkpoint(nn.ReLU(), out, use_reentrant=False).sum().backward()  # type: ignore[no-untyped-call]
    assert t.failures[0].cut is not None and t.failures[0].cut.how == "unrecorded"


def test_an_error_of_the_program_is_looked_at_by_none() -> None:
    with pytest.raises(ValueError, match="mine"), graphfix.trace() as t:
        raise ValueError("mine")
    assert t.failures == ()


EMPTY = """
def lovasz(out, wanted):
    chosen = out[wanted >= 0]
    return chosen.sum() if len(chosen) else chosen * 0.0  # made
lovasz(net(x), torch.full((2,), -1)).backward()  # now
"""


def test_a_tensor_without_elements_has_no_mean(graphfix: Any, tmp_path: Any) -> None:
    done, _ = traced(graphfix, tmp_path, HEAD + EMPTY)
    assert b"of shape (0, 4)" in done.stderr and b"and has none: sum() of it is 0, mean() is nan" in done.stderr


# https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design
DISTRIBUTED = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.Embedding(2, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.body = nn.Linear(4, 4)
        self.spare = nn.Linear(4, 4)
    def forward(self, x):
        return self.body(self.frozen(x))
model = nn.parallel.DistributedDataParallel(Model())
for _ in range(3):
    model(x).sum().backward()  # now
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without it")
def test_the_parameters_that_a_message_numbers_are_named(graphfix: Any, tmp_path: Any) -> None:
    script = HEAD + DISTRIBUTED
    done, data = traced(graphfix, tmp_path, script)
    (failure,) = data["trace"]["failures"]
    assert (failure["kind"], failure["now"]["line"]) == ("ddp-unused", line_of(script, "now"))
    assert failure["parameters"] == ["levels.weight", "spare.weight", "spare.bias"]
    assert b"from the last one: `levels.weight`, `spare.weight`, `spare.bias`: error" in done.stderr
