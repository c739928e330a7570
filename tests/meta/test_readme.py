from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = re.findall(r"^python -m venv .*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert len(commands) == 2
    assert script.splitlines()[-1] == commands[1]
    assert os.access(ROOT / ".ci/run", os.X_OK)
