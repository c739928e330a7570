"""Promise 14: what git could not give back is not written unasked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.files.worktree import GitFailed, dirty


def git(folder: Path, *words: str, check: bool = True) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=check, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, loops: SimpleNamespace) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "x.py").write_text(loops.total)
    (tmp_path / "other.py").write_text(loops.clean)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def nothing(root: Path) -> None:
    pass


def edit(root: Path) -> None:
    with (root / "x.py").open("a") as stream:
        stream.write("# more\n")


def stage(root: Path) -> None:
    edit(root)
    git(root, "add", "x.py")


def stage_and_edit(root: Path) -> None:
    stage(root)
    edit(root)


def untrack(root: Path) -> None:
    git(root, "rm", "-q", "--cached", "x.py")
    git(root, "commit", "-qm", "gone")


def ignore(root: Path) -> None:
    untrack(root)
    (root / ".gitignore").write_text("x.py\n")


def rename(root: Path) -> None:
    git(root, "mv", "x.py", "y.py")
    git(root, "mv", "other.py", "x.py")
    (root / "x.py").write_text((root / "y.py").read_text())


def conflict(root: Path) -> None:
    text = (root / "x.py").read_text()
    for branch, line in (("side", "# a\n"), ("main", "# b\n")):
        git(root, "checkout", "-q", *(["-b", "side"] if branch == "side" else ["main"]))
        (root / "x.py").write_text(text + line)
        git(root, "commit", "-qam", branch)
    git(root, "merge", "side", check=False)
    (root / "x.py").write_text(text)


def hide(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "x.py")
    edit(root)


def edit_other(root: Path) -> None:
    (root / "other.py").write_text("# changed, and not to be written\n")
    (root / "new.py").write_text("")


def blob(root: Path, name: str = "x.py") -> Path:
    """The file in which git has the content of another."""
    answer = subprocess.run(["git", "rev-parse", f"HEAD:{name}"], cwd=root, capture_output=True, check=True)
    made = answer.stdout.decode().strip()
    path = root / ".git/objects" / made[:2] / made[2:]
    path.chmod(0o644)
    return path


def lose(root: Path) -> None:
    blob(root).unlink()


def damage(root: Path) -> None:
    path = blob(root)
    path.write_bytes(path.read_bytes()[:-9] + b"123456789")


def swap(root: Path) -> None:
    blob(root).write_bytes(blob(root, "other.py").read_bytes())


def empty(root: Path) -> None:
    blob(root).write_bytes(b"")


def share(root: Path) -> None:
    (root / ".git").rename(root / "source")
    (root / "source/objects/info").mkdir(exist_ok=True)
    git(root, "clone", "-q", "--bare", "--shared", "source", ".git")
    git(root, "config", "core.bare", "false")
    git(root, "reset", "-q")
    blobs = root / "source/objects"
    lost = subprocess.run(["git", "rev-parse", "HEAD:x.py"], cwd=root, capture_output=True, check=True).stdout.decode().strip()
    (blobs / lost[:2] / lost[2:]).unlink()


LOST = "its content is missing from git, or damaged there"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (nothing, ""),
        (lose, LOST),
        (damage, LOST),
        (swap, LOST),
        (empty, LOST),
        (share, LOST),
        (edit_other, ""),
        (edit, "has changes that are not staged"),
        (stage, "has changes that are not committed"),
        (stage_and_edit, "has changes that are not staged"),
        (untrack, "untracked"),
        (ignore, "not tracked by git"),
        (rename, "has changes"),
        (conflict, "in conflict"),
        (hide, "hidden from git status"),
    ],
)
def test_only_files_that_git_can_restore_are_written(
    repository: Path,
    loops: SimpleNamespace,
    graphfix: Callable[..., subprocess.CompletedProcess[bytes]],
    state: Callable[[Path], None],
    words: str,
) -> None:
    state(repository)
    before = (repository / "x.py").read_bytes()
    done = graphfix("apply", "x.py", cwd=repository)
    if not words:
        assert done.returncode == 0
        assert (repository / "x.py").read_text() == loops.total_fixed
        return
    assert done.returncode == 2
    assert f"x.py: {words}" in done.stderr.decode()
    assert b"--allow-dirty" in done.stderr
    assert (repository / "x.py").read_bytes() == before
    assert graphfix("apply", "--dry-run", "x.py", cwd=repository).returncode == 1
    assert graphfix("apply", "--allow-dirty", "x.py", cwd=repository).returncode == 0
    assert (repository / "x.py").read_bytes() != before


def test_many_files_are_counted(
    repository: Path, loops: SimpleNamespace, graphfix: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    edit(repository)
    for number in range(19):
        (repository / f"n{number:02}.py").write_text(loops.total)
    first, *listed = graphfix("apply", ".", cwd=repository).stderr.decode().splitlines()
    assert listed == [*(f"  n{number:02}.py: untracked" for number in range(19)), "  x.py: has changes that are not staged"]
    (repository / "n19.py").write_text(loops.total)
    done = graphfix("apply", ".", cwd=repository)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [first, "  1 file: has changes that are not staged", "  20 files: untracked"]
    assert (repository / "n00.py").read_text() == loops.total


def test_outside_of_git_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    assert dirty([tmp_path / "x.py"]) == ()


def test_odd_names_are_taken_as_they_are(repository: Path) -> None:
    names = ["a b.py", "é.py", "*.py", ":(top)x.py", "-v.py", os.fsdecode(b"\xff.py")]
    for name in names:
        (repository / name).write_text("")
    paths = [repository / name for name in [*names, "x.py"]]
    assert {path.name for path, _ in dirty(paths)} == set(names)


def test_a_git_that_does_not_answer_is_no_consent(repository: Path) -> None:
    (repository / ".git/index").write_bytes(b"not an index")
    with pytest.raises(GitFailed, match="cannot read the git status"):
        dirty([repository / "x.py"])
