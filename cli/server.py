"""`graphfix server`."""

from __future__ import annotations

from graphfix.cli import session
from graphfix.cli.exits import INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.installation import command


def run(options: Options) -> int:
    """Speak with an editor until it ends, and give the exit code."""
    try:
        from graphfix.server.language_server import serve
        from graphfix.server.stdio import NoPipe
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        session.fail(f"the language server needs pygls: {command(extra='lsp')}")
    try:
        serve()
    except NoPipe as error:
        session.fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK
