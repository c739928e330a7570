"""Keys as they are pressed, without a key lost that was pressed before the question was there.

typer.getchar turns the terminal over with TCSAFLUSH, which throws away what was typed so far; TCSADRAIN keeps it
(https://docs.python.org/3/library/termios.html#termios.tcsetattr).
"""

from __future__ import annotations

import codecs
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

import typer

_END_OF_FILE = b"\x04"
_ESCAPE = "\x1b"  # begins what an arrow or a function key sends
_REST = 0.05  # seconds in which the rest of it comes

if find_spec("termios") is None:

    @contextmanager
    def keys_at_once() -> Iterator[None]:
        """Nothing to prepare: a console gives each key when it is asked for one."""
        yield

    def next_key() -> str:
        """The next key, some characters where it is a special one; raises EOFError where there is none."""
        return typer.getchar()

else:
    import termios
    import tty

    @contextmanager
    def keys_at_once() -> Iterator[None]:
        """Keys come as they are pressed and are not echoed; Ctrl-C still interrupts, and at the end all is as it was."""
        terminal = sys.stdin.fileno()
        before = None
        with suppress(termios.error):  # it was closed: reading says so
            before = termios.tcgetattr(terminal)
            tty.setcbreak(terminal, termios.TCSADRAIN)
        try:
            yield
        finally:
            if before is not None:
                with suppress(termios.error):
                    termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def next_key() -> str:
        """The next key, some characters where it is a special one; raises EOFError where there is none."""
        terminal = sys.stdin.fileno()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pressed = ""
        while not pressed:
            byte = _read(terminal, 1)
            if byte in (b"", _END_OF_FILE):
                raise EOFError
            pressed = decoder.decode(byte)
        if pressed == _ESCAPE and select.select([terminal], [], [], _REST)[0]:
            pressed += _read(terminal, 32).decode("utf-8", "replace")
        return pressed

    def _read(terminal: int, most: int) -> bytes:
        """What was pressed; nothing where the terminal was closed."""
        try:
            return os.read(terminal, most)
        except OSError:
            return b""
