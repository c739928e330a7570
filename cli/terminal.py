"""Where lines go: plain bytes into a file or pipe, colour on a terminal and where it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal, TextIO

if TYPE_CHECKING:
    from graphfix.report.text import Line

_PATCH_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_READABLE = {"blue": "bold bright_blue"}  # plain blue can hardly be read on black; this one can on white, too


class Screen:
    """Writes lines to one stream. `when`: what --color says, of all streams but those that are `plain`, such as a file."""

    when: ClassVar[str] = "auto"

    def __init__(self, stream: TextIO, *, plain: bool = False) -> None:
        self._stream = stream
        self._plain = plain

    @property
    def colour(self) -> bool:
        """Whether lines are styled: as --color says, else NO_COLOR, else FORCE_COLOR, else where there is a terminal."""
        if self._plain or self.when == "never":
            return False
        if self.when == "always":
            return True
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or self._terminal()

    def _terminal(self) -> bool:
        return self._stream.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def columns(self) -> int | None:
        """How wide the terminal is, or COLUMNS says that it is; None where lines are not broken: in a file or a pipe."""
        if self._plain or not self._stream.isatty():
            return None
        from graphfix.report.text import columns

        return columns(self._stream)

    def say(self, text: str) -> None:
        """Write text, long lines broken between words where there is a terminal. Whatever is in it shows as what it is."""
        from graphfix.report.escape import escaped

        text = "\n".join(map(escaped, text.split("\n")))
        if self.columns is not None:
            from graphfix.report.text import Piece

            for line in text.split("\n"):
                self.line((Piece(line),))
        else:
            self.raw(text)
        self._stream.flush()

    def raw(self, text: str) -> None:
        """Write text for a program, or to be pasted: no line of it is broken."""
        self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Begin with an empty screen where there is one; a file or a pipe keeps all that was written."""
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._stream.write("\x1b[2J\x1b[H")

    def prompt(self, text: str) -> None:
        """Write the words behind which the answer is to stand."""
        self._stream.write(text)
        self._stream.flush()

    def line(self, pieces: Line) -> None:
        """Write one line, broken between words where a terminal is not wide enough for it."""
        if self.columns is None:
            self._write(pieces)
            return
        from graphfix.report.fold import folded

        for line in folded(pieces, self.columns):
            self._write(line)

    def _write(self, pieces: Line) -> None:
        """Write one line, styled where colours are wanted; links are for a terminal."""
        if not self.colour or not any(piece.style for piece in pieces):
            self._stream.write("".join(piece.text for piece in pieces) + "\n")
            return
        from rich.console import Console
        from rich.text import Text

        terminal = self._terminal()
        styles = [piece.style if terminal else piece.style.partition("link ")[0].strip() for piece in pieces]
        styles = [_READABLE.get(style, style) for style in styles]
        text = Text.assemble(*((piece.text, style) for piece, style in zip(pieces, styles, strict=True)))
        system: Literal["auto", "standard"] = "auto" if terminal else "standard"
        # all that rich would ask of the environment has been asked
        console = Console(
            file=self._stream, highlight=False, soft_wrap=True, force_terminal=True, color_system=system, no_color=False
        )
        console.print(text)

    def patch(self, patch: bytes) -> None:
        """Write a patch: the very bytes into a pipe, something readable on a terminal and for --color always.

        FORCE_COLOR is no reason: it is set once for all that runs in CI, and what is in the pipe may be `git apply`.
        """
        if not self._stream.isatty() and self.when != "always":
            self._stream.flush()
            self._stream.buffer.write(patch)
            self._stream.buffer.flush()
            return
        from graphfix.report.escape import escaped, shown
        from graphfix.report.text import Piece

        for line in patch.decode("utf-8", "surrogateescape").split("\n")[:-1]:
            header = line.startswith(("--- ", "+++ "))
            text = shown(line) if not header else escaped(line.rstrip("\t"))
            self.line((Piece(text, "bold" if header else _PATCH_STYLES.get(line[:1], ""), whole=True),))


OUT = Screen(sys.stdout)
ERR = Screen(sys.stderr)


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """A reader that stops early (`| head`) ends the output, without a traceback."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the stream drops what is still buffered
