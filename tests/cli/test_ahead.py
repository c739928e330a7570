"""`check` tells what `apply` does, also what only a later pass of it finds."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]

# once the wrap is gone nobody needs the import
WRAPPED = """\
import torch
from torch.autograd import Variable

net = torch.nn.Linear(2, 2)
for step in range(3):
    noise = Variable(torch.randn(4, 2), volatile=True)
    print(net(noise).sum().item())
"""
SELECT = ["--select", "GF903"]


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(WRAPPED)
    return path


def test_check_counts_what_apply_fixes(wrapped: Path, graphfix: Run) -> None:
    told = graphfix("check", *SELECT).stdout.decode()
    done = graphfix("apply", *SELECT).stdout.decode()
    assert re.search(r"Found (\d+) findings in 1 file \((\d+) fixable", told).groups() == ("2", "2")  # type: ignore[union-attr]
    assert "Fixed 2 findings in 1 file; checked 1 file" in done


def test_it_is_told_where_it_stands_and_what_has_to_come_first(wrapped: Path, graphfix: Run) -> None:
    (later, first) = json.loads(graphfix("check", "--output-format", "json", *SELECT).stdout)
    assert (later["location"], later["end_location"]) == ({"row": 2, "column": 1}, {"row": 2, "column": 36})
    assert later["fix"] == {"applicability": "safe", "message": "remove the import, after the other fixes are applied", "reason": None, "edits": []}
    assert first["fix"]["edits"]


@pytest.mark.parametrize("form", ["text", "concise", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"])
def test_every_form_tells_it(wrapped: Path, graphfix: Run, form: str) -> None:
    done = graphfix("check", "--output-format", form, *SELECT)
    assert done.returncode == 1 and not done.stderr
    assert done.stdout.count(b"GF903") >= 2


def test_a_baseline_has_it_from_the_start(wrapped: Path, graphfix: Run) -> None:
    assert b"Wrote 2 findings" in graphfix("check", "--write-baseline", "base.json", *SELECT).stdout
    done = graphfix("check", "--baseline", "base.json", *SELECT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 in the baseline" in done.stdout
    for words in (["diff"], ["apply"]):
        done = graphfix(*words, "--baseline", "base.json", *SELECT)
        assert done.returncode == 0 and b"no longer found" not in done.stderr
    wrapped.write_text(WRAPPED.replace("Variable(torch.randn(4, 2), volatile=True)", "torch.randn(4, 2)").replace(
        "from torch.autograd import Variable\n", ""))  # fmt: skip
    assert b"2 entries no longer found" in graphfix("check", "--baseline", "base.json", *SELECT).stderr


def test_a_suppression_of_it_is_used(wrapped: Path, graphfix: Run) -> None:
    wrapped.write_text(WRAPPED.replace("import Variable", "import Variable  # graphfix: ignore[GF903]"))
    done = graphfix("check", "--report-unused-suppressions", *SELECT)
    assert done.returncode == 1 and done.stderr == b""
    assert b"Found 1 finding" in done.stdout
