"""What `apply` says of its changes, and that what it says to type takes them back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def undo(done: subprocess.CompletedProcess[bytes], cwd: Path) -> list[str]:
    """Type what the last lines say, and give it."""
    typed = re.findall(r"^Undo: (.*)$", done.stdout.decode(), re.MULTILINE)
    assert done.stdout.decode().splitlines()[-len(typed) or len(done.stdout) :] == [f"Undo: {line}" for line in typed]
    for line in typed:
        subprocess.run(line, shell=True, cwd=cwd, check=True, capture_output=True)
    return typed


@pytest.fixture
def folder(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """No repository; five lines to change in three files."""
    made = tmp_path / "project"
    for name, text in (("a.py", loops.both), ("b.py", loops.total), ("sub/c.py", loops.both), ("clean.py", loops.clean)):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    return made


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "all")
    return folder


def test_git_gives_the_files_back(repository: Path, graphfix: Run) -> None:
    before = contents(repository)
    done = graphfix("apply", cwd=repository)
    assert "changed 5 lines in 3 files" in done.stdout.decode().splitlines()
    assert contents(repository) != before
    assert undo(done, repository) == ["git restore a.py b.py sub/c.py"]
    assert contents(repository) == before


@pytest.mark.parametrize("cwd", ["sub", "..", "../elsewhere"])
def test_from_anywhere(repository: Path, graphfix: Run, cwd: str) -> None:
    here = repository / cwd
    here.mkdir(exist_ok=True)
    before = contents(repository)
    done = graphfix("apply", str(repository), cwd=here)
    assert contents(repository) != before
    assert len(undo(done, here)) == 1
    assert contents(repository) == before


@pytest.mark.parametrize(
    "name", ["a b.py", "é.py", "*.py", ":(top)b.py", "-q.py", "[ab].py", "it's.py", "$(touch x).py", 'q"uo\\te.py', "#.py"]
)
def test_odd_names_are_typed_so_that_they_mean_the_file(
    repository: Path, graphfix: Run, loops: SimpleNamespace, name: str
) -> None:
    (repository / name).write_text(loops.total)
    git(repository, "--literal-pathspecs", "add", "--", name)
    git(repository, "commit", "-qm", "odd")
    (repository / "a.py").write_text("mine = 1\n")
    done = graphfix("apply", f"./{name}", cwd=repository)
    assert (repository / name).read_text() == loops.total_fixed
    assert len(undo(done, repository)) == 1
    assert (repository / name).read_text() == loops.total
    assert (repository / "a.py").read_text() == "mine = 1\n"
    assert not (repository / "x").exists()


def test_each_repository_has_its_line(repository: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / "d.py").write_text(loops.total)
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    before = contents(repository)
    done = graphfix("apply", cwd=repository)
    assert len(undo(done, repository)) == 2
    assert contents(repository) == before


def test_many_files_are_not_listed_twice(repository: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    for number in range(4):
        (repository / f"n{number}.py").write_text(loops.total)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    last = graphfix("apply", cwd=repository).stdout.decode().splitlines()[-1]
    assert last == "Undo: git restore FILES, the 7 that are named above"


@pytest.mark.parametrize("words", [["apply"], ["check", "--fix"]])
@pytest.mark.parametrize("cwd", [".", "sub", ".."])
def test_a_patch_is_left_and_takes_back(folder: Path, graphfix: Run, words: list[str], cwd: str) -> None:
    """Outside of git, too."""
    before = contents(folder)
    patch = graphfix("diff", str(folder), cwd=folder / cwd).stdout
    done = graphfix(*words, "--output", "fixes.patch", str(folder), cwd=folder / cwd)
    assert done.returncode == 0
    assert (folder / cwd / "fixes.patch").read_bytes() == patch != b""
    assert contents(folder) != before
    (typed,) = undo(done, folder / cwd)
    assert typed.endswith("fixes.patch") and " apply -R " in typed
    assert contents(folder) == before


def test_a_patch_takes_back_what_git_could_not(repository: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (repository / "b.py").write_text(loops.both)
    before = contents(repository)
    assert undo(graphfix("apply", "--allow-dirty", cwd=repository), repository) == []
    for name, data in before.items():
        (repository / name).write_bytes(data)
    done = graphfix("apply", "--allow-dirty", "--output", "fixes.patch", cwd=repository)
    assert undo(done, repository) == ["git apply -R fixes.patch"]
    assert contents(repository) == before


def test_without_git_and_patch_nothing_is_promised(folder: Path, graphfix: Run) -> None:
    done = graphfix("apply", cwd=folder)
    assert "changed 5 lines in 3 files" in done.stdout.decode()
    assert b"Undo" not in done.stdout


@pytest.mark.parametrize("words", [["-q"], ["--output-format", "json"], ["--dry-run"]])
def test_nothing_is_said_where_nothing_is_to_be(repository: Path, graphfix: Run, words: list[str]) -> None:
    done = graphfix("apply", *words, cwd=repository)
    assert b"Undo" not in done.stdout + done.stderr


def test_a_run_that_changes_nothing_keeps_the_patch_of_the_last(folder: Path, graphfix: Run) -> None:
    graphfix("apply", "--output", "fixes.patch", cwd=folder)
    patch = (folder / "fixes.patch").read_bytes()
    done = graphfix("apply", "--output", "fixes.patch", cwd=folder)
    assert done.stdout == b"Nothing to fix; checked 4 files\n"
    assert (folder / "fixes.patch").read_bytes() == patch


def test_the_patch_has_what_was_written_and_no_more(folder: Path, graphfix: Run) -> None:
    (folder / "other").hardlink_to(folder / "b.py")
    before = contents(folder)
    done = graphfix("apply", "--output", "fixes.patch", cwd=folder)
    assert done.returncode == 2 and b"b.py: not written" in done.stderr
    assert "changed 4 lines in 2 files" in done.stdout.decode()
    assert b"b.py" not in (folder / "fixes.patch").read_bytes()
    undo(done, folder)
    assert contents(folder) == before


def test_where_the_patch_cannot_be_left_nothing_is_written(folder: Path, graphfix: Run) -> None:
    before = contents(folder)
    done = graphfix("apply", "--output", "nowhere/fixes.patch", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("graphfix: error: nowhere/fixes.patch: not written: ")
    assert contents(folder) == before


def test_a_dry_run_leaves_the_patch_that_diff_does(folder: Path, graphfix: Run) -> None:
    before = contents(folder)
    patch = graphfix("diff", cwd=folder).stdout
    for words in (["apply", "--dry-run"], ["check", "--diff"], ["apply", "--dry-run", "--output-format", "json"]):
        assert graphfix(*words, "--output", "fixes.patch", cwd=folder).returncode == 1
        assert (folder / "fixes.patch").read_bytes() == patch
        (folder / "fixes.patch").unlink()
    assert contents(folder) == before


def test_a_filter_says_how_much_it_changed(graphfix: Run, loops: SimpleNamespace) -> None:
    done = graphfix("apply", "-", input=loops.both.encode())
    assert "changed 2 lines in 1 file" in done.stderr.decode().splitlines()
    assert b"Undo" not in done.stderr
    refused = graphfix("apply", "-", "--output", "fixes.patch", input=b"x = 1\n")
    assert (refused.returncode, refused.stderr) == (2, b"graphfix: error: --output cannot be given together with -\n")


def test_check_alone_leaves_no_patch(folder: Path, graphfix: Run) -> None:
    done = graphfix("check", "--output", "fixes.patch", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"graphfix: error: --output needs --fix\n")
    assert not (folder / "fixes.patch").exists()


def test_outside_of_git_it_is_said_that_there_is_none(folder: Path, graphfix: Run) -> None:
    *_, last = graphfix("apply", cwd=folder).stdout.decode().splitlines()
    assert last == "No undo for 3 files outside of git; next time, --output FILE keeps the patch"
