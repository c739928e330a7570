"""`check --fix` and `check --diff` are `apply` and `diff`, and `--exit-zero` holds for all of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]

FIXTURES = Path(__file__).parents[2] / "fixtures/GF303-missing-detach"
UNSAFE = min(FIXTURES.glob("unsafe_*/before.py")).read_text()


def answer(done: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "a.py").write_text(loops.both)
    (tmp_path / "b.py").write_text(loops.legacy)
    return tmp_path


def content(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.glob("*.py")}


@pytest.mark.parametrize(
    "words", [(), ("a.py",), ("--select", "GF901"), ("--unsafe-fixes",), ("--output-format", "json"), ("-q", "--statistics")]
)
def test_fix_is_apply(project: Path, graphfix: Run, words: tuple[str, ...]) -> None:
    before = content(project)
    by_apply = answer(graphfix("apply", *words))
    applied = content(project)
    assert applied != before
    for name, data in before.items():
        (project / name).write_bytes(data)
    assert answer(graphfix("check", "--fix", *words)) == by_apply
    assert content(project) == applied


@pytest.mark.parametrize("words", [(), ("b.py",), ("--ignore", "GF9"), ("--unsafe-fixes",), ("-q", "--statistics")])
def test_diff_is_diff(project: Path, graphfix: Run, words: tuple[str, ...]) -> None:
    before = content(project)
    by_diff = answer(graphfix("diff", *words))
    assert b"+++ b/" in by_diff[1]
    assert answer(graphfix("check", "--diff", *words)) == by_diff
    assert answer(graphfix("check", "--fix", "--diff", *words)) == by_diff
    assert content(project) == before


def test_unsafe_fixes_are_made_with_their_option_only(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "x.py").write_text(UNSAFE)
    assert graphfix("check", "--diff", "x.py").stdout == b""
    assert graphfix("check", "--fix", "x.py").returncode == 1
    assert (tmp_path / "x.py").read_text() == UNSAFE
    patch = graphfix("check", "--diff", "--unsafe-fixes", "x.py").stdout
    assert patch == graphfix("diff", "--unsafe-fixes", "x.py").stdout != b""
    graphfix("check", "--fix", "--unsafe-fixes", "x.py")
    assert (tmp_path / "x.py").read_text() != UNSAFE


def test_a_patch_goes_where_the_output_goes(project: Path, graphfix: Run) -> None:
    patch = graphfix("diff").stdout
    assert graphfix("check", "--diff", "-o", "all.patch").stdout == b""
    assert (project / "all.patch").read_bytes() == patch


def test_fix_has_the_guard_of_apply(project: Path, graphfix: Run) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    before = content(project)
    refused = answer(graphfix("apply"))
    assert refused[0] == 2 and b"a.py: untracked" in refused[2]
    assert answer(graphfix("check", "--fix")) == refused
    assert content(project) == before
    assert graphfix("check", "--fix", "--allow-dirty").returncode == 0
    assert content(project) != before


def test_standard_input_goes_through_both(graphfix: Run, loops: SimpleNamespace) -> None:
    words = ("-", "--stdin-filename", "train.py")
    code = loops.total.encode()
    assert graphfix("check", "--fix", *words, input=code).stdout == loops.total_fixed.encode()
    assert graphfix("check", "--diff", *words, input=code).stdout == graphfix("diff", *words, input=code).stdout != b""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix", "--write-baseline", "known.json"], "--fix cannot be given together with --write-baseline"),
        (["--diff", "--write-baseline", "known.json"], "--diff cannot be given together with --write-baseline"),
        (["--fix", "--report-unused-suppressions"], "--fix cannot be given together with --report-unused-suppressions"),
        (["--diff", "--output-format", "json"], "--diff cannot be given together with --output-format"),
        (["--allow-dirty"], "--allow-dirty needs --fix"),
    ],
)
def test_what_only_findings_have_is_misuse(project: Path, graphfix: Run, words: list[str], message: str) -> None:
    before = content(project)
    assert answer(graphfix("check", *words)) == (2, b"", f"graphfix: error: {message}\n".encode())
    assert content(project) == before
    assert not (project / "known.json").exists()


def test_a_setting_that_findings_have_is_no_misuse(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("output-format = 'json'\nreport-unused-suppressions = true\n")
    assert graphfix("check", "--diff").stdout == graphfix("diff").stdout != b""
    assert graphfix("check", "--fix").returncode == 0


@pytest.mark.parametrize(
    "words", [["check"], ["check", "--output-format", "json"], ["check", "--diff"], ["diff"], ["apply", "--dry-run"]]
)
def test_exit_zero_is_for_findings(project: Path, graphfix: Run, words: list[str]) -> None:
    told = answer(graphfix(*words))
    assert told[0] == 1
    assert answer(graphfix(*words, "--exit-zero")) == (0, *told[1:])


@pytest.mark.parametrize("words", [["apply"], ["check", "--fix"], ["apply", "-"]])
def test_exit_zero_is_for_findings_that_are_left(tmp_path: Path, graphfix: Run, words: list[str]) -> None:
    (tmp_path / "x.py").write_text(UNSAFE)
    given = {"input": UNSAFE.encode()} if words[-1] == "-" else {}
    assert graphfix(*words, **given).returncode == 1
    assert graphfix(*words, "--exit-zero", **given).returncode == 0


@pytest.mark.parametrize("words", [["check"], ["diff"], ["apply"], ["check", "--fix"], ["check", "--diff"]])
def test_exit_zero_hides_no_error(project: Path, graphfix: Run, words: list[str]) -> None:
    assert graphfix(*words, "--exit-zero", "nowhere").returncode == 2
    (project / "c.py").write_text("def backward(:\n")
    assert graphfix(*words, "--exit-zero").returncode == 2
