"""Promise 10 for review and pr: killed at any moment, the tree and its branches are before or after, and the next run goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pexpect
import pytest

pytestmark = pytest.mark.deep

FILES = 12
KILLS = int(os.environ.get("GRAPHFIX_KILLS", "6"))
BRANCHES = ("fix-gf101", "fix-gf901")


def plant(folder: Path, loops: SimpleNamespace) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(FILES):
        (folder / f"f{number:02}.py").write_text(loops.both)


def fixed(text: str) -> str:
    return text.replace("+= loss\n", "+= loss.item()\n").replace("loss.data[0]", "loss.item()")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def killed(process: subprocess.Popen[bytes], after: float) -> None:
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def spawned(command: str, folder: Path, state: Path) -> pexpect.spawn:
    environment = os.environ | {"XDG_STATE_HOME": str(state), "TERM": "dumb"}
    return pexpect.spawn(command, ["review", "--allow-dirty", "."], cwd=folder, env=environment, encoding="utf-8", timeout=60)


def answered(child: pexpect.spawn, until: float) -> bool:
    """Take all fixes one by one and confirm, as fast as is asked, up to a moment; whether it finished."""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return False
        found = child.expect([r"\? \[[^]]*\] ", pexpect.EOF, pexpect.TIMEOUT], timeout=left)
        if found:
            return found == 1
        child.send("y")


def kill(child: pexpect.spawn) -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.expect(pexpect.EOF)
    child.close()


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".graphfix")]


def test_a_killed_review_goes_on_and_writes_all_or_nothing(tmp_path: Path, loops: SimpleNamespace, command: str) -> None:
    folder, state = tmp_path / "project", tmp_path / "state"
    plant(folder, loops)
    started = time.monotonic()
    child = spawned(command, folder, state)
    assert answered(child, started + 600)
    duration = time.monotonic() - started
    moments = random.Random(7)
    plant(folder, loops)
    for number in range(KILLS):
        child = spawned(command, folder, state)
        # most moments are somewhere between the answers, some near the end, where the files are written
        share = moments.uniform(0.7, 1.02) if number % 2 else moments.uniform(0, 0.7)
        if not answered(child, time.monotonic() + duration * share):
            kill(child)
        texts = [(folder / f"f{number:02}.py").read_text() for number in range(FILES)]
        assert set(texts) <= {loops.both, fixed(loops.both)}
        if set(texts) != {loops.both}:
            finished(command, folder, state)
            plant(folder, loops)
    finished(command, folder, state)


def finished(command: str, folder: Path, state: Path) -> None:
    """Whatever a killed run left, the next one brings it to its end."""
    child = spawned(command, folder, state)
    assert answered(child, time.monotonic() + 600)
    child.close()
    assert child.exitstatus == 0
    assert {path.read_text() for path in folder.glob("*.py")} == {fixed((folder / "f00.py").read_text())}
    assert leftovers(folder) == [] and not list(state.rglob("*.tmp"))


@pytest.fixture
def repository(tmp_path: Path, loops: SimpleNamespace) -> Path:
    root = tmp_path / "project"
    plant(root, loops)
    for words in (["init", "-q", "-b", "main"], ["config", "user.name", "t"], ["config", "user.email", "t@example.org"],
                  ["add", "."], ["commit", "-qm", "first"]):  # fmt: skip
        git(root, *words)
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(root, "push", "-q", "origin", "main")
    return root


def let_git_end(folder: Path) -> None:
    """Git is not killed, and may still be setting or pushing the branches: wait until no process works in the folder."""
    time.sleep(0.3)
    while any(lives_in(process, folder) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(0.05)


def lives_in(process: Path, folder: Path) -> bool:
    try:
        return Path(os.readlink(process / "cwd")).is_relative_to(folder)
    except OSError:
        return False  # it has ended, or is none of ours


def branches(folder: Path) -> dict[str, str]:
    """The tree of each branch that graphfix made."""
    lines = git(folder, "for-each-ref", "--format=%(refname:short) %(tree)", "refs/heads/fix-*").splitlines()
    return dict(line.split() for line in lines)  # type: ignore[misc]


def test_a_killed_pr_leaves_all_branches_or_none(repository: Path, command: str) -> None:
    words = [command, "pr", "--branch", "fix", "--split", "rule", "--push", "origin", "--update", "-q", "."]
    remote = repository.parent / "remote.git"
    started = time.monotonic()
    subprocess.run(words, cwd=repository, check=True, capture_output=True)
    duration = time.monotonic() - started
    whole = branches(repository)
    assert tuple(whole) == BRANCHES and branches(remote) == whole
    index = (repository / ".git/index").read_bytes()
    moments = random.Random(11)
    for number in range(KILLS):
        for branch in BRANCHES:
            git(repository, "branch", "-q", "-D", branch) if branch in branches(repository) else None
            git(remote, "update-ref", "-d", f"refs/heads/{branch}")
        process = subprocess.Popen(words, cwd=repository, stdout=-1, stderr=-1, start_new_session=True)
        killed(process, duration * (moments.uniform(0.5, 1.02) if number % 4 else moments.uniform(0, 0.5)))
        let_git_end(repository.parent)
        assert branches(repository) in ({}, whole)
        assert {(name, whole[name]) for name in branches(remote)} == set(branches(remote).items())
        assert git(repository, "status", "--porcelain") == "" and git(repository, "symbolic-ref", "--short", "HEAD") == "main"
        done = subprocess.run(words, cwd=repository, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert branches(repository) == branches(remote) == whole
    assert leftovers(repository / ".git") == []
    git(repository, "fsck", "--strict")
    assert (repository / ".git/index").read_bytes() == index
