"""A file is understood alike whether it is checked by itself, with its folder, or with all of its project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FILES = {
    "pyproject.toml": "[project]\nname = 'toy'\n",
    "models/__init__.py": "",
    "models/net.py": """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)
""",
    "tools/run.py": """import torch
import torch.nn.functional as F
from models.net import Net

net = Net()
net.eval()
for x, y in loader:
    print(F.mse_loss(net(x), y).item())
""",
}


@pytest.mark.parametrize("path", ("tools/run.py", "tools", "."))
def test_imports_are_followed_in_the_project(graphfix, tmp_path: Path, path: str) -> None:  # type: ignore[no-untyped-def]
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = graphfix("check", "--output-format", "json", path)
    assert [(finding["code"], finding["location"]["row"]) for finding in json.loads(done.stdout)] == [("GF103", 8)]


def test_without_marks_the_working_folder_is_the_project(graphfix, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for name, text in FILES.items():
        if name != "pyproject.toml":
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    done = graphfix("check", "--output-format", "json", "tools/run.py")
    assert [finding["code"] for finding in json.loads(done.stdout)] == ["GF103"]


def test_a_program_with_a_syntax_error_is_told_so_whatever_it_imports(graphfix, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "layers.py").write_text("import torch\nnet = torch.nn.Linear(1, 1)\n")
    (tmp_path / "train.py").write_text("from layers import net\nnet(1).sum().backward()\ndef (:\n")
    done = graphfix("check", "train.py")
    assert done.returncode == 2
    assert done.stderr.decode() == "train.py:3:5: cannot be read: syntax error: invalid syntax\n"
