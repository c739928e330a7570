"""What runs leave in modules of the project does not reach the runs that follow."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

from graphfix.analysis import explore
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
KEEPER = """import torch
net = torch.nn.Linear(2, 1)

def place():
    cell = []
    return cell.append, lambda: cell

def named(function):
    return function if DEBUG else function

put, taken = place()
kept = []

@named
def train(x):
    loss = net(x).sum()
    kept.append(loss)
    put(loss)
    loss.backward()

@named
def finish():
    for loss in kept + taken():
        loss.backward()
"""


def test_what_one_function_puts_away_is_not_there_when_another_is_called() -> None:
    """The definitions run once: each entry begins with all that they made as it was."""
    assert "GF301" not in {finding.code for finding in findings_of(Path("keeper.py"), KEEPER)}
    called = KEEPER + "\ntrain(torch.ones(1, 2))\nfinish()\n"
    assert "raises" in str([finding.story for finding in findings_of(Path("keeper.py"), called)])


@pytest.mark.parametrize(
    ("code", "times"),
    [
        ("print(net(x).item())", 1),
        ("print(Part()(x).item())", 1),  # what is behind a class is found out at its first use
        ("kept.append(net(x))\n    kept[0].item()", 9),
    ],
)
def test_definitions_run_once_unless_a_run_changes_what_they_made(monkeypatch: pytest.MonkeyPatch, code: str, times: int) -> None:
    many = KEEPER.split("@named")[0] + "class Part(torch.nn.Module):\n    pass\n"
    many += "".join(f"\n@named\ndef read{n}(x):\n    {code}\n" for n in range(9))
    begun: list[Env] = []
    define = explore.define
    monkeypatch.setattr(explore, "define", lambda m, env, body: begun.append(env) or define(m, env, body))
    tape = explore.Explorer(Document("keeper.py", many), ()).explore()
    assert len({run.entry for run in tape.runs}) == 9
    assert len(begun) == times


def test_a_run_that_goes_on_from_the_definitions_knows_graphs_of_modules_that_were_read_later(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text("import torch\nbase = torch.ones(2, requires_grad=True).exp()\n")
    program = "import losses\n" + "".join(
        f"def read{n}(flag):\n    keep([losses.base])\n    print(losses.base.item())\n" for n in range(3)
    )
    tape = explore.Explorer(Document(str(tmp_path / "train.py"), program), (tmp_path,)).explore()
    held = [any(isinstance(each, ast.List) for each in run.recording.graphs) for run in tape.runs if run.entry.name]
    assert held == [True] * 3


def test_an_analysis_leaves_nothing_behind() -> None:
    findings_of(Path("keeper.py"), KEEPER + "for i in range(3):\n    h = net(h)\n    h.sum().backward()\n")
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is Env and each.document.path == "keeper.py"]


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
