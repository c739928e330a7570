"""GF401: the write is in another file than the backward()."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.again import forget_files
from graphfix.run.engine import analyse
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.{layer}())

    def forward(self, x):
        out = self.body(x)
        {write}
        return out
"""
TRAIN = """
import torch
from model import Net

net = Net()
for x in torch.ones(4, 2, 3):
    net(x).sum().backward()
"""


def told(folder: Path, **changed: str) -> list[tuple[str, str, list[str]]]:
    (folder / "model.py").write_text(MODEL.format(**{"layer": "ReLU", "write": "out += x", **changed}))
    found = analyse(folder / "train.py", TRAIN, (folder,))
    assert not found.faults
    return [(f.code, f.message, [Path(label.path).name for label in f.story]) for f in found.findings]


def test_what_another_file_writes_is_told_where_it_writes(tmp_path: Path) -> None:
    message = "`out += x` overwrites values that backward() needs"
    assert told(tmp_path) == [("GF401", message, ["model.py", "model.py", "train.py"])]


def test_it_is_told_once(tmp_path: Path) -> None:
    assert len(told(tmp_path, write="out += x\n        print(out.sum().item())")) == 1


def test_its_fix_is_made_in_its_file(tmp_path: Path) -> None:
    told(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    forget_files()
    done = examine(tmp_path / "model.py", Job((tmp_path,), Wanted(unsafe=True), repair=True)).after.decode()
    assert "out = out + x" in done


@pytest.mark.parametrize(
    "changed", [{"write": "out = out + x"}, {"layer": "BatchNorm1d"}, {"write": "out = out.clone()\n        out += x"}]
)
def test_what_runs(tmp_path: Path, changed: dict[str, str]) -> None:
    assert told(tmp_path, **changed) == []
