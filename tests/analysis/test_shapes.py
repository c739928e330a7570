"""What the tape knows of shapes and of shared memory, against real torch."""

from __future__ import annotations

import warnings

import pytest

from graphfix.interpreter.shapes import ONE, SCALAR, Shape
from graphfix.interpreter.values import Tensor

from .toys import HEAD, explored

torch = pytest.importorskip("torch")

SCALARS = (
    "w.sum()", "(w * x).mean()", "F.mse_loss(w, x)", "nn.MSELoss()(w, x)", "w.sum().data", "w.sum().detach().cpu()",
    "w.sum() * 2 + 1", "-w.sum()", "torch.tensor(1.0)", "torch.FloatTensor([1])[0]", "w.sum().view(1).squeeze()",
    "torch.zeros(())", "torch.ones([])", "torch.zeros(1).view(1)[0] * w.sum()", "w.max()", "torch.autograd.Variable(w.sum())",
    "w.sum().exp()", "nn.Parameter(torch.tensor(1.0))",
    "w.sum().type(torch.DoubleTensor)", "w.type(torch.FloatTensor).sum()",
    "F.mse_loss(w, x, False)", "F.binary_cross_entropy_with_logits(w, x, None, False)", "nn.MSELoss(False)(w, x)",
    "w.view(-1).sum(0)", "torch.ones(12).sum(0)", "torch.zeros(2, 3).flatten().mean(dim=-1)", "(w.view(-1) * 2).prod(axis=0)",
    "w.view(-1)[0]", "torch.sum(w.reshape(4), 0)",
    "F.mse_loss(w, x, None, None, 'sum')", "nn.BCEWithLogitsLoss(w.detach())(w, x)", "nn.L1Loss(True, True)(w, x)",
    "nn.HuberLoss('sum')(w, x)", "F.triplet_margin_loss(w.view(2, 2), x.view(2, 2), x.view(2, 2), 2.0)",
)  # fmt: skip
ONES = (
    "torch.FloatTensor([1])", "torch.FloatTensor(1)", "torch.FloatTensor([1]) * -1", "torch.ones(1)", "torch.tensor([2.0])",
    "w.sum().view(1)", "w.sum().reshape(-1)", "w.sum().unsqueeze(0)", "w.sum() * torch.zeros(1)", "w.sum().data.view(1)",
    "net(x).mean(0).view(1)", "torch.autograd.Variable(torch.ones(1))", "torch.zeros(1).cpu()", "torch.zeros([1])",
    "nn.Parameter(torch.zeros(1))", "w.sum().flatten()",
)  # fmt: skip
OTHERS = (
    "w", "w.data", "w.mean(0, keepdim=True)", "torch.max(w, x)", "torch.zeros(4)", "torch.FloatTensor(3)", "w.sum().expand(3)",
    "w * w.sum()", "w.view(-1)", "w.view(2, 2)", "w.view(2, 2).t()", "F.mse_loss(w, x, reduction='none')", "w.unsqueeze(0)",
    "w[0:1]", "x.view(4, 1)[0]", "torch.stack([w.sum()])", "w.sum().repeat(2)",
    "w.view(-1).sum(0, keepdim=True)", "torch.zeros(2, 3, 4).flatten(1).sum(0)", "torch.ones(4).unsqueeze(0).sum(0)",
    "(w.view(-1) * torch.ones(2, 4)).sum(0)", "torch.zeros(2, 3).sum(0)", "w.detach().view(1, 4)",
    "torch.min(w, w.view(2, 2).max(dim=-1).values.sum())", "torch.zeros(2, 3, 4).sum((1, 2))", "torch.zeros(2, 3).mean([1])",
    "torch.zeros(2, 3).sum(axis=0)", "torch.mean(torch.zeros(2, 3), axis=1)", "torch.zeros(2, 3).max(axis=0).values",
    "torch.sum(input=torch.zeros(2, 3), axis=1)", "torch.zeros(2, 3).std(axis=0)", "torch.zeros(2, 3).norm(dim=1)",
    "w.view(2, 2).max(dim=0).values", "w.view(2, 2).sort(1).values",
    "torch.zeros(2, 3).sum(len([w]))", "torch.zeros(2, 3).norm(2, 1)", "w.quantile(torch.tensor([0.2, 0.8]))",
    "F.mse_loss(w, x, None, None, 'none')", "F.mse_loss(w, x, None, False)", "nn.MSELoss(None, False)(w, x)",
    "nn.MSELoss(None, None, 'none')(w, x)", "nn.HuberLoss('none')(w, x)",
    "F.binary_cross_entropy_with_logits(w, x, None, None, False)", "nn.BCEWithLogitsLoss(None, None, False)(w, x)",
    "F.cross_entropy(w.view(2, 2), torch.tensor([0, 1]), None, None, -100, None, 'none')",
)  # fmt: skip


def by_tape(expression: str) -> Tensor:
    tape = explored(f"v = {expression}\nprint(v.sum().item())\n")
    env = tape.runs[0].recording.env
    value = env.get("v") if env is not None else None
    assert isinstance(value, Tensor), value
    return value


def by_torch(expression: str) -> object:
    scope: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(HEAD + f"v = {expression}\n", scope)
    return scope["v"]


@pytest.mark.parametrize(
    ("expression", "shape"),
    [*((e, SCALAR) for e in SCALARS), *((e, ONE) for e in ONES), *((e, None) for e in OTHERS)],
)
def test_what_is_known_of_a_shape_is_so(expression: str, shape: Shape) -> None:
    told, real = by_tape(expression), by_torch(expression)
    assert (told.shape if told.shape in (SCALAR, ONE) else None) == shape
    assert shape is None or tuple(real.shape) == shape
    assert not told.single or real.numel() == 1


ALIASES = (
    "w.data", "w.detach()", "torch.autograd.Variable(w)", "torch.autograd.Variable(w * 2)", "w.data.view(2, 2)", "w.data[0:2]",
    "w.data.t()", "torch.autograd.Variable(x, requires_grad=True)",
)  # fmt: skip


@pytest.mark.parametrize("expression", ALIASES)
def test_what_shares_memory_has_a_base(expression: str) -> None:
    told, real = by_tape(expression), by_torch(expression)
    assert (told.node, real.grad_fn) == (None, None)
    assert bool(told.leaf is not None and told.leaf.requires_grad) is real.requires_grad
    assert told.base is not None


def test_variable_is_detach_and_data_is_not() -> None:
    """`Variable(x)` and `x.detach()` share the version counter of `x`, `x.data` has its own."""
    for read, versions in (
        (torch.autograd.Variable, 1),
        (torch.Tensor.detach, 1),
        (lambda tensor: tensor.data, 0),
    ):
        tensor = torch.ones(3)
        read(tensor).add_(1)
        assert (tensor._version, tensor.tolist()) == (versions, [2.0] * 3)
