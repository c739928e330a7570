"""Modules of the project that a file imports."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphfix.run.engine import analyse

IMPORTING = """\
import torch
from closed import thing
net = torch.nn.Linear(2, 2)
total = 0
for _ in range(3):
    loss = net(torch.ones(2)).sum()
    loss.backward()
    total += loss
print(total)
"""


def test_a_folder_that_cannot_be_entered_costs_nobody_elses_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    stat = os.stat

    def denied(path: object, *words: object, **options: object) -> os.stat_result:
        if closed in Path(os.fspath(path)).parents if isinstance(path, (str, Path)) else False:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", denied)
    found = analyse(tmp_path / "train.py", IMPORTING, (tmp_path,))
    assert [finding.code for finding in found.findings] == ["GF101"] and not found.faults
