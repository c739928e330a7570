"""`python -m graphfix.calls` prints what the instructions of files run."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.calls.__main__ import main


def test_what_a_file_runs_is_printed_with_what_it_imports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nets.py").write_text("class Net:\n    def __init__(self): pass\n    def step(self, loss): loss.backward()\n")
    (tmp_path / "train.py").write_text("import torch\nfrom nets import Net\nnet = Net()\nnet.step(torch.ones(1))\n")
    assert main([str(tmp_path / "train.py")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "    2  Net  ->  module (line 1)",
        "    3  Net()  ->  __init__ (line 2)",
        "    4  torch.ones(1)  ->  torch.ones",
        "    4  net.step(torch.ones(1))  ->  step (line 3)",
    ]


def test_what_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert main([str(tmp_path / "broken.py")]) == 2
    assert main([str(tmp_path / "missing.py")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 2
