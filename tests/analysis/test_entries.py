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


@pytest.mark.parametrize("side", ["h = helper(x)", "h = learn(net, x)"])
def test_a_side_that_no_run_takes_is_looked_at_where_a_graph_may_come_in(side: str) -> None:
    """`learn` is of another file of the project, which may do anything."""
    program = f"import torch\nfrom learning import learn\ndef run(net, x, kind):\n    if kind:\n        {side}\n        return h\n    return x.item()\n"
    explorer = Explorer(Document("run.py", program), (HERE,))
    explorer.importer.find = lambda name, importing: HERE if name == "learning" else None  # type: ignore[method-assign]
    taken = {side for run in explorer.explore().runs for _, side in run.recording.covered}
    assert taken == ({True, False} if "learn" in side else {False})


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
