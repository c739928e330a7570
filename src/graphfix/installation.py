"""How graphfix is installed, as texts say it; nothing here is ever run."""

from __future__ import annotations

import re

from graphfix import __version__

CLONE = "pip install ."  # in a clone, which is all that a graphfix without metadata can be run from
_NAME = re.compile(r"(?<![\w./:+\-\[])graphfix(?![\w./\-\[])")


def command(install: str = "", extra: str = "") -> str:
    """The command that installs this version, from `install`, the setting of that name, or else from where the project's sources are.

    `extra`: the optional part that is needed, too. No name on a package index is given: there, anybody may take it.
    """
    text = install or (f'pip install "graphfix @ git+{address}@v{__version__}"' if (address := source()) else CLONE)
    if not extra:
        return text
    named = _NAME.sub(f"graphfix[{extra}]", text, count=1)
    return named if named != text else f"{text} with its extra {extra!r}"


def source() -> str:
    """The address of the sources, as the project's own metadata names it; empty where it is not installed."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("graphfix").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.partition(", ")[::2] for url in urls)
    return str(named.get("Source", ""))
