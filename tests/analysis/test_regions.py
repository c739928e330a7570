"""Which code counts as an evaluation: by what it builds, asks for and hands on, never by its name."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.analysis import evaluations
from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Explorer
from graphfix.analysis.region import Doubt, Region, told_once
from graphfix.analysis.region_doubts import BY_KERNEL
from graphfix.interpreter import interpreter
from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.model import Applicability
from graphfix.run.engine import findings_of
from graphfix.source.document import Document

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(5)]

def fit():
    for x, y in data:
        net.train()
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()

"""
LOOP = "for x, y in data:\n    print(F.mse_loss(net(x), y).item())\n"


def regions(text: str, head: str = HEAD) -> list[Region]:
    tape = Explorer(Document("program.py", head + text), (Path("/nowhere"),)).explore()
    return [region for region in evaluations.regions(Evidence(tape, Facts(tape))).found if not region.once]


def function(body: str, call: str = "print(score())") -> str:
    return "def score():\n" + "".join(f"    {line}\n" for line in body.splitlines()) + f"fit()\n{call}\n"


def test_a_loop_over_what_is_trained_elsewhere() -> None:
    (region,) = regions("fit()\n" + LOOP)
    assert (region.evaluates, region.sure, region.function) == (False, True, None)


def test_a_function_in_evaluation_mode() -> None:
    (region,) = regions(function("net.eval()\nreturn net(data[0][0]).argmax(1)"))
    assert region.function is not None
    assert region.evaluates
    assert region.sure


def test_training_mode_set_by_a_flag() -> None:
    assert not regions(function("net.train(True)\nreturn net(data[0][0]).argmax(1)"))
    assert regions(function("net.train(False)\nreturn net(data[0][0]).argmax(1)"))


def test_statements_beside_the_training_of_the_same_loop() -> None:
    (region,) = regions(
        "for x, y in data:\n    net.train()\n    F.mse_loss(net(x), y).backward()\n    net.eval()\n"
        "    out = net(x)\n    loss = F.mse_loss(out, y)\n    print(loss.item())\n"
    )
    assert len(region.parts) == 2


@pytest.mark.parametrize(
    "text",
    [
        "fit()\nnet.eval()\nprint(net(data[0][0]))\n",
        LOOP,  # nothing is trained, nothing is in evaluation mode
        "fit()\nwith torch.no_grad():\n    " + LOOP.replace("\n", "\n    ") + "\n",
        "fit()\ntorch.set_grad_enabled(False)\n" + LOOP,
        "fit()\nfor x, y in data:\n    x.requires_grad_()\n    torch.autograd.grad(net(x).sum(), x)\n",
        function("net.eval()\nreturn [net(x) for x, _ in data]", "sum(score()).sum().backward()"),
        function("net.eval()\nfor x, _ in data:\n    yield net(x).argmax(1)", "print(list(score()))"),
        function("net.eval()\nimport metrics\nreturn [metrics.update(net(x)) for x, _ in data]"),
        function("net.eval()\nreturn net(data[0][0]).detach()"),
        "def score(net):\n    net.eval()\n    return [net(x) for x, _ in data]\n",
    ],
    ids=["demo", "untrained", "no_grad", "statement", "attack", "walked", "generator", "escapes", "detached", "returned"],
)
def test_what_is_left_alone(text: str) -> None:
    assert not regions(text)


def test_a_model_that_is_not_in_sight_is_not_sure() -> None:
    (region,) = regions("def score(net, x):\n    net.eval()\n    return net(x).argmax(1).item()\n")
    assert not region.sure


def test_a_transformer_layer_may_take_its_fast_path() -> None:
    head = HEAD.replace("nn.Linear(3, 3)", "nn.TransformerEncoderLayer(3, 1, 4)")
    (region,) = regions("fit()\nnet.eval()\n" + LOOP, head)
    assert not region.sure


@pytest.mark.parametrize(
    ("call", "sure"), [("torchvision.transforms.Normalize([0.5], [0.5])", True), ("attacks.normalize([0.5])", False)]
)
def test_a_library_that_walks_no_graph_leaves_an_evaluation_sure(call: str, sure: bool) -> None:
    (region,) = regions(
        function(f"net.eval()\nscale = {call}\nreturn net(data[0][0]).argmax(1)"), "import attacks, torchvision\n" + HEAD
    )
    assert region.sure is sure


RECURRENT = """\
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.{}(3, 3)
    def forward(self, x):
        return self.core(x)[0]
"""


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_is_sure_unless_torch_rounds_it_otherwise(kind: str) -> None:
    head = RECURRENT.format(kind) + HEAD.replace("nn.Linear(3, 3)", "Net()")
    (region,) = regions("fit()\nnet.eval()\n" + LOOP, head)
    assert region.sure is (kind not in BY_KERNEL)


def test_a_project_may_allow_that_torch_rounds_otherwise(tmp_path: Path) -> None:
    program = RECURRENT.format("LSTM") + HEAD.replace("nn.Linear(3, 3)", "Net()") + "fit()\nnet.eval()\n" + LOOP
    fixes = [
        next(each.fix for each in findings_of(tmp_path / "train.py", program, (tmp_path,), how) if each.code == "GF103")
        for how in (NO_CONVENTIONS, Conventions(allows_rounding=True))
    ]
    assert [fix and (fix.applicability, fix.doubt) for fix in fixes] == [
        (Applicability.UNSAFE, "what `LSTM` computes may differ in the last digit where no gradients are recorded"),
        (Applicability.SAFE, ""),
    ]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"])
