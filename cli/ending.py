"""How a run ends: each way has its exit code and at most one line, and 1 is left to findings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from graphfix.cli.exits import ERROR, INTERRUPTED, OK, SIGNALLED
from graphfix.cli.streams import LostOutput, ReaderGone, lost_errors

# the signals that asked this process to end: commands end as on Ctrl-C, and the exit code tells the difference
_received: list[int] = []


class Terminated(KeyboardInterrupt):
    """A signal asks for the end: to be met by all that cleans up after Ctrl-C."""


def heed_signals() -> None:
    """End like on Ctrl-C, with everything that was started, where a plain end would leave that behind."""
    import signal

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # what is ignored stays so: nohup
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise Terminated


def ended(run: Callable[[], int]) -> int:
    """Let the run come to its end, whichever that is, and give the exit code."""
    code = OK
    try:
        code = _code_of(run)
        sys.stdout.flush()
    except ReaderGone:
        pass  # `| head` has read what it wanted
    except LostOutput as error:
        code = _say(f"error: {error}", ERROR)
    except KeyboardInterrupt:
        # before a command could start: the commands themselves say what was written
        code = INTERRUPTED
    except Exception as error:  # the last boundary: Python's own exit code for it would mean findings
        _traceback(error)
        _leave(_say(_named(error), ERROR))
    if _received:
        _leave(SIGNALLED + _received[0])
    if code == INTERRUPTED:
        _leave(INTERRUPTED)
    return ERROR if lost_errors() else code


def _code_of(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else ERROR


def _leave(code: int) -> NoReturn:
    """End at once: an interpreter that shuts down waits for the threads of a pool whose workers are gone."""
    try:
        sys.stdout.flush()
    except (LostOutput, ReaderGone):
        pass  # the code says that more than the output is missing
    os._exit(code)


def _say(text: str, code: int) -> int:
    """One line, made without an import: there may be no file descriptor left for one."""
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    sys.stderr.write(f"graphfix: {line}\n")
    sys.stderr.flush()
    return code


def _named(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"error: {error.strerror.lower()}" + (f": {error.filename}" if error.filename else "")
    if isinstance(error, MemoryError):
        return "error: out of memory"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})" if place is not None else ""
    message = str(error).strip().splitlines()
    return f"internal error: {type(error).__name__}" + (f": {message[0]}" if message else "") + where


def _traceback(error: Exception) -> None:
    """The whole story for whoever asks for it; not parsed, for the fault may be in the parser of the command line."""
    if {"--verbose", "-v"} & set(sys.argv):
        import traceback

        traceback.print_exception(error)
