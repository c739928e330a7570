"""A terminal for the tests."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path


def on_terminal(words: list[str], cwd: Path, **extra: str) -> bytes:
    """What the command writes on a terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm"} | extra
    process = subprocess.Popen(words, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # how Linux says that the other end is closed
    process.wait()
    os.close(ours)
    return shown
