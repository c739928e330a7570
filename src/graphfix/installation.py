"""How graphfix is installed, as texts say it; nothing here is ever run."""

from __future__ import annotations

import json
import re

CLONE = "pip install ."  # in a clone, which is all that a graphfix without metadata can be run from
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NAME = re.compile(r"(?<![\w./:+\-\[])graphfix(?![\w./\-\[])")


def command(install: str = "", extra: str = "") -> str:
    """The command that installs graphfix, from `install`, the setting of that name, or else from where the project's sources are.

    It names the commit that this graphfix is installed of, where that is known. `extra`: the optional part that is needed, too. No name on
    a package index is given: there, anybody may take it.
    """
    text = install or (f'pip install "graphfix @ git+{address}{revision()}"' if (address := source()) else CLONE)
    if not extra:
        return text
    named = _NAME.sub(f"graphfix[{extra}]", text, count=1)
    return named if named != text else f"{text} with its extra {extra!r}"


def revision() -> str:
    """The commit that this graphfix is installed of, behind an `@`; empty where it is installed of no repository.

    https://packaging.python.org/en/latest/specifications/direct-url/
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        told = json.loads(distribution("graphfix").read_text("direct_url.json") or "{}")
        commit = told["vcs_info"]["commit_id"]
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return ""
    return f"@{commit}" if isinstance(commit, str) and _COMMIT.fullmatch(commit) else ""


def source() -> str:
    """The address of the sources, as the project's own metadata names it; empty where it is not installed."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("graphfix").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.partition(", ")[::2] for url in urls)
    return str(named.get("Source", ""))
