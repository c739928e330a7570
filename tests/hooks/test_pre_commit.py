"""The pre-commit hooks, run by pre-commit in a scratch repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

pytest.importorskip("pre_commit")
ROOT = Path(__file__).parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
Hook = Callable[..., subprocess.CompletedProcess[str]]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def hook(tmp_path: Path, command: str, loops: SimpleNamespace) -> Hook:
    """Runs pre-commit with one of the hooks in a repository with staged files.

    The hooks' own environment would be made by pip. Here they run in this one, which has the same command.
    """
    source, target = tmp_path / "hooks", tmp_path / "repository"
    for folder in (source, target):
        folder.mkdir()
        git(folder, "init", "-q")
    hooks = [{**one, "language": "system"} for one in HOOKS]
    (source / ".pre-commit-hooks.yaml").write_text(yaml.safe_dump(hooks))
    git(source, "add", ".")
    git(source, "commit", "-qm", "hooks")
    (target / "a b.py").write_text(loops.total)
    (target / "excluded.py").write_text(loops.total)
    (target / "notes.txt").write_text("loss.data[0]\n")
    (target / "graphfix.toml").write_text("extend-exclude = ['excluded.py']\n")
    git(target, "add", ".")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    environment |= {
        "PATH": f"{Path(command).parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
    }

    def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        config = {"repos": [{"repo": str(source), "rev": git(source, "rev-parse", "HEAD").strip(), "hooks": [{"id": name}]}]}
        (target / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        git(target, "add", ".pre-commit-config.yaml")
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", name, *words],
            cwd=target, env=environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip

    return run


def test_check_fails_where_there_are_findings(hook: Hook, tmp_path: Path, loops: SimpleNamespace) -> None:
    done = hook("graphfix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error[GF101] accumulated-graph" in done.stdout and "a b.py:13:5" in done.stdout
    assert "Found 1 finding in 1 file" in done.stdout
    (tmp_path / "repository/a b.py").write_text(loops.clean)
    git(tmp_path / "repository", "add", ".")
    done = hook("graphfix")
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout


def test_apply_repairs_what_is_staged_and_then_passes(hook: Hook, tmp_path: Path, loops: SimpleNamespace) -> None:
    done = hook("graphfix-apply")
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout, done.stdout
    assert (tmp_path / "repository/a b.py").read_text() == loops.total_fixed
    assert (tmp_path / "repository/excluded.py").read_text() == loops.total
    git(tmp_path / "repository", "add", ".")
    assert hook("graphfix-apply").returncode == 0
    assert hook("graphfix", "--all-files").returncode == 0


def test_the_manifest_is_what_pre_commit_reads() -> None:
    from pre_commit.clientlib import load_manifest

    made = load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert [(one["id"], one["language"]) for one in made] == [("graphfix", "python"), ("graphfix-apply", "python")]
    assert all(one["entry"].split()[0] == "graphfix" and one["require_serial"] for one in made)
