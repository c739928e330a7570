"""The commands that tests start can be interrupted, whatever whoever starts the tests ignores: `nohup`, or a job in the background."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import importlib.util, subprocess, sys
sys.path.insert(0, {root!r})
import tests.conftest
print(subprocess.run([sys.executable, "-c", "import signal; print(signal.getsignal(signal.{name}).__name__)"], capture_output=True, text=True).stdout)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not inherited")
@pytest.mark.parametrize(("name", "default"), [("SIGINT", "default_int_handler"), ("SIGHUP", "SIG_DFL")])
def test_what_is_ignored_outside_is_not_ignored_by_commands(name: str, default: str) -> None:
    code = CODE.format(root=str(ROOT), name=name).replace("__name__", "name" if default.startswith("SIG") else "__name__")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_IGN)
    )
    assert done.stdout.strip() == default, done.stderr
