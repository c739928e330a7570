"""What is said before code runs in copies of a project."""

from __future__ import annotations

from pathlib import Path

from graphfix.cli.terminal import ERR
from graphfix.report.escape import escaped
from graphfix.report.report import count

LISTED = 5  # links that are named; more are counted


def name_links(project: Path) -> None:
    """Name the links by which a run in a copy reads, and may write, what is no copy."""
    from graphfix.verify.copies import leading_out

    links = leading_out(project)
    if not links:
        return
    named = ", ".join(f"{escaped(str(link))} -> {escaped(str(place))}" for link, place in links[:LISTED])
    more = f" and {count(len(links) - LISTED, 'link')} more" if len(links) > LISTED else ""
    ERR.say(f"graphfix: what runs can write outside of its copy, through {named}{more}")