def test_which_layers_torch_rounds_otherwise_without_recording(kind: str) -> None:
    """Torch itself: every layer that is not named computes the same bits in both modes."""
    torch = pytest.importorskip("torch")
    layer, shapes = getattr(torch.nn, kind)(8, 6), [(1,), (8,)] if kind.endswith("Cell") else [(5, 1), (5, 8), (1, 8)]
    for training, shape in ((training, shape) for training in (True, False) for shape in shapes):
        layer.train(training)
        x = torch.randn(*shape, 8)
        recorded = layer(x)
        with torch.no_grad():
            plain = layer(x)
        first = [each[0] if isinstance(each, tuple) else each for each in (recorded, plain)]
        assert kind in BY_KERNEL or torch.equal(*first)


def test_code_that_no_run_reaches_may_ask_for_a_gradient() -> None:
    [found] = regions("fit()\n" + LOOP + "    if False:\n        net(x).sum().backward()\n")
    assert [type(part) for part in found.parts] == [ast.Expr]  # and not the loop


ENSEMBLE = """\
import copy
members = [copy.deepcopy(net) for _ in range(3)]
fit()
outputs = []
for member in members:
    {}
print(torch.stack(outputs).mean().detach())
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("outputs.append(member(data[0][0]))", 1), ("outputs.append(member(data[0][0]).detach())", 0)],
    ids=["kept until after the loop", "detached at once"],
)
def test_copies_of_what_is_trained_elsewhere(statement: str, expected: int) -> None:
    assert len(regions(ENSEMBLE.format(statement))) == expected


def test_a_loop_within_a_function_is_told_once() -> None:
    body = "for x, y in data:\n    print(net(x).sum().item())"
    assert len(regions(function(body) + "for x, y in data:\n    fit()\n    score()\n")) == 1


@pytest.mark.parametrize(
    ("loop", "told"),
    (("kept = []\nfor x, y in data:\n    kept.append(F.mse_loss(net(x), y))\n", 0), ("kept = []\n" + LOOP, 1)),
    ids=("in hand", "let go"),
)
def test_a_run_that_is_broken_off_may_walk_what_it_has_in_hand(loop: str, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "MAX_STEPS", 300)
    found = regions("fit()\n" + loop + "fit()\n" * 90 + "sum(kept).backward()\n")
    assert len(found) == told and not any(region.sure for region in found)


CALLED = ast.parse("def act(x):\n    return net(x)\nfor x in data:\n    act(x)\n    net(x)\n")


def test_a_loop_and_the_function_that_it_calls_are_told_once() -> None:
    function, loop = CALLED.body
    assert isinstance(function, ast.FunctionDef) and isinstance(loop, ast.For)
    inside: Any = SimpleNamespace(trace=((None, loop.body[0]), (None, function.body[0])))
    beside: Any = SimpleNamespace(trace=((None, loop.body[1]),))

    def both(*forwards: Any, grows: bool = False, sure: bool = True) -> list[Region]:
        called = Region((function,), [(inside, function.body[0])])
        around = Region(
            (loop,), [(node, loop) for node in forwards], grows=grows, doubt=None if sure else Doubt("unknown callers")
        )
        return told_once([called, around])

    assert [region.function for region in both(inside)] == [function]  # it runs all of them
    assert [region.function for region in both(inside, beside)] == [None]
    assert [region.function for region in both(inside, grows=True)] == [None]
    assert len(both(inside, beside, sure=False)) == 2  # what is sure is not given up


STEPPED = """\
import torch.nn as nn
import torch.nn.functional as F
from elsewhere import Base

class Trainer(Base):
    def __init__(self, optim):
        super().__init__()
        self.critic = nn.Linear(4, 1)
        self.optim = {made}

    def update(self, batch):
        loss = F.mse_loss(self.critic(batch.x), batch.y)
        {step}
        return loss.item()
"""


@pytest.mark.parametrize("made", ["optim", "self._wrapped(optim)", "self._create_optimizer(nn.ModuleList([self.critic]), optim)"])
@pytest.mark.parametrize(
    "step, told", [("self.optim.step(loss)", 0), ("self.optim.step(loss=loss)", 0), ("self.optim.step(loss.item())", 1)]
)
def test_a_loss_that_a_step_out_of_sight_is_given_may_be_walked_there(made: str, step: str, told: int) -> None:
    assert len(regions(STEPPED.format(made=made, step=step), "")) == told


PARAMETERS = """
def validate(model, loader, criterion):
    {start}
    for x, y in loader:
        {each}
    return {end}


def fit(model, loader, held_out, criterion, optimizer):
    for epoch in range(3):
        for x, y in loader:
            loss = {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score = validate(model, held_out, criterion)
        {then}
"""
TOTAL = {"start": "total = 0", "each": "total += criterion(model(x), y)", "end": "total / len(loader)"}
LISTED = {"start": "losses = []", "each": "losses.append(criterion(model(x), y))", "end": "losses"}
COMPOSED = "criterion(model(x), y)"


@pytest.mark.parametrize("kept", [TOTAL, LISTED], ids=["a total", "a list"])
def test_an_evaluation_of_what_only_parameters_bring_goes_by_the_calls_that_are_trained(kept: dict[str, str]) -> None:
    (region,) = regions(PARAMETERS.format(**kept, loss=COMPOSED, then="print(epoch, score)"), "")
    assert region.function is not None and region.function.name == "validate"
    assert not region.sure


@pytest.mark.parametrize(
    ("loss", "then"),
    [
        (COMPOSED, "score.backward()"),
        (COMPOSED, "optimizer.note(score)"),
        ("criterion(x, y)", "print(score)"),
        ("criterion(model(x, y))", "print(score)"),
    ],
    ids=["its result is walked", "its result is handed on", "another input is trained", "another call is trained"],
)
def test_what_else_an_unknown_call_gives_is_no_evaluation(loss: str, then: str) -> None:
    assert not regions(PARAMETERS.format(**TOTAL, loss=loss, then=then), "")
