"""Promise 11: without room for the new bytes the old ones stay, and the file is named."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
resource = pytest.importorskip("resource")


def test_a_file_that_does_not_fit_is_left_whole(tmp_path: Path, loops: SimpleNamespace, graphfix: Run) -> None:
    file = tmp_path / "x.py"
    file.write_text(loops.total)

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = graphfix("apply", "x.py", preexec_fn=small_files_only)
    assert done.returncode == 2
    assert b"x.py: not written: larger than this process is allowed to write" in done.stderr
    assert file.read_text() == loops.total
    assert os.listdir(tmp_path) == ["x.py"]
