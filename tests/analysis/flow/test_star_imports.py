"""`from module import *`: what the module defines, and imports, is in sight."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.model import Applicability
from graphfix.run.engine import findings_of
from graphfix.source.document import Document

HELPERS = """
import torch
import torch.nn.functional as F
from torch import nn

def shown(value):
    print(f"{float(value):.3f}")

def _hidden(value):
    print(f"{float(value):.3f}")
"""
SCRIPT = """
import torch
from {module} import *
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(9, 4, 3):
    loss = F.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
for x in torch.randn(9, 4, 3):
    {shown}(net(x).mean())
"""


def applicabilities(folder: Path, script: str) -> list[Applicability]:
    """Of the fixes for the evaluation."""
    found = [each for each in findings_of(folder / "train.py", script, (folder,)) if each.code == "GF103"]
    return [each.fix.applicability for each in found if each.fix is not None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "more.py").write_text("from helpers import *\n")
    return tmp_path


@pytest.mark.parametrize("module", ["helpers", "more"])
def test_what_a_star_brings_is_in_sight(folder: Path, module: str) -> None:
    assert applicabilities(folder, SCRIPT.format(module=module, shown="shown")) == [Applicability.SAFE]


NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        return self.fc(x)
"""
MADE = """
import torch
{imported}
net = {made}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn(9, 4, 3)
out = torch.zeros(4, 3)
for x in data:
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
for x in data:
    out = net(out)
    print(out.mean().item())
"""


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("from nets.plain import Net", "Net()"),
        ("from nets import Net", "Net()"),
        ("from every import Net", "Net()"),
        ("from every import Net as Model", "Model()"),
        ("import nets", "nets.Net()"),
        ("import every as models", "models.Net()"),
    ],
)
def test_what_a_star_brings_to_a_module_is_in_sight_of_who_imports_it(tmp_path: Path, imported: str, made: str) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "plain.py").write_text(NETS)
    (tmp_path / "nets" / "__init__.py").write_text("from .plain import *\n")
    (tmp_path / "every.py").write_text("from nets import *\n")
    assert opaque_calls(tmp_path, MADE.format(imported=imported, made=made)) == []


def opaque_calls(folder: Path, script: str) -> list[str]:
    """The calls of code out of sight that the flow of a script sees."""

    def find(name: str, importing: Document) -> Document | None:
        inside = Path(importing.path).parent if name.startswith(".") else folder
        path = inside.joinpath(*name.strip(".").split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return documents.setdefault(file, Document(str(file), file.read_text())) if file.is_file() else None

    documents: dict[Path, Document] = {}
    flow = flow_of(Document(str(folder / "train.py"), script), find)
    return [ast.unparse(call) for call in flow.calls.opaque]


def test_what_the_star_brings_is_looked_into(folder: Path) -> None:
    """It goes backward, so that nothing is recorded for nothing."""
    (folder / "helpers.py").write_text(HELPERS + "\nkept = []\n\ndef keep(value):\n    kept.append(value)\n    kept[0].backward()\n")
    assert not applicabilities(folder, SCRIPT.format(module="helpers", shown="keep"))


def test_what_a_star_may_bring_from_out_of_sight_is_not_known(folder: Path) -> None:
    script = SCRIPT.replace("from {module}", "from helpers import *\nfrom elsewhere").format(shown="mystery")
    assert Applicability.SAFE not in applicabilities(folder, script)


def test_a_star_brings_the_names_of_a_library(tmp_path: Path) -> None:
    script = SCRIPT.replace("from {module}", "import torch.nn.functional as F\nfrom torch import nn\nfrom math")
    script = script.replace("net(x)", "Linear(3, 3)(net(x))").replace("from math", "from torch.nn")
    assert applicabilities(tmp_path, script.format(shown="print")) == [Applicability.SAFE]
