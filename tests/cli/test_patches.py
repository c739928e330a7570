"""Patches through the installed command, applied by git."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from unidiff import PatchSet

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def git(folder: Path, *words: str, **options: object) -> bytes:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, **options).stdout  # type: ignore[call-overload, no-any-return]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


@pytest.fixture
def repository(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """A git repository with every way to write a file down, all committed."""
    total, both = loops.total.encode(), loops.both.encode()
    files = {
        "plain.py": both,
        "crlf.py": both.replace(b"\n", b"\r\n"),
        "bare.py": loops.total.replace("print(total)\n", "print(total)").encode(),
        "last.py": loops.total.rsplit("print", 1)[0].rstrip().encode(),
        "tabs.py": total.replace(b"    ", b"\t"),
        "bom.py": b"\xef\xbb\xbf" + total,
        "latin.py": b"# -*- coding: latin-1 -*-\n# \xe9\n" + total,
        "a folder/with space.py": total,
        "é/日本.py": total,
        'q"uo\\te.py': total,
        "clean.py": loops.clean.encode(),
    }
    root = tmp_path / "repository"
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    git(root, "init", "-q")
    git(root, "config", "core.autocrlf", "false")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    return root


@pytest.fixture
def applied(repository: Path, graphfix: Run) -> dict[str, bytes]:
    """What apply makes of the repository, which is as it was afterwards."""
    assert graphfix("apply", cwd=repository).returncode == 0
    made = contents(repository)
    git(repository, "checkout", "-q", ".")
    assert len(made) == 11 and sum(made[name] != data for name, data in contents(repository).items()) == 10
    return made


def test_diff_and_dry_run_and_file_are_one_patch(repository: Path, applied: dict[str, bytes], graphfix: Run) -> None:
    patch = graphfix("diff", cwd=repository)
    dry = graphfix("apply", "--dry-run", cwd=repository)
    assert (patch.stdout, patch.stderr, patch.returncode) == (dry.stdout, dry.stderr, dry.returncode)
    stored = graphfix("diff", "--output", "all.patch", cwd=repository)
    assert (stored.stdout, stored.stderr, stored.returncode) == (b"", patch.stderr, 1)
    assert (repository / "all.patch").read_bytes() == patch.stdout
    assert len(PatchSet.from_string(patch.stdout.decode("latin-1"))) == 10
    git(repository, "apply", "--whitespace=nowarn", "all.patch")
    assert contents(repository) == applied
    git(repository, "apply", "--whitespace=nowarn", "-R", "all.patch")
    assert git(repository, "status", "--porcelain") == b"?? all.patch\n"


def test_git_takes_it_into_the_index_too(repository: Path, applied: dict[str, bytes], graphfix: Run) -> None:
    git(repository, "apply", "--index", "--whitespace=nowarn", "-", input=graphfix("diff", cwd=repository).stdout)
    assert contents(repository) == applied


def test_a_patch_made_in_a_folder_applies_there(repository: Path, applied: dict[str, bytes], graphfix: Run) -> None:
    folder = repository / "a folder"
    patch = graphfix("diff", cwd=folder).stdout
    assert patch.startswith(b"--- a/with space.py\t\n")
    git(folder, "apply", "-", input=patch)
    assert (folder / "with space.py").read_bytes() == applied["a folder/with space.py"]


def test_one_patch_per_rule_applies_in_order(repository: Path, applied: dict[str, bytes], graphfix: Run) -> None:
    out = repository / "out"
    out.mkdir()
    (out / "07-GF305-needless-retain.patch").write_text("of an earlier run")
    (out / "mine.patch").write_text("not ours")
    done = graphfix("diff", "--by-rule", "out", cwd=repository)
    names = ["01-GF101-accumulated-graph.patch", "02-GF901-legacy-scalar.patch"]
    assert done.stdout.decode().splitlines() == [f"out/{name}" for name in names]
    assert done.returncode == 1
    assert sorted(path.name for path in out.iterdir()) == [*names, "mine.patch"]
    for name, words in zip(names, ("loss.item()", "print(loss.item())"), strict=True):
        patch = (out / name).read_bytes()
        added = [line for line in patch.decode("latin-1").splitlines() if line.startswith("+") and not line.startswith("+++")]
        assert added and all(words in line for line in added)
        git(repository, "apply", "--whitespace=nowarn", str(out / name))
        git(repository, "commit", "-qam", name)
    assert contents(repository) == applied


def test_rules_that_need_one_another_come_in_order(tmp_path: Path, graphfix: Run) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures"
    for folder in ("GF306-retain-as-silencer", "GF301-sequential-backward", "GF305-needless-retain"):
        for case in sorted((fixtures / folder).iterdir()):
            if (case / "after.py").exists():
                (tmp_path / f"{folder}-{case.name}.py").write_bytes((case / "before.py").read_bytes())
    before = contents(tmp_path)
    assert graphfix("diff", "--by-rule", "out").returncode in (0, 1)
    patches = sorted((tmp_path / "out").iterdir())
    assert patches
    for path in patches:
        git(tmp_path, "apply", str(path))
    by_rule = contents(tmp_path)
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    graphfix("apply")
    assert by_rule == contents(tmp_path)


def test_statistics_count_by_rule_and_applicability(repository: Path, graphfix: Run) -> None:
    table = graphfix("check", "--statistics", "-q", cwd=repository).stdout.decode().splitlines()
    assert [line.split() for line in table] == [
        ["code", "rule", "found", "safe", "unsafe", "display", "no", "fix"],
        ["GF101", "accumulated-graph", "10", "10", "0", "0", "0"],
        ["GF901", "legacy-scalar", "2", "2", "0", "0", "0"],
        ["total", "12", "12", "0", "0", "0"],
    ]
    diff = graphfix("diff", "--statistics", "-q", cwd=repository)
    assert diff.stderr.decode().splitlines() == table
    assert diff.stdout.startswith(b"--- a/")
    assert graphfix("diff", "--statistics", "-q", "--output", "p", cwd=repository).stdout.decode().splitlines() == table
    assert graphfix("apply", "--statistics", "--allow-dirty", cwd=repository).stdout.decode().splitlines()[-4:] == table
    assert graphfix("check", "--statistics", "-q", cwd=repository).stdout == b""


def test_statistics_beside_findings_for_a_program(repository: Path, graphfix: Run) -> None:
    done = graphfix("check", "--statistics", "-q", "--output-format", "json", "crlf.py", cwd=repository)
    assert len(json.loads(done.stdout)) == 2 and done.stderr.startswith(b"code ")
    done = graphfix("check", "--statistics", "-q", "--output-format", "json", "-o", "f.json", "crlf.py", cwd=repository)
    assert len(json.loads((repository / "f.json").read_bytes())) == 2 and done.stdout.startswith(b"code ")
    done = graphfix("apply", "--dry-run", "--output-format", "json", "-o", "f.json", "crlf.py", cwd=repository)
    assert json.loads((repository / "f.json").read_bytes()) == []
    assert done.stdout.decode().splitlines()[0] == "would fix crlf.py (GF101, GF901)"


def test_output_and_by_rule_exclude_each_other(repository: Path, graphfix: Run) -> None:
    done = graphfix("diff", "--output", "a", "--by-rule", "b", cwd=repository)
    assert (done.returncode, done.stdout) == (2, b"")
    assert graphfix("diff", "--output", "none/a", cwd=repository).returncode == 2
    assert graphfix("diff", "--by-rule", "clean.py", cwd=repository).returncode == 2
