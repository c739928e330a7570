"""Training programs do the same on real torch where the executor runs them: what they print, and what they raise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
# the first fixture of every third rule, before its repair and after it
RULES = sorted((ROOT / "fixtures").glob("GF*"))[::3]
CASES = [min(case for case in rule.iterdir() if case.is_dir()) for rule in RULES]
FILES = [case / name for case in CASES for name in ("before.py", "after.py") if (case / name).exists()]


def run_benchmark(*files: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    words = [sys.executable, "-m", "benchmarks.executor", *map(str, files)]
    return subprocess.run(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)


def test_fixtures_do_the_same() -> None:
    assert len(FILES) >= 16
    done = run_benchmark(*FILES)
    assert done.stdout == f"{len(FILES)} programs: {len(FILES)} do the same, 0 differ, 0 are not steady\n", done.stderr


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint(sys._getframe(1).f_code.co_name)\n")
    done = run_benchmark(tmp_path)
    assert done.returncode == 1 and "1 differ" in done.stdout
