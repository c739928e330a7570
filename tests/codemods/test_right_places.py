"""Findings say what is so, at the place that it is about: each of these was told wrongly, at another line, or with another reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.analysis.flow.places import GivenUp, Sink
from graphfix.model import Applicability, Finding, InsertBefore
from graphfix.obligations.inquiry import Open
from graphfix.obligations.proof import reason_of
from graphfix.run.engine import findings_of

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
net, gen = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 4)
"""
TRAINS = """\
def train(batches):
    for x, y in batches:
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def found(code: str, text: str = "") -> list[Finding]:
    return findings_of(Path("train.py"), text or HEAD + code)


def blamed(finding: Finding, text: str) -> str:
    return text.encode()[finding.span.start : finding.span.end].decode()


LOOPS = {
    "clears": "for loss in net(x).pow(2).mean(1):\n    opt.zero_grad()\n    loss.backward()\n",
    "begins a list": "for loss in net(x).pow(2).mean(1):\n    norms = []\n    loss.backward()\n",
    "in a method": "class Pc:\n    def walk(self, losses):\n        for loss in losses:\n            opt.zero_grad()\n            loss.backward()\n"
    "Pc().walk(net(x).pow(2).mean(1))\n",
    "by a function": "def step(loss):\n    loss.backward()\nfor loss in net(x).pow(2).mean(1):\n    print(1)\n    step(loss)\n",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_statement_that_goes_backward_is_blamed(loop: str) -> None:
    text = HEAD + LOOPS[loop]
    (finding,) = [each for each in found("", text) if each.code == "GF301"]
    assert blamed(finding, text) == ("step(loss)" if loop == "by a function" else "loss.backward()")


EVALUATES = """\
def evaluate(batches):
    {}.eval()
    total = 0
    for x, y in batches:
        total += F.mse_loss(net(x), y)
    return total.item()
"""


def test_the_marked_eval_is_the_one_of_the_module() -> None:
    text = HEAD + TRAINS + EVALUATES.format("net") + "train(load())\ngen.eval()\nevaluate(load())\ngen.eval()\n"
    (finding,) = [each for each in found("", text) if each.code == "GF103"]
    (label,) = [each for each in finding.story if "eval()" in each.message]
    assert text.encode()[label.span.start : label.span.end] == b"net.eval()"


@pytest.mark.parametrize(
    ("head", "reason"),
    (
        ("try:\n    import torch\nexcept ImportError:\n    raise SystemExit(1)\n", None),
        ("try:\n    import torch\nexcept ImportError:\n    print('no torch')\n    sys.exit(1)\n", None),
        (
            "try:\n    import torch\nexcept ImportError:\n    pass\n",
            "`torch` may not be imported yet where the fix needs it",
        ),
        ("import torch.nn\nfrom torch import optim\n", None),
        ("from torch import optim\nfrom torch import nn as torch\n", "`torch` is not imported by name in this file"),
    ),
    ids=("raises", "exits", "goes on", "a part of it", "another thing of that name"),
)
def test_why_no_repair_names_torch(head: str, reason: str | None) -> None:
    text = head + "".join(line for line in HEAD.splitlines(keepends=True) if line != "import torch\n")
    text = text.replace("torch.optim", "torch.optim" if "import torch\n" in head or "torch.nn\n" in head else "optim")
    text = (
        text.replace("x = torch.randn(5, 4)\n", "")
        + TRAINS
        + EVALUATES.format("net")
        + "train(load())\nprint(evaluate(load()))\n"
    )
    (finding,) = [each for each in found("", text) if each.code == "GF103"]
    assert finding.unfixed == (reason or "")
    assert (finding.fix is None) is (reason is not None)


HELPER = """\
import json

def accuracy(net, data):
    net.eval()
    total = 0.0
    for x in data:
        total += net(x).pow(2).mean().item()
    return total
