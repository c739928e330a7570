"""Promise 17: no code of the repository under analysis runs, whatever it is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pexpect
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
# of these the hostile tree is committed, and what git has to commit for
DELIVERING = [
    ["pr", "."],
    ["pr", "--update", "--split", "rule", "."],
    ["pr", "--push", "origin", "."],
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
    done = subprocess.run([*start, *words], cwd=hostile, capture_output=True, env=environment, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    assert not (hostile.parent / "MARK").exists(), (hostile.parent / "MARK").read_text()


@pytest.mark.parametrize("words", DELIVERING, ids=" ".join)
def test_no_branch_leaves_a_mark(hostile: Path, command: str, words: list[str]) -> None:
    off = ["-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null"]
    for name in ("clean", "smudge", "process"):
        off += ["-c", f"filter.evil.{name}="]
    git(hostile, *off, "-c", "filter.evil.required=false", "add", ".")
    git(hostile, *off, "-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "second")
    git(hostile, "config", "user.name", "t")
    git(hostile, "config", "user.email", "t@e.org")
    git(hostile, "config", "log.showSignature", "true")
    git(hostile, "config", "commit.gpgSign", "true")
    for key in ("gpg.program", "core.editor", "sequence.editor", "core.askPass"):
        git(hostile, "config", key, str(hostile.parent / "trap.sh"))
    for hook in ("pre-push", "reference-transaction", "commit-msg", "prepare-commit-msg", "post-commit"):
        (hostile / ".git/hooks" / hook).write_bytes((hostile.parent / "trap.sh").read_bytes())
        (hostile / ".git/hooks" / hook).chmod(0o755)
    git(hostile.parent, "init", "-q", "--bare", "remote.git")
    git(hostile, *off, "remote", "add", "origin", str(hostile.parent / "remote.git"))
    for file in hostile.glob("*.py"):
        os.utime(file, (1, 1))
    (hostile.parent / "MARK").unlink(missing_ok=True)
    done = subprocess.run([command, *words], cwd=hostile, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert b"made branch" in done.stderr
    assert not (hostile.parent / "MARK").exists(), (hostile.parent / "MARK").read_text()


def test_no_review_leaves_a_mark(hostile: Path, command: str) -> None:
    environment = os.environ | {"XDG_STATE_HOME": str(hostile.parent / "state"), "TERM": "dumb"}
    child = pexpect.spawn(command, ["review", "--allow-dirty", "ast.py"], cwd=hostile, env=environment, timeout=300)
    for answer in (b"?", b"y", b"y"):
        child.expect(rb"\? \[[^]]*\] ")
        child.send(answer)
    child.expect(rb"Wrote 1 file")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert not (hostile.parent / "MARK").exists(), (hostile.parent / "MARK").read_text()


@pytest.mark.parametrize(
    "words", [["apply", "--allow-dirty", "."], ["apply", "--verify", "true", "--allow-dirty", "."]], ids=" ".join
)
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_a_shipped_journal_is_not_obeyed(
    graphfix: Callable[..., subprocess.CompletedProcess[bytes]],
    tmp_path: Path,
    loops: SimpleNamespace,
    words: list[str],
    kind: str,
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text(loops.total)
    victim = tmp_path / "victim.py"
    victim.write_bytes(b"harmless = 1\n")
    (tmp_path / ".graphfix-1-ab.tmp").write_bytes(b"evil = 1\n")
    for target in ("victim.py", str(victim)):
        moves = [[target.replace("victim.py", ".graphfix-1-ab.tmp"), target, sha256(victim.read_bytes()).hexdigest()]]
        journal, elsewhere = tmp_path / ".graphfix-journal.json", tmp_path / "journal.json"
        journal.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(journal)
        else:
            elsewhere.write_text(json.dumps({"process": 2**30, "moves": moves}))
            elsewhere.rename(journal) if kind == "file" else journal.symlink_to(elsewhere)
        before = os.lstat(journal)
        done = graphfix(*words)
        assert done.returncode == 0, done.stderr
        assert victim.read_bytes() == b"harmless = 1\n"
        assert os.lstat(journal).st_mtime_ns == before.st_mtime_ns
        (tmp_path / "train.py").write_text(loops.total)
