"""Files that are examined behind the back of the process."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

from graphfix.run.behind import Behind
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome, Status


def job_in(folder: Path) -> Job:
    return Job((folder,))


def waited(behind: Behind) -> Mapping[Path, Outcome]:
    limit = time.monotonic() + 60
    while (found := behind.outcomes()) is None:
        assert time.monotonic() < limit
        time.sleep(0.02)
    return found


def written(folder: Path, loops: SimpleNamespace, count: int) -> list[Path]:
    files = [folder / f"f{number}.py" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text(loops.total if number % 2 else loops.clean)
    return files


def test_it_finds_what_this_process_finds(tmp_path: Path, loops: SimpleNamespace) -> None:
    files = written(tmp_path, loops, 3)
    behind = Behind(files, job_in(tmp_path), 2)
    try:
        assert waited(behind) == {file: examine(file, job_in(tmp_path)) for file in files}
    finally:
        behind.end()


def test_nothing_is_left_of_what_is_ended(tmp_path: Path, loops: SimpleNamespace) -> None:
    before = set(multiprocessing.active_children())
    behind = Behind(written(tmp_path, loops, 60), job_in(tmp_path), 2)
    behind.end()
    assert set(multiprocessing.active_children()) == before


def test_one_that_is_killed_is_told(tmp_path: Path, loops: SimpleNamespace) -> None:
    files = written(tmp_path, loops, 60)
    before = set(multiprocessing.active_children())
    behind = Behind(files, job_in(tmp_path), 2)
    try:
        (child,) = set(multiprocessing.active_children()) - before
        assert child.pid is not None
        os.kill(child.pid, 9)
        found = waited(behind)
        assert list(found) == files
        assert {outcome.status for outcome in found.values()} == {Status.INTERNAL}
    finally:
        behind.end()
