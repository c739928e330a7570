"""Settings files as a user meets them, through the installed command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft7Validator

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    for name in ("a.py", "sub/b.py", "sub/deep/c.py", "tests/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(loops.both)
    return tmp_path


@pytest.fixture
def found(graphfix: Run) -> Callable[..., set[str]]:
    """`file:CODE` of every finding."""

    def run(*words: str, **options: object) -> set[str]:
        done = graphfix("check", "--output-format", "json", *words, **options)
        assert done.stderr == b"", done.stderr
        return {f"{one['filename']}:{one['code'][2:]}" for one in json.loads(done.stdout)}

    return run


def test_the_nearest_file_holds(project: Path, found: Callable[..., set[str]]) -> None:
    (project / "pyproject.toml").write_text("[tool.graphfix]\nselect = ['GF1']\n")
    (project / "sub/graphfix.toml").write_text("select = ['GF9']\n")
    every = {"a.py:101", "sub/b.py:901", "sub/deep/c.py:901", "tests/test_a.py:101"}
    assert found() == every
    assert found(cwd=project / "sub") == {"b.py:901", "deep/c.py:901"}
    # many files take the pool
    for number in range(40):
        (project / f"n{number}.py").write_text("x = 1\n")
    assert found("--jobs", "2") == every


def test_extend_gives_what_a_file_does_not_say(project: Path, found: Callable[..., set[str]]) -> None:
    (project / "pyproject.toml").write_text("[tool.graphfix]\nselect = ['GF1']\nextend-exclude = ['a.py']\n")
    (project / "sub/graphfix.toml").write_text("extend = '../pyproject.toml'\nextend-exclude = ['deep']\n")
    assert found() == {"sub/b.py:101", "tests/test_a.py:101"}
    (project / "sub/graphfix.toml").write_text("extend = '../pyproject.toml'\nselect = ['GF9']\n")
    assert found("sub") == {"sub/b.py:901", "sub/deep/c.py:901"}


def test_the_command_line_beats_the_files(project: Path, found: Callable[..., set[str]]) -> None:
    (project / "graphfix.toml").write_text("select = ['GF101']\nignore = ['GF901']\nextend-exclude = ['sub', 'tests']\n")
    assert found() == {"a.py:101"}
    assert found("--select", "GF9") == {"a.py:901"}
    assert found("--ignore", "GF1") == set()
    assert found("--extend-select", "GF901") == {"a.py:101", "a.py:901"}
    assert found("--extend-exclude", "a.py") == set()
    assert len(found("--isolated")) == 8
    (project / "other.toml").write_text("ignore = ['GF9']\n")
    assert found("--config", "other.toml") == {f"{name}:101" for name in ("a.py", "sub/b.py", "sub/deep/c.py", "tests/test_a.py")}


def test_rules_are_ignored_per_file(project: Path, found: Callable[..., set[str]], graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("[per-file-ignores]\n'tests/*' = ['GF1']\n'c.py' = ['GF9']\n'!sub/' = ['GF901']\n")
    assert found() == {"a.py:101", "sub/b.py:101", "sub/b.py:901", "sub/deep/c.py:101"}
    assert found("sub", "--select", "GF1,GF9") == {"sub/b.py:101", "sub/b.py:901", "sub/deep/c.py:101"}
    graphfix("apply", ".")
    assert (project / "tests/test_a.py").read_text().count("loss.item()") == 0


def test_excluded_files_are_left_out_unless_they_are_named(project: Path, found: Callable[..., set[str]]) -> None:
    (project / "graphfix.toml").write_text("extend-exclude = ['sub/', '*_a.py']\nselect = ['GF1']\n")
    assert found() == {"a.py:101"}
    assert found("sub/b.py") == {"sub/b.py:101"}
    assert found("sub") == {"sub/b.py:101", "sub/deep/c.py:101"}
    assert found("sub", "sub/b.py", "a.py", "--force-exclude") == {"a.py:101"}


def test_unsafe_fixes_and_their_opposite(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("unsafe-fixes = true\noutput-format = 'json'\n")
    assert json.loads(graphfix("check", "a.py").stdout)
    listed = json.loads(graphfix("config", "--no-unsafe-fixes", "--output-format", "json").stdout)
    assert listed["unsafe-fixes"] == {"value": False, "origin": ["graphfix.toml:1", "command line"][1:]}
    assert listed["output-format"] == {"value": "json", "origin": ["graphfix.toml:2"]}


def test_stdin_has_the_settings_of_its_name(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    (project / "sub/graphfix.toml").write_text("select = ['GF9']\n")
    done = graphfix("check", "-q", "--output-format", "concise", "-", "--stdin-filename", "sub/x.py", input=loops.both.encode())
    assert [line.split()[1] for line in done.stdout.decode().splitlines()] == ["GF901"]


def test_a_wrong_file_is_one_line_and_exit_2(project: Path, graphfix: Run) -> None:
    (project / "sub/graphfix.toml").write_text("# ours\nselct = []\n")
    for words in (["check"], ["diff"], ["apply", "."], ["config", "sub/b.py"]):
        done = graphfix(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == ("graphfix: error: sub/graphfix.toml:2: unknown setting 'selct', did you mean 'select'?\n")
    assert graphfix("check", "--isolated").returncode == 1
    assert graphfix("check", "--isolated", "--config", "x").returncode == 2
    assert graphfix("check", "--isolated", "--extend-exclude", "[z-a]").returncode == 2
    done = graphfix("check", "--config", "none.toml")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: none.toml: cannot be read: the file is gone\n")


def test_names_and_values_cannot_forge_lines(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text('"a\\u001b[31m\\nb" = 1\n')
    done = graphfix("check")
    assert done.stderr.decode() == "graphfix: error: graphfix.toml:1: unknown setting 'a\\x1b[31m\\nb'\n"


def test_config_tells_every_value_and_its_origin(project: Path, graphfix: Run) -> None:
    (project / "pyproject.toml").write_text("[tool.graphfix]\nextend-exclude = ['gen']\njobs = 3\n")
    (project / "sub/graphfix.toml").write_text("extend = '../pyproject.toml'\n\nextend-exclude = ['old']\nselect = ['GF1']\n")
    lines = graphfix("config", "sub/b.py", "--ignore", "GF102").stdout.decode().splitlines()
    told = {line.split(" = ")[0]: " ".join(line.split(" = ", 1)[1].split()) for line in lines}
    assert told["select"] == '["GF1"] # sub/graphfix.toml:4'
    assert told["extend-exclude"] == '["gen", "old"] # pyproject.toml:2, sub/graphfix.toml:3'
    assert told["ignore"] == '["GF102"] # command line'
    assert told["jobs"] == "3 # pyproject.toml:3"
    assert told["per-file-ignores"] == "{} # default"


def test_the_schema_is_printed_and_takes_what_the_command_takes(graphfix: Run) -> None:
    schema = json.loads(graphfix("config", "--schema").stdout)
    Draft7Validator.check_schema(schema)
    assert Draft7Validator(schema).is_valid({"select": ["GF1"], "per-file-ignores": {"tests/*": ["GF101"]}})


def test_a_run_without_settings_loads_nothing_for_them(project: Path) -> None:
    code = (
        "import sys; sys.argv = ['graphfix', 'check', '-q', 'sub']; from graphfix.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=project)
    loaded = set(done.stdout.split())
    assert "graphfix.settings.resolver" in loaded
    assert not loaded & {"tomllib", "tomli", "graphfix.settings.keys", "graphfix.settings.files", "pathspec"}
