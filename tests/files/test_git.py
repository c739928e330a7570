"""The gate to git: what comes along with a repository runs nothing, holds nobody up, and leads to no other work tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.files import git
from graphfix.files.git import GitFailed, run
from graphfix.files.gitsettings import Setting, let_through, told, written
from graphfix.files.worktree import dirty

Run = Callable[..., subprocess.CompletedProcess[bytes]]
IDENTITY = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def plain(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, env=os.environ | IDENTITY)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, loops: SimpleNamespace) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "x.py").write_text(loops.total)
    plain(root, "init", "-q", "-b", "main")
    plain(root, "add", ".")
    plain(root, "commit", "-qm", "first")
    return root


def test_what_is_missing_is_not_fetched_by_what_the_repository_names(repository: Path, graphfix: Run) -> None:
    """A clone without all contents fetches them by its own remote's program, by any git, also one that knows no variable for it."""
    mark = repository.parent / "MARK"
    tree = plain(repository, "rev-parse", "HEAD^{tree}")
    for name, value in {
        "core.repositoryformatversion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://h/x", "remote.origin.uploadpack": f"touch {mark}", "core.sshCommand": f"touch {mark}; false",
    }.items():  # fmt: skip
        plain(repository, "config", name, value)
    (repository / ".git/objects" / tree[:2] / tree[2:]).unlink()
    os.utime(repository / "x.py", (1, 1))
    done = graphfix("apply", "x.py", cwd=repository)
    assert done.returncode == 2 and b"cannot read the git status" in done.stderr
    assert not mark.exists()
    assert not any(let_through(Setting("local", name, ""), remote=False) for name in ("extensions.partialclone", "remote.origin.promisor"))


def test_another_work_tree_is_not_taken_for_this_one(repository: Path, graphfix: Run) -> None:
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.py").write_bytes((repository / "x.py").read_bytes())
    plain(repository, "config", "core.worktree", str(elsewhere))
    with (repository / "x.py").open("a") as stream:
        stream.write("# not committed\n")
    before = (repository / "x.py").read_bytes()
    for words in (["apply", "x.py"], ["pr", "x.py"]):
        done = graphfix(*words, cwd=repository)
        assert done.returncode == 2
        [line] = [line for line in done.stderr.decode().splitlines() if "core.worktree" in line]
        assert str(elsewhere) in line
    assert (repository / "x.py").read_bytes() == before


def test_work_trees_and_submodules_are_themselves(repository: Path) -> None:
    plain(repository, "worktree", "add", "-q", str(repository.parent / "second"))
    plain(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub")
    for top in (repository.parent / "second", repository / "sub"):
        assert dirty([top / "x.py"]) == ()
        (top / "x.py").write_text("changed\n")
        assert [state for _, state in dirty([top / "x.py"])] == ["has changes that are not staged"]
        assert run(top, "rev-parse", "--show-toplevel").decode().strip() == str(top)


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize(
    "name",
    [".git/index", ".git/info/exclude", ".git/info/attributes", ".git/HEAD", ".git/packed-refs", ".git/config",
     ".git/objects/info/alternates", ".gitattributes", ".gitignore"],
)  # fmt: skip
def test_what_is_no_file_is_named_at_once(repository: Path, name: str, kind: str) -> None:
    place = repository / name
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place) if kind == "a pipe" else place.symlink_to("/dev/zero")
    with pytest.raises(GitFailed, match=f"{name} is {kind}, not a file"):
        dirty([repository / "x.py"])


@pytest.mark.parametrize("name", ["include.path", "core.attributesFile", "core.excludesFile"])
def test_a_pipe_that_settings_name_holds_nobody_up(repository: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    os.mkfifo(repository.parent / "pipe")
    plain(repository, "config", name, str(repository.parent / "pipe"))
    monkeypatch.setattr(git, "SETTINGS_LIMIT", 1.0)
    if name != "include.path":
        assert dirty([repository / "x.py"]) == ()  # nobody asks for it
        return
    with pytest.raises(GitFailed, match=r"the settings of .*\.git cannot be read: git config takes longer than 1 seconds"):
        dirty([repository / "x.py"])


def test_a_command_that_waits_has_an_end(repository: Path) -> None:
    (repository / ".git/refs/heads/main").unlink()
    os.mkfifo(repository / ".git/refs/heads/main")
    with pytest.raises(GitFailed, match=r"git rev-parse takes longer than 0.5 seconds"):
        run(repository, "rev-parse", "HEAD", seconds=0.5)


def test_an_apply_that_git_holds_up_ends_in_one_line(repository: Path, installed: Run) -> None:
    (repository / ".git/index").unlink()
    os.mkfifo(repository / ".git/index")
    done = installed("apply", "x.py", cwd=repository)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and b".git/index is a pipe, not a file" in done.stderr


def test_the_users_own_settings_are_known_with_their_conditions(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repository.parent
    (home / "users").write_text(f'[includeIf "gitdir:{home}/"]\n\tpath = {home}/there\n[user]\n\tname = Ada\n[core]\n\tautocrlf = input\n')
    (home / "there").write_text('[user]\n\temail = "ada \\"at\\" work; # and \\\\ more"\n[credential "https://a"]\n\thelper = own\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "users"))
    plain(repository, "config", "credential.helper", "theirs")
    plain(repository, "config", "http.https://a.extraHeader", "token")
    assert run(repository, "config", "user.email").decode() == 'ada "at" work; # and \\ more\n'
    assert run(repository, "config", "core.autocrlf").decode() == "input\n"
    assert run(repository, "config", "--get-regexp", "credential|http.*header", ok=(1,)) == b""
    told_of = run(repository, "config", "--get-regexp", "credential|http.*header", remote=True).decode()
    assert told_of.splitlines() == ["credential.https://a.helper own", "http.https://a.extraheader token"]


def test_settings_are_written_as_they_were_told(tmp_path: Path) -> None:
    names = {"core.eol": "lf", 'filter.a=b "c" \\ d.clean': "x; #\ty\n\\z ", "user.name": None, "url..insteadof": "e", "a.b-c.d.e": '"'}
    settings = [Setting("local", name, value) for name, value in names.items()]
    (tmp_path / "config").write_text(written(settings))
    answer = subprocess.run(
        ["git", "config", "--file", "config", "--list", "-z", "--show-scope"], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    assert {one.name: one.value for one in told(answer)} == names


def test_a_repository_around_a_folder_has_no_say(repository: Path) -> None:
    plain(repository, "config", "url.ext::sh.insteadOf", "https://example.org/")
    (repository / "below").mkdir()
    with pytest.raises(GitFailed):
        run(repository / "below", "rev-parse", "--git-dir")
