"""No entry starves another, and no run dies for nothing."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.engine import analyse

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
