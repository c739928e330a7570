"""Promise 17: no code of the repository under analysis runs, whatever it is called."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pexpect
import pytest

pytestmark = pytest.mark.deep

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


# settings that git documents elsewhere than in `git help config`
ALSO = (
    "filter.<driver>.process", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "trailer.<token>.command", "trailer.<token>.cmd",
    "credential.helper", "gpg.<format>.program", "diff.<driver>.textconv", "remote.<name>.vcs", "core.fsmonitor", "a.b",
)  # fmt: skip
WORDS = {"name": "origin", "url": "https://example.org", "condition": "gitdir:/", "cmd": "status", "format": "ssh"}
HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit", "post-index-change",
    "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase",
    "prepare-commit-msg", "push-to-checkout", "reference-transaction", "sendemail-validate",
)  # fmt: skip
# what a push needs: the test says where the remote is
LEFT = ("remote.<name>.url", "remote.<name>.pushurl", "remote.<name>.push", "remote.<name>.fetch")


def documented() -> list[str]:
    """All settings that git knows of, with something for each part of a name that anybody may choose."""
    listed = subprocess.run(["git", "help", "--config"], check=True, capture_output=True, text=True).stdout.split("\n\n")[0].split()
    names = [name for name in dict.fromkeys([*listed, *ALSO]) if "." in name and name not in LEFT]
    assert len(names) > 500 and "core.sshCommand" in names
    # a driver of this name is another one where a word `name=value` says what is set
    return [re.sub(r"<([^>]+)>", lambda part: WORDS.get(part[1], "a=b"), name).replace("*", "helper") for name in names]


def entry(name: str, trap: Path) -> str:
    """The lines of a `.git/config` that set `name` to the program `trap`, or to a file that does so."""
    section, _, rest = name.partition(".")
    between, mark, key = rest.rpartition(".")
    value = {"include": trap.with_name("included"), "includeIf": trap.with_name("included")}.get(section, trap)
    value = trap.with_name("hooks") if key == "hooksPath" else value
    head = f'[{section} "{between}"]' if mark else f"[{section}]"
    return f"{head}\n\t{key} = {'!' * (name.endswith('.update'))}{value}\n"


def accepted(names: list[str], root: Path, trap: Path) -> list[str]:
    """Those of the names with which git works at all: where the value of a number is no number, nothing can run."""
    # without the first, git does not look at some of the others
    (root / ".git/config").write_text(PLAIN + "".join(entry(name, trap) for name in ["core.fsmonitor", *names]))
    asked = (["config", "--list"], ["status", "--porcelain"], ["log", "-1"], ["var", "GIT_AUTHOR_IDENT"])
    if all(subprocess.run(["git", *words], cwd=root, capture_output=True).returncode == 0 for words in asked):
        return names
    if len(names) == 1:
        return []
    middle = len(names) // 2
    return accepted(names[:middle], root, trap) + accepted(names[middle:], root, trap)


PLAIN = "[core]\n\trepositoryformatversion = 0\n[user]\n\tname = t\n\temail = t@e.org\n"


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of all settings that can hold the name of a program."""
    root = tmp_path_factory.mktemp("settings")
    (trap := root / "trap.sh").write_text("#!/bin/sh\ncat\n")
    (root / "included").write_text("")
    trap.chmod(0o755)
    git(root, "init", "-q")
    git(root, "-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "first", "--allow-empty")
    found = accepted(documented(), root, trap)
    found = accepted(list(dict.fromkeys(found)), root, trap)
    assert len(found) > 300 and {"core.sshCommand", "filter.a=b.clean", "core.fsmonitor", "include.path"} <= set(found)
    return found


@pytest.fixture
def hostile(tmp_path: Path, loops: SimpleNamespace, settings: list[str]) -> Path:
    """A repository in which everything that anybody might run leaves a mark."""
    root = tmp_path / "repository"
    root.mkdir()
    trap = f"open({str(tmp_path / 'MARK')!r}, 'a').write(__file__)\n"
    for name in SHADOWS:
        (root / f"{name}.py").write_text(trap + loops.total)
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\necho $0 >> {tmp_path / 'MARK'}\ncat\n")
    script.chmod(0o755)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@e.org", "-c", "commit.gpgsign=false", "commit", "-qm", "first")
    (root / ".gitattributes").write_text("*.py filter=a=b diff=a=b merge=a=b\n")
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {script}\n")
    text = PLAIN + "".join(entry(name, script) for name in settings)
    (root / ".git/config").write_text(text + '[filter "a=b"]\n\trequired = true\n')
    for folder in (root / ".git/hooks", tmp_path / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).write_bytes(script.read_bytes())
            (folder / hook).chmod(0o755)
    (root / "pyproject.toml").write_text("[tool.graphfix]\n")
    # touched, so that git has to look into the files
    for file in root.glob("*.py"):
        os.utime(file, (1, 1))
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def test_git_itself_would_run_what_lies_there(hostile: Path) -> None:
    subprocess.run(["git", "status"], cwd=hostile, capture_output=True)
    assert (hostile.parent / "MARK").exists()


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
    config = hostile / ".git/config"
    evil = config.read_text()
    config.write_text(PLAIN + "[core]\n\thooksPath = /dev/null\n")
    git(hostile, "add", ".")
    git(hostile, "commit", "-qm", "second")
    git(hostile.parent, "init", "-q", "--bare", "remote.git")
    identity = "[user]\n\tname = t\n\temail = t@e.org\n[log]\n\tshowSignature = true\n[commit]\n\tgpgSign = true\n"
    config.write_text(evil + identity + f'[remote "origin"]\n\turl = {hostile.parent / "remote.git"}\n')
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
    for answer in (b"r", b"y", b"y"):
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
