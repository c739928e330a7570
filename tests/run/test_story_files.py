"""The files of a story are named as the file of its finding is, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine

LAYERS = """\
def scale_(x):
    x.mul_(2)
"""
TRAIN = """\
import torch
from lib.layers import scale_
out = torch.sigmoid(torch.nn.Linear(4, 1)(load()))
y = out * out
scale_(out)
y.sum().backward()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "layers.py").write_text(LAYERS)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def files(path: Path, project: Path) -> set[str]:
    """The files of the one story that is told in `path`."""
    (finding,) = examine(path, Job((project,))).findings
    return {label.path for label in finding.story}


def test_from_the_working_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert files(Path("lib/layers.py"), project) == {"train.py", "lib/layers.py"}


def test_from_a_folder_beside_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "lib")
    assert files(Path("layers.py"), project) == {"../train.py", "layers.py"}


def test_in_full_where_the_finding_is(project: Path) -> None:
    path = project / "lib" / "layers.py"
    assert files(path, project) == {str(path), str(project / "train.py")}
