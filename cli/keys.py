"""Keys as they are pressed, without a key lost that was pressed before the question was there.

click.getchar turns the terminal over with TCSAFLUSH, which throws away what was typed so far; TCSADRAIN keeps it
(https://docs.python.org/3/library/termios.html#termios.tcsetattr).
"""

from __future__ import annotations

import codecs
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

_END_OF_FILE = b"\x04"
_ESCAPE = "\x1b"  # begins what an arrow or a function key sends

if sys.platform == "win32":

    @contextmanager
    def keys_at_once() -> Iterator[None]:
        """Nothing to prepare: a console gives each key when it is asked for one."""
        yield

    def next_key() -> str:
        """The next key, some characters where it is a special one; raises EOFError where there is none."""
        return click.getchar()

else:
    import termios
    import tty

    @contextmanager
    def keys_at_once() -> Iterator[None]:
        """Keys come as they are pressed and are not echoed; Ctrl-C still interrupts, and at the end all is as it was."""
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal, termios.TCSADRAIN)
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def next_key() -> str:
        """The next key, some characters where it is a special one; raises EOFError where there is none."""
        terminal = sys.stdin.fileno()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pressed = ""
        while not pressed:
            byte = os.read(terminal, 1)
            if byte in (b"", _END_OF_FILE):
                raise EOFError
            pressed = decoder.decode(byte)
        if pressed == _ESCAPE and select.select([terminal], [], [], 0)[0]:
            pressed += os.read(terminal, 32).decode("utf-8", "replace")
        return pressed
