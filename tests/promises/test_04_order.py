"""Promise 4: neither the order of paths nor workers nor hash seeds change a byte of what is told or made."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .fixtures import FOLDER

FORMS = {"report": ["check", "--output-format", "json"], "patch": ["diff", "--unsafe-fixes", "--quiet"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One faulty script of each rule."""
    folder = tmp_path_factory.mktemp("project")
    for rule in sorted(FOLDER.glob("GF*")):
        before = sorted(rule.glob("*/before.py"))[0]
        shutil.copy(before, folder / f"{rule.name.replace('-', '_')}.py")
    return folder


def told(project: Path, words: list[str], seed: int, jobs: int, paths: list[str]) -> bytes:
    command = [sys.executable, "-m", "graphfix", *words, "--select", "GF", "--jobs", str(jobs), *paths]
    done = subprocess.run(command, cwd=project, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_order_does_not_matter(project: Path, form: str) -> None:
    names = sorted(path.name for path in project.iterdir())
    assert len(names) > 20
    expected = told(project, FORMS[form], 0, 1, ["."])
    assert len(expected) > 4000
    for seed, jobs in ((1, 2), (2, 8)):
        shuffled = random.Random(seed).sample(names, len(names))
        assert told(project, FORMS[form], seed, jobs, shuffled) == expected
