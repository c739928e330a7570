"""A program that cannot be read is told so, whatever it imports: it shows nothing of other files, and took no time."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job
from graphfix.run.selection import Wanted
from graphfix.run.tellers import told_from


@pytest.mark.parametrize("broken", ["def (:\n", "x = = 3\n", "foo(\n", "class\n", "\x00"])
def test_a_program_that_imports_a_file_and_cannot_be_read(tmp_path: Path, broken: str) -> None:
    (tmp_path / "layers.py").write_text("import torch\nnet = torch.nn.Linear(1, 1)\n")
    entry = tmp_path / "train.py"
    entry.write_text(f"from layers import net\nnet(1).sum().backward()\n{broken}")
    told, _ = told_from(entry, Job((tmp_path,), Wanted()))
    assert not told.unheard
