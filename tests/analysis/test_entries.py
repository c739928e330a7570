"""No entry starves another, and no run dies for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.run.engine import analyse
from graphfix.source.document import Document

HERE = Path(__file__).parent

LOOP = """
import torch
import torch.nn.functional as F
{before}
def train(model, opt, loader):
    total = 0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
    return total
{after}
"""
NESTED = "\n".join("    " * depth + f"for v{depth + 1} in v{depth}:" for depth in range(1, 9))
PARSER = f"def parse(v1):\n    n = 0\n{NESTED}\n" + "    " * 9 + "n += int(v9)\n    return n\n"


def codes(before: str = "", after: str = "") -> list[str]:
    return [finding.code for finding in analyse(Path("train.py"), LOOP.format(before=before, after=after)).findings]


def test_a_module_that_reads_data_for_long_leaves_room_for_the_training() -> None:
    reads = "rows = [[[parse(w) for w in v] for v in line] for line in open('a')]\n" * 4
    assert codes(PARSER, "if __name__ == '__main__':\n    " + reads.replace("\n", "\n    ")) == ["GF101"]


def test_what_a_check_refuses_is_taken_as_passed() -> None:
    check = (
        "class Env:\n    pass\ndef wrap(env):\n    if not hasattr(env, 'size'):\n        raise ValueError(env)\n    return env\n"
    )
    assert codes(
        check, "env = wrap(Env())\nmodel = torch.nn.Linear(3, 1)\ntrain(model, torch.optim.SGD(model.parameters()), env)"
    ) == ["GF101"]


def test_a_function_that_raises_for_sure_could_not_be_entered() -> None:
    broken = "def setup(x):\n    raise NotSupported(x)\n"
    assert codes(broken, "setup(3)\nmodel = torch.nn.Linear(3, 1)\ntrain(model, torch.optim.SGD(model.parameters()), data)") == [
        "GF101"
    ]


def test_a_method_that_no_tensor_has_proves_no_graph() -> None:
    text = """
def train(net, loader, trainer, criterion):
    total = 0
    for x, y in loader:
        loss = criterion(net(x), y).sum() / len(y)
        total += loss.asscalar()
        loss.backward()
        trainer.step(1)
    return total
"""
    assert analyse(Path("train.py"), text).findings == ()


PENALTY = """
import torch
from torch.autograd import grad{renamed}

def penalty(critic, x):
    total = 0
    for part in x:
        part.requires_grad_(True)
        slope, = {name}(critic(part).sum(), part, create_graph=True)
        total = total + slope.norm()
    return float(total)
"""


def test_a_walk_under_another_name_is_one() -> None:
    plain = [finding.code for finding in analyse(Path("gan.py"), PENALTY.format(renamed="", name="grad")).findings]
    renamed = PENALTY.format(renamed=" as torch_grad", name="torch_grad")
    assert [finding.code for finding in analyse(Path("gan.py"), renamed).findings] == plain != []


@pytest.mark.parametrize(
    ("side", "expected"), [("h = helper(x)", {False}), ("h = learn(net, x)", {True, False}), ("h = count(x)", {False})]
)
def test_a_side_that_no_run_takes_is_looked_at_where_a_graph_may_come_in(tmp_path: Path, side: str, expected: set[bool]) -> None:
    """`learn` and `count` are of another file of the project: one of them trains, the other has nothing to do with graphs."""
    learning = "def learn(net, x):\n    net.train()\n    return net(x)\ndef count(x):\n    return len(x)\n"
    (tmp_path / "learning.py").write_text(learning)
    program = f"import torch\nfrom learning import count, learn\ndef run(net, x, kind):\n    if kind:\n        {side}\n        return h\n    x.data[0]\n"
    explorer = Explorer(Document(str(tmp_path / "run.py"), program), (tmp_path,))
    assert {side for run in explorer.explore().runs for _, side in run.recording.covered} == expected


READING = """
import torch
from nets import {imported}
{outside}

class Scores:
    def __init__(self, size):
        self.kept = {kept}

    def show(self, x):
        print({shown}.item())
"""


@pytest.mark.parametrize(
    ("imported", "outside", "kept", "shown", "is_run"),
    [
        ("size_of", "", "size", "self.kept(x)", False),
        ("size_of", "", "size_of(size)", "self.kept(x)", False),
        ("Net", "", "Net()", "self.kept(x)", True),
        ("Net", "net = Net()", "size", "net(x)", True),
        ("size_of", "", "torch.nn.Linear(size, 1)", "self.kept(x)", True),
        ("size_of", "", "size", "x.eval()(x)", True),
    ],
)
def test_what_reads_numbers_is_run_where_a_graph_may_come_to_it(
    tmp_path: Path, imported: str, outside: str, kept: str, shown: str, is_run: bool
) -> None:
    nets = "import torch\nclass Net(torch.nn.Module):\n    pass\ndef size_of(x):\n    return len(x)\n"
    (tmp_path / "nets.py").write_text(nets)
    program = READING.format(imported=imported, outside=outside, kept=kept, shown=shown)
    runs = Explorer(Document(str(tmp_path / "run.py"), program), (tmp_path,)).explore().runs
    assert ("Scores.show" in {run.entry.name for run in runs}) is is_run


STEP = """
import torch
import lightning as L

