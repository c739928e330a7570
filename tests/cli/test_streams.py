"""Standard input by its name, and standard output by a dash."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def answer(done: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "x.py").write_text(loops.both)
    return tmp_path


@pytest.mark.parametrize("flag", ["-o -", "--output-file -", "--output-file=-"])
@pytest.mark.parametrize(
    "words",
    ["check", "check --output-format json", "check --output-format sarif --statistics", "apply --dry-run --output-format json"],
)
def test_a_dash_is_standard_output(project: Path, graphfix: Run, words: str, flag: str) -> None:
    wanted = answer(graphfix(*words.split(), "-q"))
    assert wanted[1] != b""
    assert answer(graphfix(*words.split(), "-q", *flag.split())) == wanted
    assert not (project / "-").exists()


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("diff", "-o"),
        ("diff --statistics", "--output"),
        ("check --diff", "-o"),
        ("check --diff", "--output"),
        ("apply --dry-run", "--output"),
    ],
)
def test_a_dash_is_standard_output_for_patches(project: Path, graphfix: Run, words: str, flag: str) -> None:
    wanted = answer(graphfix(*words.split(), "-q"))
    assert wanted[1].startswith(b"--- a/x.py")
    assert answer(graphfix(*words.split(), "-q", flag, "-")) == wanted
    assert not (project / "-").exists()


def test_a_dash_for_what_apply_leaves(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    done = graphfix("apply", "--output-format", "json", "--output-file", "-")
    assert json.loads(done.stdout) == []
    (project / "x.py").write_text(loops.both)
    done = graphfix("apply", "--output", "-")
    said = "graphfix: error: standard output is for what was fixed; --output needs a file, or graphfix diff\n"
    assert answer(done) == (2, b"", said.encode())
    assert (project / "x.py").read_text() == loops.both
    assert not (project / "-").exists()


@pytest.mark.parametrize("words", [["check"], ["diff"], ["apply"], ["check", "--fix"], ["check", "--diff"]])
def test_a_name_stands_for_standard_input(tmp_path: Path, graphfix: Run, loops: SimpleNamespace, words: list[str]) -> None:
    code = loops.both.encode()
    named = answer(graphfix(*words, "--stdin-filename", "sub/train.py", input=code))
    assert named == answer(graphfix(*words, "--stdin-filename", "sub/train.py", "-", input=code))
    assert b"sub/train.py" in named[1] + named[2]


@pytest.mark.parametrize("words", [["check"], ["diff"], ["apply"]])
def test_a_name_beside_paths_is_misuse(project: Path, graphfix: Run, words: list[str]) -> None:
    done = graphfix(*words, "--stdin-filename", "train.py", "x.py")
    said = "graphfix: error: --stdin-filename is the name of standard input; it cannot be given together with other paths\n"
    assert answer(done) == (2, b"", said.encode())


def test_the_name_has_its_settings(tmp_path: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/graphfix.toml").write_text("[per-file-ignores]\n'test_*' = ['GF1']\n")
    for name, codes in (("test_x.py", ["GF901"]), ("x.py", ["GF901", "GF101"])):
        done = graphfix("check", "--stdin-filename", f"sub/{name}", "--output-format", "json", input=loops.both.encode())
        assert sorted(one["code"] for one in json.loads(done.stdout)) == sorted(codes)


@pytest.mark.parametrize("patterns", ["gen/", "gen/*.py", "*.gen.py"])
def test_an_excluded_name_is_left_out_where_that_is_forced(
    tmp_path: Path, graphfix: Run, loops: SimpleNamespace, patterns: str
) -> None:
    code, name = loops.both.encode(), ("--stdin-filename", "gen/x.gen.py")
    (tmp_path / "graphfix.toml").write_text(f"extend-exclude = ['{patterns}']\n")
    assert graphfix("check", *name, input=code).returncode == 1
    forced = graphfix("check", *name, "--force-exclude", input=code)
    assert (forced.returncode, forced.stderr) == (0, b"")
    assert b"GF" not in forced.stdout
    assert graphfix("diff", *name, "--force-exclude", input=code).stdout == b""
    passed = graphfix("apply", *name, "--force-exclude", input=code)
    assert (passed.returncode, passed.stdout) == (0, code)
    other = graphfix("apply", "--stdin-filename", "x.py", "--force-exclude", input=code)
    assert other.stdout != code
