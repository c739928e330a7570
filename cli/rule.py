"""`graphfix rule`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphfix.cli import session
from graphfix.cli.exits import OK
from graphfix.cli.options import Options
from graphfix.cli.pager import show
from graphfix.cli.terminal import OUT, quiet_pipe
from graphfix.run.selection import UnknownCode, exact_code

if TYPE_CHECKING:
    from graphfix.codemods.base import Rule


def run(options: Options) -> int:
    """Print one rule's page, or the table of all rules."""
    from graphfix.codemods import CODES, NAMES, RULES

    with quiet_pipe():
        if not options.code:
            show("".join(_listed(RULES)), OUT, pages=not options.no_pager)
            return OK
        try:
            wanted = exact_code(options.code, CODES, NAMES)
        except UnknownCode as error:
            session.fail(str(error))
        show(page_of(wanted), OUT, pages=not options.no_pager)
    return OK


def page_of(code: str) -> str:
    """The page of a rule as `OUT` shows it: rendered on a terminal or in colour, else the Markdown that it is written in."""
    from graphfix.codemods import RULES

    page = next(rule.page for rule in RULES if rule.code == code).rstrip()
    if OUT.columns is None and not OUT.colour:
        return page
    from graphfix.report.markdown import rendered
    from graphfix.report.text import USUAL

    return rendered(page, OUT.columns or USUAL, colour=OUT.colour)


def _listed(rules: Sequence[Rule]) -> Iterator[str]:
    from graphfix.report.fold import folded
    from graphfix.report.text import Piece

    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        head = f"{rule.code}  {rule.name:<{width}}  "
        line = (Piece(head, whole=True), Piece(rule.summary))
        for part in (line,) if OUT.columns is None else folded(line, OUT.columns, len(head)):
            yield "".join(piece.text for piece in part) + "\n"