class M(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Linear(3, 1)
        self.automatic_optimization = {automatic}

    def training_step(self, batch, index):
        loss = self.w(batch).exp().sum()
        {walk}
        return loss
"""


@pytest.mark.parametrize(
    ("automatic", "walk", "expected"),
    [
        (True, "", []),
        (True, "loss.backward()", ["GF302"]),
        (False, "loss.backward()", []),
        (None, "self.manual_backward(loss)", []),
    ],
)
def test_a_training_step_is_walked_once(automatic: bool | None, walk: str, expected: list[str]) -> None:
    text = STEP.format(automatic=automatic, walk=walk)
    assert [finding.code for finding in analyse(Path("train.py"), text).findings] == expected


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.tensor([5.0])\nx[0][0]",
        "x = torch.tensor(5.0)\ntotal = first(x)",
        "print(Net()(1))",
        "read(Net()(1))",
        "Net()(1).sum().backward()",
    ],
)
def test_a_file_is_run_as_a_script_where_that_may_show_something(line: str) -> None:
    assert runs_of_module(line)


@pytest.mark.parametrize(
    "line",
    ["", "LEVEL = 3", "import logging\nlogging.info('read')", "print(open('a').read())", "x = Net()(1)", "NETS = {'net': Net}"],
)
def test_and_not_where_it_comes_to_nothing(line: str) -> None:
    assert not runs_of_module(line)


def test_an_item_of_what_has_no_dimension_needs_no_graph() -> None:
    text = "import torch\n\ndef read(x):\n    return x.item()\n\nx = torch.tensor([5.0])\nx[0][0]\n"
    assert [finding.code for finding in analyse(Path("train.py"), text).findings] == ["GF901"]


def runs_of_module(line: str) -> list[object]:
    defined = "def read(x):\n    return x.item()\ndef first(x):\n    return x[0]\nclass Net(torch.nn.Module):\n    pass\n"
    tape = Explorer(Document("train.py", f"import torch\n{defined}{line}\n"), (Path(),)).explore()
    return [run for run in tape.runs if run.entry.is_module]


QUIET = """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        {line}
        return y

    @torch.no_grad()
    def score(self, x):
        return self.layer(x).item()

    def rate(self, x):
        return self.layer(x).item()

@torch.no_grad()
def score(net: Net, x):
    net.eval()
    return net(x).item()
{more}
"""


@pytest.mark.parametrize(
    "line, more, expected",
    [
        ("print(y.mean().item())", "", {"rate"}),
        ("y.data.zero_()", "", {"rate"}),
        ("print(sum(each.item() for each in y))", "", {"rate"}),
        ("for each in y: print(each.item())", "", {"forward", "rate"}),
        ("y = y.data", "", {"forward", "rate"}),
        ("print(y.mean().data[0])", "", {"forward", "rate"}),
        ("print(y.mean().item())", "\ndef train(loss):\n    loss.backward()\n", {"forward", "rate", "train", "score"}),
    ],
)
def test_what_records_nothing_of_its_own_is_met_where_a_graph_is_walked(line: str, more: str, expected: set[str]) -> None:
    tape = Explorer(Document("net.py", QUIET.format(line=line, more=more)), (Path(),)).explore()
    entered = {definition.name for run in tape.runs for definition in run.recording.entered}
    assert entered - {"__init__"} == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x = torch.ones(2, requires_grad=True)\n    return x.sum().item()", False),
        ("x = torch.ones(2, requires_grad=True)\n    return x.sum().data", True),
        ("x = torch.nn.Parameter(torch.ones(2))\n    return x.sum().item()", True),
        ("net = torch.nn.Linear(2, 1)\n    return net(given).item()", True),
        ("given.eval()\n    return given(1)", True),
        ("x = torch.ones(2, requires_grad=True)\n    x.sum().backward()\n    return x.sum().item()", True),
    ],
)
def test_a_number_is_read_of_modules_where_nothing_is_walked(text: str, expected: bool) -> None:
    tape = Explorer(Document("read.py", f"import torch\n\ndef read(given):\n    {text}\n"), (Path(),)).explore()
    assert bool(tape.runs) is expected


LAYER = """
from torch.nn import Linear

net = Linear(4, 1)

def rate(loader):
    total = 0
    for x in loader:
        total += net(x).item()
    return total
"""


def test_a_layer_that_is_imported_by_its_name_makes_a_graph() -> None:
    assert [finding.code for finding in analyse(Path("rate.py"), LAYER).findings] == ["GF103"]


INHERITED = """
import torch
from torch import nn
from lightning.pytorch import LightningModule

class Base(LightningModule):
    def __init__(self):
        super().__init__()
        self.kept = []

    def training_step(self, x, number):
        log = {"loss": self(x)["score"].pow(2).mean(), "size": len(x)}
        self.kept.append(log)
        return log

class Net(Base):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return {"score": self.layer(x)}
"""


def receivers(text: str) -> set[str]:
    """The classes of the objects on which the training step of the base is run."""
    runs = Explorer(Document("net.py", text), (Path(),)).explore().runs
    return {run.recording.receiver.cls.name for run in runs if run.entry.name == "Base.training_step"}  # type: ignore[union-attr]


def test_a_method_is_run_on_what_inherits_it() -> None:
    assert {finding.code for finding in analyse(Path("net.py"), INHERITED).findings} == {"GF102"}
    assert receivers(INHERITED) == {"Net"}
    of_its_own = INHERITED + "\n    def training_step(self, x, number):\n        return self(x)['score'].mean()\n"
    assert receivers(of_its_own) == {"Base"}
