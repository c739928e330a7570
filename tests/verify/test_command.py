"""Commands as a user types them, run in copies."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from graphfix.verify.command import BadCommand, parsed
from graphfix.verify.record import Ending

PYTHON = shlex.quote(sys.executable)
SCRIPT = """\
import os, sys, torch
w = torch.ones(3, requires_grad=True)
for step in range(3):
    (w * w).sum().backward()
print(sys.argv[1:], os.environ.get("MODE"))
open("written.txt", "w").write("x")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/train.py").write_text(SCRIPT)
    (tmp_path / "sub/__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        f"{PYTHON} sub/train.py --lr '0 1'",
        f"MODE=fast {PYTHON} -u -W ignore sub/train.py --lr '0 1'",
        f"{PYTHON} -m sub.train --lr '0 1'",
    ],
    ids=["script", "environment and options", "module"],
)
def test_a_script_is_watched(project: Path, text: str) -> None:
    command = parsed(text, project, 600)
    run = command.run({})
    assert command.job is not None
    assert run.clean, run
    assert run.walk_count == 3
    assert run.stdout.startswith("['--lr', '0 1'] " + ("fast" if "MODE" in text else "None"))
    assert [walk.file for walk in run.walks] == ["sub/train.py"] * 3
    assert sorted(path.name for path in project.rglob("*.*")) == [".git", "__init__.py", "train.py"]


def test_the_changed_file_is_what_runs(project: Path) -> None:
    changed = {project / "sub/train.py": b"raise SystemExit('changed')\n"}
    run = parsed(f"{PYTHON} sub/train.py", project, 600).run(changed)
    assert (run.ending, run.exit_code) == (Ending.EXITED, 1)


def test_the_working_folder_stays_the_same_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "sub")
    run = parsed(f"{PYTHON} train.py", project, 600).run({})
    assert run.clean and [walk.file for walk in run.walks] == ["train.py"] * 3


def test_a_shell_command_has_an_end_only(project: Path) -> None:
    command = parsed("test -f sub/train.py && echo yes", project, 600)
    assert command.job is None
    assert command.run({}).stdout == "yes\n"
    assert parsed("true; exit 3", project, 600).run({}).exit_code == 3


def test_a_shell_command_that_takes_too_long(project: Path) -> None:
    assert parsed("sleep 60 & sleep 60; true", project, 0.5).run({}).ending is Ending.LATE


def test_a_project_that_is_installed_in_place_is_imported_from_the_copy(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "lib").mkdir()
    (project / "lib/model.py").write_text("NAME = 'old'\n")
    (project / "use.py").write_text("import model, torch\nprint(model.NAME)\n")
    monkeypatch.setenv("PYTHONPATH", str(project / "lib"))
    run = parsed(f"{PYTHON} use.py", project, 600).run({project / "lib/model.py": b"NAME = 'new'\n"})
    assert run.stdout == "new\n"


def test_with_a_seed_strings_have_one_hash_unless_the_user_says_which(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "use.py").write_text("import sys\nprint(hash('graph'), sys.flags.hash_randomization)\n")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    seeded = parsed(f"{PYTHON} use.py", project, 600, seed=1)
    assert seeded.run({}).stdout == seeded.run({}).stdout
    assert parsed(f"PYTHONHASHSEED=0 {PYTHON} use.py", project, 600, seed=1).run({}).stdout.endswith(" 0\n")
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    assert seeded.run({}).stdout.endswith(" 0\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("no-such-program x", "no such command"),
        ("python 'a", "quotation"),
        (f"{PYTHON} gone.py", "gone.py: no such file"),
    ],
)
def test_what_cannot_be_started(project: Path, text: str, why: str) -> None:
    with pytest.raises(BadCommand, match=why):
        parsed(text, project, 600)
