"""Who imports whom, and which files come to what the analysis is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.project.importers import programs_of
from graphfix.project.leading import leads_on, leads_on_from
from graphfix.run.again import forget_files

FILES = {
    "meters.py": "class Meter:\n    pass\n",
    "engine.py": "from meters import Meter\n\ndef step(loss):\n    loss.backward()\n",
    "main.py": "import engine\nengine.step(make())\n",
    "far/tool.py": "from main import x\n",
    "alone.py": "import json\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "far").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    forget_files()
    return tmp_path


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_programs_come_to_a_file_over_others_and_close_ones_come_first(project: Path) -> None:
    assert names(programs_of(project / "meters.py", (project,))) == ["engine.py", "main.py", "tool.py"]
    assert names(programs_of(project / "alone.py", (project,))) == []


@pytest.mark.parametrize(("name", "leads"), [("engine.py", True), ("main.py", True), ("meters.py", False), ("alone.py", False)])
def test_a_file_leads_on_by_what_it_imports(project: Path, name: str, leads: bool) -> None:
    assert leads_on(project / name, (project,)) is leads


def test_a_work_tree_below_the_project_is_another_project(project: Path) -> None:
    (project / "far" / ".git").write_text("gitdir: elsewhere\n")  # so git marks a submodule; a clone has a folder
    assert names(programs_of(project / "meters.py", (project,))) == ["engine.py", "main.py"]
    assert names(programs_of(project / "meters.py", (project, project / "far"))) == ["engine.py", "main.py", "tool.py"]


def test_what_a_text_imports_counts_and_not_what_the_file_holds(project: Path) -> None:
    assert leads_on_from(project / "alone.py", "from engine import step\n", (project,))
    assert not leads_on_from(project / "engine.py", "import json\nx.backward()\n", (project,))
