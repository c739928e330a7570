"""The command line: thin modules, everything heavy deferred until a command needs it."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from graphfix.cli.exits import INTERRUPTED
from graphfix.cli.shield import shield


def main() -> int:
    """Run the command line; typer leaves by `SystemExit` with the exit code."""
    shield()
    if sys.argv[1:] == ["--version"]:
        # answered before typer is imported, which takes longer than everything else
        from graphfix import __version__

        print(f"graphfix {__version__}")
        return 0
    try:
        from graphfix.cli.app import app

        app(prog_name="graphfix")
    except KeyboardInterrupt:
        # before a command could start: the commands themselves say what was written
        leave_interrupted()
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            leave_interrupted()
        raise
    return 0


def leave_interrupted() -> NoReturn:
    """End at once: an interpreter that shuts down waits for the threads of a pool whose workers are gone."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(INTERRUPTED)
