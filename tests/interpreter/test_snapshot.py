"""What runs leave in modules of the project does not reach the runs that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.policies import Policy, PolicyKind
from graphfix.interpreter import snapshot
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.imports import Importer
from graphfix.models.assembly import assembled
from graphfix.run.engine import findings_of
from graphfix.source.document import Document

CACHE = """import torch
_windows = {}

def window_of(x):
    if x.shape not in _windows:
        _windows[x.shape] = x.exp()
    return _windows[x.shape]
"""
USER = """import torch
from losses import window_of

def score(x):
    try:
        import fused
        if not x.is_cpu:
            return fused.score(x)
    except ImportError:
        pass
    return (x * window_of(x)).mean()

def test_score():
    x = torch.rand(2, 3, requires_grad=True)
    score(x).backward()
    assert x.grad is not None
"""
OFF = """import torch
from torch import nn

torch.set_grad_enabled(False)

def match(pairs):
    net = nn.Linear(3, 1)
    net.eval()
    for pair in pairs:
        print(net(pair).sum().item())
"""


def test_a_cache_of_an_imported_module_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text(CACHE)
    path = tmp_path / "test_losses.py"
    path.write_text(USER)
    assert [finding.code for finding in findings_of(path, USER, (tmp_path,)) if not finding.optional] == []


def test_a_module_that_switches_recording_off_is_run_without() -> None:
    assert [finding.code for finding in findings_of(Path("match.py"), OFF)] == []
    assert [finding.code for finding in findings_of(Path("match.py"), OFF.replace("torch.set_grad_enabled(False)", ""))] != []
    named = OFF.replace("torch.set_grad_enabled(", "from torch import set_grad_enabled\nset_grad_enabled(")
    assert [finding.code for finding in findings_of(Path("match.py"), named)] == []


def test_graphs_of_an_imported_module_are_known_in_each_run(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text("import torch\nbase = torch.ones(2, requires_grad=True).exp()\n")
    loader = Importer(tmp_path / "train.py", (tmp_path,))
    program = Document("train.py", "import losses\n")
    for _ in range(2):
        m = assembled(Policy(PolicyKind.USUAL), loader)
        loader.begin(m)
        m.frames.append(Frame(Env(program), program.tree, (), (), 0))
        module = loader.load(m, tmp_path / "losses.py", "losses")
        assert module is not None
        m.escape(module.env.variables["base"], program.tree, "kept")
        assert m.recording.escapes


def test_modules_that_hold_too_much_are_defined_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST", 2)
    test_a_cache_of_an_imported_module_is_as_it_was(tmp_path)
