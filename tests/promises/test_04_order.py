"""Promise 4: neither the order of paths nor workers nor hash seeds change a byte of what is told or made."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.run.workers import MIN_FILES

from .fixtures import FOLDER

pytestmark = pytest.mark.deep

SHUFFLES = int(os.environ.get("GRAPHFIX_SHUFFLES", "3"))  # 1,000 before a release
WORKERS = (2, 8, 1)
FORMS = {"report": ["check", "--output-format", "json"], "patch": ["diff", "--unsafe-fixes", "--quiet"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faulty scripts of each rule: so many that workers get some."""
    folder = tmp_path_factory.mktemp("project")
    for rule in sorted(FOLDER.glob("GF*")):
        for before in sorted(rule.glob("*/before.py"))[:2]:
            shutil.copy(before, folder / f"{rule.name}_{before.parent.name}.py".replace("-", "_"))
    return folder


def told(project: Path, words: list[str], seed: int, jobs: int, paths: list[str]) -> bytes:
    # without the cache: it would give back what the first run has made
    command = [sys.executable, "-m", "graphfix", *words, "--no-cache", "--select", "GF", "--jobs", str(jobs), *paths]
    done = subprocess.run(command, cwd=project, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_order_does_not_matter(project: Path, form: str) -> None:
    names = sorted(path.name for path in project.iterdir())
    assert len(names) > MIN_FILES
    expected = told(project, FORMS[form], 0, 1, ["."])
    assert len(expected) > 4000
    for seed in range(1, SHUFFLES + 1):
        shuffled = random.Random(seed).sample(names, len(names))
        assert told(project, FORMS[form], seed, WORKERS[(seed - 1) % len(WORKERS)], shuffled) == expected
