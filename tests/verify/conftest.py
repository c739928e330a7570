from __future__ import annotations

from collections.abc import Callable

import pytest

from graphfix.verify.launch import Job, launch_all
from graphfix.verify.record import Run

Scripts = dict[str, str]


@pytest.fixture(scope="session")
def run_scripts(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Run]]:
    """Runs scripts by name, in forks of one import of torch."""

    def run(scripts: Scripts, **options: object) -> dict[str, Run]:
        folder = tmp_path_factory.mktemp("scripts")
        names = list(scripts)
        for index, text in enumerate(scripts.values()):
            (folder / f"script{index}.py").write_text(text)
        jobs = [Job(str(folder / f"script{index}.py"), folder=folder, **options) for index in range(len(names))]  # type: ignore[arg-type]
        return {names[index]: run for index, run in launch_all(jobs, 2)}

    return run
