"""A terminal for the tests."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path


def on_terminal(words: list[str], cwd: Path, columns: int = 80, rows: int = 24, *, errors: bool = True, **extra: str) -> bytes:
    """What the command writes on a terminal of that size. `errors`: also what it says there on standard error, such as a progress bar."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    # whoever runs the tests may say how wide that terminal is
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "xterm"} | extra
    process = subprocess.Popen(
        words, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs if errors else subprocess.DEVNULL, env=environment
    )
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
