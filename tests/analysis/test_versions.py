"""What a program asks of torch's version is answered as today's torch would."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

HEAD = """\
import torch
import packaging.version
from distutils.version import LooseVersion
from packaging import version
from torch import __version__

loss = torch.nn.Linear(3, 1)(torch.randn(3)).mean()
loss.backward()
"""
OLD = [
    'torch.__version__ < "0.4"',
    '__version__ <= "0.3.1"',
    'torch.__version__.startswith("0.3")',
    'torch.__version__ in ("0.3.0", "0.3.1")',
    'version.parse(torch.__version__) < version.parse("0.4")',
    "packaging.version.Version(torch.__version__).major == 0",
    "version.parse(torch.__version__).release < (0, 4)",
    'LooseVersion(torch.__version__) < LooseVersion("0.4.0")',
    'LooseVersion(torch.__version__) < "0.4"',
    'int(torch.__version__.split(".")[0]) == 0',
    "float(torch.__version__[:3]) < 0.4",
    'tuple(int(part) for part in torch.__version__.split(".")[:2]) < (0, 4)',
    'not hasattr(loss, "item")',
]


@pytest.mark.parametrize("test", OLD)
def test_what_is_meant_for_an_old_torch_is_not_reached(test: str) -> None:
    old = f"{HEAD}if {test}:\n    print(loss.data[0])\nelse:\n    print(loss.item())\n"
    assert findings_of(Path("t.py"), old) == []
    new = f"{HEAD}if not ({test}):\n    print(loss.data[0])\n"
    assert [finding.code for finding in findings_of(Path("t.py"), new) if finding.code == "GF901"] == ["GF901"]


def test_another_library_s_version_is_not_known() -> None:
    text = f'{HEAD}import torchvision\nif torchvision.__version__ < "0.3":\n    print(loss.data[0])\n'
    assert [finding.code for finding in findings_of(Path("t.py"), text)] == ["GF901"]


def test_what_another_library_parses_is_no_version() -> None:
    text = f'{HEAD}from dateutil.parser import parse\nif parse("0.3") < parse("0.4"):\n    print(0)\nelse:\n    print(loss.data[0])\n'
    assert [finding.code for finding in findings_of(Path("t.py"), text)] == ["GF901"]


def test_a_list_may_have_grown() -> None:
    text = f"{HEAD}log = []\nfor step in range(9):\n    log.append(1)\nif log != [1, 1]:\n    print(loss.data[0])\n"
    assert [finding.code for finding in findings_of(Path("t.py"), text)] == ["GF901"]


def test_equal_lists_are_not_one() -> None:
    text = f"{HEAD}one, two = [], []\nif one is two:\n    print(loss.data[0])\n"
    assert [finding.code for finding in findings_of(Path("t.py"), text)] == ["GF901"]
