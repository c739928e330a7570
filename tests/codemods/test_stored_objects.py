"""GF102: an object that is no tensor has no `detach()`: what it is made of is cut, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine

torch = pytest.importorskip("torch")

HEAD = """\
import torch
import torch.distributions as D
from argparse import Namespace
from torch import nn
from torch.distributions import Categorical, Normal
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence

torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for _ in range(5):
    mean = net(torch.randn(4, 3))
    loss = mean.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
# what is stored, what the repair makes of it, and what is read of it afterwards
STORED = {
    "a distribution": ("Normal(mean, mean.exp())", "Normal(mean.detach(), mean.exp().detach())", "each.mean.sum().item()"),
    "one in another": (
        "D.Independent(D.Normal(mean, mean.exp()), 1)",
        "D.Independent(D.Normal(mean.detach(), mean.exp().detach()), 1)",
        "each.mean.sum().item()",
    ),
    "one by a keyword": ("Categorical(logits=mean)", "Categorical(logits=mean.detach())", "each.probs.sum().item()"),
    "a packed sequence": (
        "pack_padded_sequence(mean[None], [4], batch_first=True)",
        "pack_padded_sequence(mean[None].detach(), [4], batch_first=True)",
        "each.data.sum().item()",
    ),
    "another": ("pack_sequence([mean])", "pack_sequence([mean.detach()])", "each.data.sum().item()"),
}  # fmt: skip


def applied(text: str, path: Path) -> str:
    path.write_text(text)
    outcome = examine(path, Job((path.parent,), repair=True))
    assert outcome.after is not None
    return outcome.after.decode()


def printed(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(text, "train.py", "exec"), {"__name__": "train"})
    return capsys.readouterr().out


@pytest.mark.parametrize("case", STORED)
def test_what_an_object_is_made_of_is_cut(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, cut, read = STORED[case]
    before = f"{HEAD}    kept.append({stored})\nprint([{read} for each in kept])\n"
    after = applied(before, tmp_path / "train.py")
    assert after == before.replace(stored, cut)
    assert printed(after, capsys) == printed(before, capsys)


def test_an_object_that_says_what_it_holds_is_not_cut(tmp_path: Path) -> None:
    before = HEAD + "    kept.append(Namespace(loss=loss))\nprint(kept)\n"
    assert ".detach()" not in applied(before, tmp_path / "train.py")
