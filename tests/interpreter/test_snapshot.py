"""What runs leave in modules of the project does not reach the runs that follow."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.engine import findings_of

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
