"""Loaders over data sets that hold tensors with a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

class Rows(Dataset):
    def __init__(self, tensor):
        self.tensor = tensor
    def __len__(self):
        return len(self.tensor)
    def __getitem__(self, index):
        return {{"x": self.tensor[index]}}

def first(items):
    return torch.stack([item["x"] for item in items])

before = nn.Linear(3, 4)
data = {made}
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for batch in {loader}:
    loss = net({x}).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LOADERS = {
    "tensors": ("DataLoader(TensorDataset(data, data), batch_size=2)", "batch[0]"),
    "a data set of the project": ("DataLoader(Rows(data), batch_size=2)", 'batch["x"]'),
    "a part of it": ("DataLoader(Subset(Rows(data), range(4)), batch_size=2)", 'batch["x"]'),
    "batches made by a function": ("DataLoader(Rows(data), batch_size=2, collate_fn=first)", "batch"),
}


@pytest.mark.parametrize(("loader", "x"), LOADERS.values(), ids=LOADERS)
def test_each_batch_goes_on_with_the_graph_of_the_data(loader: str, x: str) -> None:
    program = PROGRAM.format(made="before(torch.randn(8, 3))", loader=loader, x=x)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        exec(compile(program, "train.py", "exec"), {})
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF203")
    assert finding.fix is not None
    exec(compile(apply_fixes(program, [finding.fix]).text, "train.py", "exec"), {})


@pytest.mark.parametrize(("loader", "x"), LOADERS.values(), ids=LOADERS)
def test_data_without_a_graph_is_data(loader: str, x: str) -> None:
    program = PROGRAM.format(made="before(torch.randn(8, 3)).detach()", loader=loader, x=x)
    exec(compile(program, "train.py", "exec"), {})
    assert not findings_of(Path("train.py"), program)
