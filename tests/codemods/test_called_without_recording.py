"""GF103: what is called without recording, by the project or by a trainer, and what its caller does not wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine

from .toys import told


@pytest.mark.parametrize(("caller", "codes"), [("with torch.no_grad():", set()), ("if True:", {"GF103"})])
def test_a_function_that_the_project_calls_under_no_grad(tmp_path: Path, caller: str, codes: set[str]) -> None:
    program = "from torch import nn\n\n\ndef score(data):\n    model = nn.Linear(4, 1)\n    model.eval()\n    return show(model, data)\n\n\n"
    program += "def show(model, data):\n    for x in data:\n        print(model(x).sum().item())\n"
    path = tmp_path / "scores.py"
    path.write_text(program)
    (tmp_path / "main.py").write_text(f"import torch\nfrom scores import score\n{caller}\n    score(torch.ones(2, 4))\n")
    assert {finding.code for finding in findings_of(path, program, (tmp_path,))} == codes


@pytest.mark.parametrize(
    ("called", "codes"),
    [
        ("score(1, depth=2)", set()),
        ("score(1, **options)", set()),
        ("score(1, 2, 3)", {"GF103"}),  # another function of that name
    ],
)
def test_callers_that_give_keywords_and_tests_that_do_as_they_like(tmp_path: Path, called: str, codes: set[str]) -> None:
    program = "from torch import nn\n\n\ndef score(data, limit=1, **options):\n"
    program += "    model = nn.Linear(4, 1)\n    model.eval()\n    return show(model, data)\n\n\n"
    program += "def show(model, data):\n    for x in data:\n        print(model(x).sum().item())\n"
    path = tmp_path / "scores.py"
    path.write_text(program)
    (tmp_path / "main.py").write_text(f"import torch\nfrom scores import score\nwith torch.no_grad():\n    {called}\n")
    (tmp_path / "test_scores.py").write_text("from scores import score\nscore(1)\n")
    assert {finding.code for finding in findings_of(path, program, (tmp_path,))} == codes


SHOWN = """
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def draw(self, codes):
        points = []
        for code in codes:
            points.append(self.net(code).squeeze().tolist())
        return points
"""
FAR = {  # files between the function and the call without recording
    "methods, behind DataParallel": {
        "model.py": """
from torch import nn
from decoder import Decoder

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder()

    def draw(self, x):
        return self.decoder.draw(x)
""",
        "building.py": """
from torch import nn
from model import Model

class Built:
    def build(self):
        self.network = nn.DataParallel(Model())
""",
        "trainer.py": """
from building import Built

class Trainer(Built):
    def show(self, data):
        return self.network.module.draw(data)

    def test(self, data):
        self.network.eval()
        self.shown = [self.show(data) for _ in range(3)]
""",
        "main.py": """
import torch
import trainer
runner = trainer.Trainer()
runner.build()
{around}
    runner.test([torch.ones(2, 4)])
""",
    },
    "functions": {
        "picture.py": "from decoder import Decoder\n\ndef picture(data):\n    return Decoder().draw(data)\n",
        "page.py": "import picture\n\ndef page(data):\n    return [picture.picture(data)]\n",
        "report.py": "from page import page\n\ndef report(data):\n    return [page(data)]\n",
        "main.py": "import torch\nfrom report import report\n{around}\n    report([torch.ones(2, 4)])\n",
    },
    "a mixin that a class of another file calls": {
        "drawing.py": "from decoder import Decoder\n\nclass Drawing:\n    def picture(self, data):\n        return Decoder().draw(data)\n",
        "scene.py": "from drawing import Drawing\n\nclass Scene(Drawing):\n    def all(self, data):\n        return self.picture(data)\n",
        "gallery.py": "from scene import Scene\n\ndef gallery(data):\n    return Scene().all(data)\n",
        "main.py": "import torch\nfrom gallery import gallery\n{around}\n    gallery([torch.ones(2, 4)])\n",
    },
}


@pytest.mark.parametrize(("around", "codes"), [("with torch.no_grad():", set()), ("if True:", {"GF103"})], ids=["off", "on"])
@pytest.mark.parametrize("files", FAR.values(), ids=FAR)
def test_a_caller_far_away_that_does_not_record(tmp_path: Path, files: dict[str, str], around: str, codes: set[str]) -> None:
    path = tmp_path / "decoder.py"
    path.write_text(SHOWN)
    for name, text in files.items():
        (tmp_path / name).write_text(text.format(around=around))
    assert {finding.code for finding in findings_of(path, SHOWN, (tmp_path,))} == codes
    for name in files:
        assert examine(tmp_path / name, Job((tmp_path,))).reason == ""


BASE = """
import torch

