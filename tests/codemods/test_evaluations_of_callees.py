"""GF103: what a function records for nobody is told once, in the function, whoever calls it in whichever file."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def forward(self, x):
        return self.net(x)

    def sample(self, count):
        self.eval()
        h = torch.zeros(1, 4)
        for _ in range(count):
            h = self.net(h).tanh()
        print(h.sum().item())
"""
CALLERS = {
    "a loop of a script": {"main.py": "from model import Model\nmodel = Model()\nfor i in range(9):\n    model.sample(3)\n"},
    "two scripts": {
        "main.py": "from model import Model\nmodel = Model()\nfor i in range(9):\n    model.sample(3)\n",
        "quick.py": "from model import Model\nnet = Model()\nfor text in ['a', 'b']:\n    net.sample(len(text))\n",
    },
    "a function of another file, and its script": {
        "showing.py": "def show(model):\n    for i in range(9):\n        model.sample(3)\n",
        "main.py": "from model import Model\nfrom showing import show\nshow(Model())\nModel().sample(1)\n",
    },
}


@pytest.mark.parametrize("files", CALLERS.values(), ids=CALLERS)
def test_what_a_function_records_is_told_there_alone(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in {"model.py": MODEL, **files}.items():
        (tmp_path / name).write_text(text)
    examined = [tmp_path / name for name in ("model.py", *files)]
    told = [
        (path.name, finding.code)
        for path in examined
        for finding in examine(path, Job((tmp_path,), Wanted(), examined=frozenset(examined))).findings
    ]
    assert told == [("model.py", "GF103")]
