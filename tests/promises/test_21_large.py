"""Promise 21: a file of any size is examined or skipped with a reason, and the run goes on to the next one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.deep

Run = Callable[..., subprocess.CompletedProcess[bytes]]
FOUND, UNFINISHED = ": GF101 ", ": not analysed to the end: "
# what stands between the imports and the loop, and what is told; nearly as large as a file may be, where it is not larger
LARGE = {
    "lines": ("x = 1\n" * 100_000, UNFINISHED),
    "literal": ("text = '''" + ("x" * 79 + "\n") * 250_000 + "'''\n", ": skipped (too large)"),
    "smaller_literal": ("text = '''" + ("x" * 79 + "\n") * 120_000 + "'''\n", FOUND),
    "escapes": ("text = '''" + ("\\x00" * 20 + "\n") * 110_000 + "'''\n", FOUND),
    "line": ("text = '" + "x" * 1_000_000 + "'\n", ": skipped (line too long)"),
    "shorter_line": ("text = b'" + "\\x00" * 240_000 + "'\n", FOUND),
    "comments": ("# x x x x x x x x x x x x x x x x x x\n" * 240_000, FOUND),
}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_large_files_do_not_keep_others_waiting(tmp_path: Path, graphfix: Run, loops: SimpleNamespace, jobs: str) -> None:
    head, _, tail = loops.total.partition("model =")
    for name, (between, _) in LARGE.items():
        (tmp_path / f"{name}.py").write_text(f"{head}{between}model ={tail}")
    # enough for workers, where some are asked for
    others = [f"z{number:02}.py" for number in range(40 if jobs != "1" else 2)]
    for name in others:
        (tmp_path / name).write_text(loops.total)
    done = graphfix("check", "--no-cache", "--output-format", "concise", "--jobs", jobs, ".")
    told = (done.stdout + done.stderr).decode().splitlines()
    for name, said in {**{f"{name}.py": said for name, (_, said) in LARGE.items()}, **dict.fromkeys(others, FOUND)}.items():
        lines = [line for line in told if line.startswith(name)]
        assert len(lines) == 1 and said in lines[0], lines
    assert done.returncode == 2
