"""`graphfix help`: what `--help` says."""

from __future__ import annotations

from graphfix.cli.exits import OK
from graphfix.cli.options import Options


def run(options: Options) -> int:
    """Print the help of a command, or of graphfix."""
    from graphfix.cli.app import application

    topic = [options.topic] if options.topic else []
    application(topic)([*topic, "--help"], prog_name="graphfix", standalone_mode=False)
    return OK
