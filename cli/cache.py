"""`graphfix cache`: where findings are kept from run to run."""

from __future__ import annotations

from graphfix.cli import session
from graphfix.cli.choices import Stock
from graphfix.cli.exits import OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import OUT, quiet_pipe
from graphfix.report.escape import escaped
from graphfix.run import store


def run(options: Options) -> int:
    """Print the folder or the size of the cache, or take it away."""
    folder = store.folder()
    with quiet_pipe():
        if options.stock is Stock.DIR:
            OUT.raw(escaped(str(folder)))
        elif options.stock is Stock.SIZE:
            OUT.say(_told(store.size(folder)))
        else:
            before = store.size(folder)
            try:
                store.clean(folder)
            except OSError as error:
                session.fail(f"{folder}: cannot be cleaned: {(error.strerror or str(error)).lower()}")
            OUT.say(f"Freed {_told(before)}")
    return OK


def _told(size: int) -> str:
    """Bytes as people read them."""
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / (1 << 10):.0f} KiB"
