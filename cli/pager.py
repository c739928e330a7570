"""Text that may be longer than the screen: through a pager where there is one to read it, as git does."""

from __future__ import annotations

import os
import shutil
import sys

from graphfix.cli.terminal import Screen

VARIABLE = "GRAPHFIX_PAGER"


def show(text: str, screen: Screen, *, pages: bool) -> None:
    """Write `text`; where `pages`, through the pager if it is longer than the terminal behind `screen` is high."""
    height = shutil.get_terminal_size().lines
    if not pages or screen.columns is None or os.environ.get("TERM") == "dumb" or text.count("\n") < height:
        screen.raw(text.rstrip("\n"))
        return
    import click

    chosen = os.environ.get(VARIABLE) or os.environ.get("PAGER")
    os.environ["PAGER"] = chosen or "less"
    os.environ.setdefault("LESS", "FRX")  # as git sets it
    sys.stdout.flush()
    click.echo_via_pager(text, color=screen.colour)
