"""By which names of other files a file comes to a backward pass, or to a read out of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.relevance.reach import Aim, Imports, offered
from graphfix.run.again import forget_files

FILES = {
    "steps.py": "def walk(loss):\n    loss.backward()\n\ndef idle(x):\n    return x\n\nclass Trainer:\n    def fit(self, loss):\n        walk(loss)\n",
    "engine.py": "from steps import walk, idle\n\ndef train(x):\n    walk(x)\n\ndef plain(x):\n    return idle(x)\n\ndef rate(x):\n    return x.item()\n",
    "round.py": "import circle\n\ndef one(x):\n    return circle.two(x)\n",
    "circle.py": "import round\n\ndef two(x):\n    return round.one(x)\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    forget_files()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "aim", "names"),
    [
        ("steps.py", Aim.WALK, {"walk", "Trainer"}),
        ("engine.py", Aim.WALK, {"train"}),
        ("engine.py", Aim.READ, {"rate"}),
        ("round.py", Aim.WALK, set()),
    ],
)
def test_names_lead_to_what_is_spelled_here_or_further_on(project: Path, name: str, aim: Aim, names: set[str]) -> None:
    found = {each for each in offered(project / name, (project,), aim) if each.isidentifier()}
    assert found == names


@pytest.mark.parametrize(
    ("name", "comes"),
    [
        ("engine.train", True),
        ("engine.idle", False),
        (".engine.train", True),
        ("torch.train", False),
        ("missing.train", False),
        ("engine", False),
        ("steps.Trainer.fit", True),
    ],
)
def test_a_full_name_comes_to_what_its_file_offers(project: Path, name: str, comes: bool) -> None:
    imports = Imports(project / "main.py", (project,), lambda target: offered(target, (project,), Aim.WALK))
    assert imports.comes(name) is comes
