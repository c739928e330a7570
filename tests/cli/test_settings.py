"""Settings files as a user meets them, through the installed command."""

from __future__ import annotations

import json
import os
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
    for words in (["check", "sub"], ["diff", "sub/b.py"], ["apply", ".", "sub/deep/c.py"], ["config", "sub/b.py"]):
        done = graphfix(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == ("graphfix: error: sub/graphfix.toml:2: unknown setting 'selct', did you mean 'select'?\n")
    assert graphfix("check", "--isolated").returncode == 1
    assert graphfix("check", "--isolated", "--config", "x").returncode == 2
    assert graphfix("check", "--isolated", "--extend-exclude", "[z-a]").returncode == 2
    done = graphfix("check", "--config", "none.toml")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: --config: no such file: none.toml\n")


@pytest.mark.parametrize("name", ["graphfix.toml", "pyproject.toml"])
def test_a_wrong_file_below_costs_its_folder(project: Path, graphfix: Run, loops: SimpleNamespace, name: str) -> None:
    (project / "sub" / name).write_text("[tool.graphfix]\nselct = []\n" if name == "pyproject.toml" else "# ours\nselct = []\n")
    (project / "sub/deep/graphfix.toml").write_text("select = ['GF1']\n")
    line = f"sub/{name}:2:1: cannot be read: unknown setting 'selct', did you mean 'select'?; sub is left out"
    patch = graphfix("diff", "--isolated", "a.py", "tests").stdout
    assert patch
    for words in (["check"], ["diff"], ["apply"]):
        done = graphfix(*words)
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[:1] == [line]
        if words == ["diff"]:
            assert done.stdout == patch
        else:
            *_, summary, _ = done.stdout.decode().splitlines()  # behind it stands what to do next, or that there is no undo
            assert summary.endswith("checked 2 files, 1 could not be read")
    fixed = loops.both.replace("loss.data[0]", "loss.item()").replace("total += loss", "total += loss.item()")
    assert [(project / file).read_text() for file in ("a.py", "tests/test_a.py")] == [fixed] * 2
    assert [(project / file).read_text() for file in ("sub/b.py", "sub/deep/c.py")] == [loops.both] * 2
    assert graphfix("apply", "--exit-zero").returncode == 2
    assert graphfix("check", "--isolated").returncode == 1


def test_several_wrong_files_are_told_in_order(project: Path, graphfix: Run) -> None:
    (project / "tests/graphfix.toml").write_text("jobs = -1\n")
    (project / "sub/graphfix.toml").write_text("extend = 'deep/base.toml'\n")
    (project / "sub/deep/base.toml").write_text("\nselect = [\n")
    done = graphfix("check", "-q", "--jobs", "2")
    first, second = done.stderr.decode().splitlines()
    assert first.startswith("sub/deep/base.toml:") and first.endswith("; sub is left out")
    assert second == "tests/graphfix.toml:1:1: cannot be read: jobs: must not be negative, is -1; tests is left out"
    listed = json.loads(graphfix("check", "--output-format", "sarif").stdout)["runs"][0]["invocations"][0]
    assert listed["executionSuccessful"] is False
    assert len(listed["toolExecutionNotifications"]) == 2


def test_of_many_wrong_files_ten_are_told_and_the_others_counted(project: Path, graphfix: Run) -> None:
    for number in range(200):
        (project / f"part{number:03}").mkdir()
        (project / f"part{number:03}/graphfix.toml").write_text("unknown = 1\n")
    for words in (["check"], ["check", "--output-format", "json"], ["diff"], ["apply", "--dry-run"]):
        lines = graphfix(*words, "-q").stderr.decode().splitlines()
        assert [line.partition("/")[0] for line in lines[:10]] == [f"part{number:03}" for number in range(10)]
        assert lines[10:] == ["190 more settings files that cannot be read: what lies beside and below is left out"]
    told = json.loads(graphfix("check", "--output-format", "sarif").stdout)["runs"][0]["invocations"][0]
    assert len(told["toolExecutionNotifications"]) == 200


def test_a_wrong_file_in_an_excluded_folder_is_nobody_s(project: Path, found: Callable[..., set[str]]) -> None:
    (project / "sub/graphfix.toml").write_text("selct = []\n")
    assert found("--extend-exclude", "sub") == {"a.py:101", "a.py:901", "tests/test_a.py:101", "tests/test_a.py:901"}


@pytest.mark.parametrize("patterns", ["['old/']", "['*.py']", "['old/*', 'x']"])
def test_old_files_that_cannot_be_read_are_accepted(project: Path, graphfix: Run, patterns: str) -> None:
    (project / "old").mkdir()
    (project / "old/two.py").write_text("exec 'x = ' in y\nclass backward\n")
    (project / "old/bytes.py").write_bytes(b"x = '\xff'\n# backward\n")
    (project / "old/deep.py").write_text("backward" + "(" * 1000)
    (project / "old/fine.py").write_text("x = 1\n")
    refused = graphfix("check", "--select", "GF2")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 3
    (project / "graphfix.toml").write_text(f"accept-unreadable = {patterns}\n")
    for words in (["check"], ["diff"], ["apply"]):
        done = graphfix(*words, "--select", "GF2")
        assert done.returncode == 0
        said = (done.stderr if words == ["diff"] else done.stdout).decode().splitlines()
        assert said[-1].endswith("; checked 5 files, 3 accepted as unreadable")
        assert not any("cannot be read" in line or "skipped" in line for line in done.stderr.decode().splitlines())
    told = graphfix("check", "--select", "GF2", "--verbose").stderr.decode()
    assert [line.split(":")[0] for line in told.splitlines() if line.endswith(" (accepted)")] == [
        "old/bytes.py", "old/deep.py", "old/two.py",
    ]  # fmt: skip
    for form in ("sarif", "github", "gitlab", "junit", "rdjson"):
        assert b"two.py" not in graphfix("check", "--output-format", form).stdout
    # findings are findings
    assert graphfix("check").returncode == 1


def test_only_what_is_in_a_file_is_accepted(project: Path, graphfix: Run) -> None:
    (project / "graphfix.toml").write_text("accept-unreadable = ['*']\nselect = ['GF2']\n")
    os.mkfifo(project / "pipe.py")
    done = graphfix("check")
    assert (done.returncode, done.stderr) == (2, b"pipe.py: cannot be read: not a regular file\n")
    (project / "pipe.py").unlink()
    (project / "graphfix.toml").write_text("accept-unreadable = ['old/']\nselect = ['GF2']\n")
    (project / "new.py").write_text("class backward\n")
    assert graphfix("check").returncode == 2


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
    assert not loaded & {"graphfix.settings.toml", "graphfix.settings.keys", "graphfix.settings.files", "pathspec"}


def test_patterns_may_be_any_number(project: Path, found: Callable[..., set[str]]) -> None:
    """RE2 does not take this many at once; the last one that speaks of a file counts wherever it stands."""
    many = [f"**/a{number}*/b?[abc]/**/*made_{number}_by_hand*" for number in range(3_000)]
    lines = ["sub/", "tests/*", *many[:2_000], "!tests/test_a.py", *many[2_000:]]
    (project / "graphfix.toml").write_text(f"select = ['GF101']\nextend-exclude = {json.dumps(lines)}\n")
    assert found(".", cwd=project) == {"a.py:101", "tests/test_a.py:101"}


def test_a_wrong_pattern_among_many_is_named(project: Path, graphfix: Run) -> None:
    lines = [*(f"made_{number}" for number in range(700)), "a[z-a]", *(f"other_{number}" for number in range(700))]
    (project / "graphfix.toml").write_text(f"extend-exclude = {json.dumps(lines)}\n")
    done = graphfix("check", ".", cwd=project)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == b"graphfix: error: graphfix.toml:1: extend-exclude: 'a[z-a]' is not a pattern of .gitignore\n"
