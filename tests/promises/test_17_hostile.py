"""Promise 17: no code of the repository under analysis runs, whatever it is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SHADOWS = [
    "argparse", "ast", "bisect", "collections", "concurrent", "conftest", "contextlib", "dataclasses", "difflib",
    "enum", "functools", "gc", "importlib", "io", "json", "libcst", "logging", "multiprocessing", "os", "pathlib",
    "pathspec", "pickle", "queue", "random", "re", "rich", "secrets", "hashlib", "urllib", "xml", "tomllib", "selectors", "setup",
    "shutil", "signal", "site",
    "sitecustomize", "socket", "stat", "string", "subprocess", "sys", "tempfile", "threading", "tokenize", "torch",
    "traceback", "typer", "types", "typing", "unicodedata", "unidiff", "usercustomize", "warnings", "weakref",
]  # fmt: skip
COMMANDS = [
    ["check", "."],
    ["check", "--output-format", "json", "."],
    ["check", "--output-format", "sarif", "."],
    ["check", "--output-format", "junit", "."],
    ["check", "--write-baseline", "../base.json", "."],
    ["config", "."],
    ["diff", "--by-rule", "../patches", "."],
    ["diff", "."],
    ["apply", "--dry-run", "."],
    ["apply", "--allow-dirty", "."],
    ["apply", "."],
    ["rule", "GF101"],
]


@pytest.fixture
def hostile(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """A repository in which everything that anybody might run leaves a mark."""
    root = tmp_path / "repository"
    root.mkdir()
    trap = f"open({str(tmp_path / 'MARK')!r}, 'a').write(__file__)\n"
    for name in SHADOWS:
        (root / f"{name}.py").write_text(trap + loops.total)
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\necho $0 >> {tmp_path / 'MARK'}\ncat\n")
    script.chmod(0o755)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@e.org", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
    (root / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command",
                "diff.external", "core.pager", "diff.evil.textconv"):  # fmt: skip
        git(root, "config", key, str(script))
    git(root, "config", "filter.evil.required", "true")
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (root / ".git/hooks" / hook).write_bytes(script.read_bytes())
        (root / ".git/hooks" / hook).chmod(0o755)
    (root / "pyproject.toml").write_text("[tool.graphfix]\n")
    # touched, so that git has to look into the files
    for file in root.glob("*.py"):
        os.utime(file, (1, 1))
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("module", [False, True], ids=["script", "python -m"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_leaves_a_mark(hostile: Path, command: str, words: list[str], module: bool) -> None:
    start = [sys.executable, "-m", "graphfix"] if module else [command]
    environment = os.environ | ({} if module else {"PYTHONPATH": ""})
    done = subprocess.run([*start, *words], cwd=hostile, capture_output=True, env=environment, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    assert not (hostile.parent / "MARK").exists(), (hostile.parent / "MARK").read_text()