"""
SCRIPT = """\
import torch
from helper import accuracy
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(4, 3, 4):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(accuracy(net, torch.randn(4, 3, 4)))
"""


@pytest.mark.parametrize(("imports", "safe"), (("", False), ("from torch import nn\n", True)), ids=("nothing of torch", "a part"))
def test_a_file_gets_the_torch_that_it_does_without(tmp_path: Path, imports: str, safe: bool) -> None:
    """Where it imports nothing of torch it may be used where torch is not installed."""
    (tmp_path / "helper.py").write_text(imports + HELPER)
    (tmp_path / "train.py").write_text(SCRIPT)
    [finding] = findings_of(tmp_path / "train.py", SCRIPT)
    assert finding.code == "GF103"
    assert finding.fix is not None
    assert "import torch" in [each.text for each in finding.fix.operations if isinstance(each, InsertBefore)]
    assert (finding.fix.applicability is Applicability.SAFE) is safe


LISTS = (
    "list(net.parameters()) + list(criterion.parameters())",
    "list(criterion.parameters()) + list(net.parameters())",
    "list(net.parameters()) + criterion.extra()",
    "[p for p in net.parameters()] + criterion.extra()",
    "list(filter(lambda p: p.requires_grad, net.parameters())) + list(criterion.parameters())",
    "list(net.named_parameters()) + list(criterion.named_parameters())",
)


@pytest.mark.parametrize("given", LISTS)
def test_a_sum_of_lists_is_a_list(given: str) -> None:
    loop = "for x, y in load():\n    loss = criterion(net(x), y)\n    o.zero_grad()\n    loss.backward()\n    o.step()\n"
    assert found(f"from losses import build\ncriterion = build()\no = torch.optim.SGD({given}, lr=0.1)\n{loop}") == []
    assert (
        found(
            f"from losses import build\ncriterion = build()\np = {given}\np += criterion.more()\no = torch.optim.SGD(p)\n{loop}"
        )
        == []
    )


PLAYERS = """\
class Gen(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, layers={default}):
        feat = self.a(x)
        if {test}:
            return self.b(feat), feat
        return self.b(feat)

gen, disc = Gen(), nn.Linear(4, 1)
opt_g, opt_d = torch.optim.Adam(gen.parameters()), torch.optim.Adam(disc.parameters())
for real in load():
    fake = gen(torch.randn(5, 4){given})
    loss_d = disc(real).mean() - disc(fake.detach()).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = -disc(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
"""


@pytest.mark.parametrize(
    ("default", "test", "given"),
    (
        ("[]", "len(layers) > 0", ""),
        ("[]", "0 < len(layers)", ""),
        ("()", "len(layers) >= 1", ""),
        ("[]", "layers", ""),
        ("None", "layers", ", flags.layers"),
    ),
)
def test_a_side_that_returns_a_tuple_is_not_the_one_whose_result_is_detached(default: str, test: str, given: str) -> None:
    assert found(PLAYERS.format(default=default, test=test, given=given)) == []


def test_a_sum_of_one_forward_pass_that_its_caller_drops() -> None:
    code = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        total = 0
        for part in self.parts:
            total += F.mse_loss(part(x.detach()), x)
            x = part(x.detach())
        return x, total

net = Net()
opt = torch.optim.Adam(net.parameters())
for x in load():
    out, _ = net(x)
    loss = out.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    assert found(code) == []


@pytest.mark.parametrize("holder", ("class Box:\n    h = None\n", "Box = make()\n"), ids=("a class", "of another library"))
def test_state_in_attributes_of_what_is_no_object_of_the_program(holder: str) -> None:
    code = (
        f"{holder}Box.h = torch.zeros(4)\nfor x in load():\n    Box.h = torch.tanh(net(x) + Box.h)\n    net(x).sum().backward()\n"
    )
    assert [each.code for each in found(code)] == ["GF201"]


LOGS = """\
total = 0
for x, y in load():
    loss = F.mse_loss(net(x), y)
    loss.backward()
    total += loss
print(total)
"""


def marked(text: str, reason: str) -> list[str]:
    """The code at which the findings give this reason, each place once for each finding."""
    labels = [
        label
        for finding in found("", text)
        for label in finding.story
        if label.message.startswith("not proven safe: ") and reason in label.message
    ]
    return [text.encode()[label.span.start : label.span.end].decode() for label in labels]


def test_a_file_without_torch_is_doubted_where_the_value_is() -> None:
    text = "import os\nfrom lib import F, net, load\n" + LOGS
    assert marked(text, "may come from another library than torch") == ["total += loss"]


def test_a_place_that_is_not_code_has_a_sentence_of_its_own() -> None:
    assert reason_of(Open(GivenUp(), Sink.ESCAPES.value)) == "its value reaches more places than the analysis follows"
    assert reason_of(Open(ast.Pass(), Sink.ESCAPES.value)).startswith("code outside the analysed code may read it")


def test_what_a_function_returns_is_doubted_for_its_callers() -> None:
    (function,) = ast.parse("def losses(net):\n    return history\n").body
    assert reason_of(Open(function, Sink.ESCAPES.value)) == (
        "what `losses` returns goes to callers outside the analysed code, which may call backward() on it or keep it"
    )
    assert reason_of(Open(function.args.args[0], Sink.ESCAPES.value)) == (  # type: ignore[attr-defined]
        "`net` comes from code outside the analysed code, which may call backward() on what is put into it"
    )
