"""The GitHub Action: its file read, and the shell of its steps run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]
Step = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def step(tmp_path: Path, command: str) -> Step:
    """Runs a step as the runner does: expressions filled in, then `bash -e -o pipefail`."""
    work = tmp_path / "work"
    work.mkdir()

    def run(which: dict[str, Any], path: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
        values = {name: one["default"] for name, one in ACTION["inputs"].items()} | inputs
        filled = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)
            for name, text in which.get("env", {}).items()
        }
        environment = os.environ | filled | {
            "PATH": f"{path or Path(command).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_PATH": str(tmp_path / "path"),
            "GITHUB_WORKSPACE": str(work), "RUNNER_TEMP": str(tmp_path / "temp"),
        }  # fmt: skip
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", which["run"]]
        return subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, timeout=600)

    return run


def test_it_is_a_composite_action_whose_steps_name_their_shell() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all(one["shell"] == "bash" for one in ACTION["runs"]["steps"])
    assert all(one["description"] for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))


def test_no_expression_is_part_of_a_script() -> None:
    assert not any("${{" in one["run"] for one in ACTION["runs"]["steps"])
    used = re.findall(r"inputs\.([\w-]+)", json.dumps(CHECK["env"]))
    assert sorted(used) == sorted(ACTION["inputs"])


def test_findings_become_annotations_and_fail_the_step(step: Step, tmp_path: Path, loops: SimpleNamespace) -> None:
    (tmp_path / "work/a b.py").write_text(loops.total)
    (tmp_path / "work/c.py").write_text(loops.legacy)
    done = step(CHECK, paths="a b.py\n")
    assert done.returncode == 1
    assert done.stdout.startswith("::error title=graphfix (GF101 accumulated-graph),file=a b.py,line=13,")
    assert "c.py" not in done.stdout
    assert (tmp_path / "output").read_text() == "exit-code=1\n"


def test_findings_may_pass_but_errors_never(step: Step, tmp_path: Path, loops: SimpleNamespace) -> None:
    (tmp_path / "work/a.py").write_text(loops.total)
    assert step(CHECK, fail="false").returncode == 0
    assert (tmp_path / "output").read_text() == "exit-code=1\n"
    assert step(CHECK, fail="false", args="--nonsense").returncode == 2
    assert step(CHECK, args="--ignore GF1").returncode == 0


def test_options_and_files_are_passed_on(step: Step, tmp_path: Path, loops: SimpleNamespace) -> None:
    (tmp_path / "work/a.py").write_text(loops.both)
    made = step(CHECK, **{"output-format": "sarif", "output-file": "out.sarif", "args": "--select GF1  --unsafe-fixes"})
    assert made.returncode == 1
    (run,) = json.loads((tmp_path / "work/out.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["GF101"]


def test_inputs_cannot_run_anything(step: Step, tmp_path: Path) -> None:
    evil = '$(touch mark); `touch mark`"; touch mark #'
    done = step(CHECK, paths=evil, args="*.py $(touch mark) ;touch mark", fail=evil, **{"output-file": evil})
    assert done.returncode == 2
    assert not (tmp_path / "work/mark").exists()


def test_it_installs_from_its_own_folder(step: Step, tmp_path: Path) -> None:
    # a stand-in for python, so that the test needs no registry: it makes the folder and writes down what it was asked
    stub = tmp_path / "stub/python3"
    stub.parent.mkdir()
    log = f'echo "$@" >> {tmp_path}/log'
    stub.write_text(f'#!/bin/sh\n{log}\n[ "$2" != venv ] || {{ mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; }}\n')
    stub.chmod(0o755)
    assert step(INSTALL, path=str(stub.parent)).returncode == 0
    venv = f"{tmp_path}/temp/graphfix"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"-m venv {venv}",
        f"-m pip install --quiet --disable-pip-version-check {ROOT}",
    ]
    assert (tmp_path / "path").read_text() == f"{venv}/bin\n"