class Runner:
    def __init__(self, net):
        self.net = net

    def context(self):
        return torch.no_grad

    def run(self, loader):
        {setup}
        with {context}:
            return self.scores(loader)
"""
DERIVED = """
import torch
from {module} import {name}

class Mine({base}):
    def scores(self, loader):
        self.net.eval()
        for x in loader:
            print(self.net(x).sum().item())
"""


@pytest.mark.parametrize(
    ("setup", "context", "codes"),
    [
        ("pass", "torch.no_grad()", set()),
        ("context = self.context()", "context()", set()),
        ("context = torch.no_grad()", "context", set()),
        ("context = torch.no_grad if self.net else torch.inference_mode", "context()", set()),
        ("context = torch.no_grad if self.net else torch.enable_grad", "context()", {"GF103"}),
        ("context = self.other()", "context()", {"GF103"}),
        ("pass", "open('log')", {"GF103"}),
        ("context = torch.no_grad", "context()", set()),
        ("context = torch.no_grad\n        context, _ = self.other()", "context()", {"GF103"}),
        ("loader = torch.no_grad if loader is None else torch.no_grad", "loader()", {"GF103"}),  # it is given, too
        ("pass", "self.context()()", set()),
    ],
)
@pytest.mark.parametrize(
    ("module", "name", "base"),
    [("runner", "Runner", "Runner"), ("runner", "Runner as Base", "Base"), ("inner", "Inner", "Inner")],
)
def test_a_method_that_the_base_class_of_another_file_calls_under_no_grad(
    tmp_path: Path, setup: str, context: str, codes: set[str], module: str, name: str, base: str
) -> None:
    (tmp_path / "runner.py").write_text(BASE.format(setup=setup, context=context))
    (tmp_path / "inner.py").write_text("import runner\n\n\nclass Inner(runner.Runner):\n    pass\n")
    program = DERIVED.format(module=module, name=name, base=base)
    assert {finding.code for finding in findings_of(tmp_path / "mine.py", program, (tmp_path,))} == codes


def test_a_class_that_defines_the_context_of_its_base_anew(tmp_path: Path) -> None:
    (tmp_path / "runner.py").write_text(BASE.format(setup="context = self.context()", context="context()"))
    program = DERIVED.format(module="runner", name="Runner", base="Runner")
    program += "\n    def context(self):\n        return torch.enable_grad\n"
    assert {finding.code for finding in findings_of(tmp_path / "mine.py", program, (tmp_path,))} == {"GF103"}


HOOKS = """
import pytorch_lightning as pl

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def training_step(self, batch, index):
        return self.net(batch).mean()

    def {hook}(self, batch, index):
        self.seen = self.net(batch).mean()
        print(self.seen.item())
"""


@pytest.mark.parametrize(("hook", "codes"), [("validation_step", set()), ("on_test_batch_end", set()), ("show", {"GF103"})])
def test_what_a_trainer_calls_without_recording(hook: str, codes: set[str]) -> None:
    assert told(HOOKS.format(hook=hook)) & {"GF103"} == codes


def test_a_generator_that_is_sent_values_outlives_its_call() -> None:
    program = """
def play(model):
    x = torch.ones(4)
    while True:
        out = model(x)
        x = {resumed}

def begin(model):
    turn = play(model)
    next(turn)
    return turn

model = nn.Linear(4, 4)
model.eval()
for _ in range(3):
    turn = begin(model)
"""
    assert told(program.format(resumed="yield out.sum()")) == set()
    assert told(program.format(resumed="torch.ones(4)\n        print(out.sum().item())")) == {"GF103"}
