"""`graphfix rule`."""

from __future__ import annotations

from graphfix.cli import session
from graphfix.cli.exits import OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import OUT, quiet_pipe
from graphfix.run.selection import UnknownCode, exact_code


def run(options: Options) -> int:
    """Print one rule's page, or the table of all rules."""
    from graphfix.codemods import CODES, NAMES, RULES

    with quiet_pipe():
        if not options.code:
            width = max((len(rule.name) for rule in RULES), default=0)
            for rule in RULES:
                OUT.say(f"{rule.code}  {rule.name:<{width}}  {rule.summary}")
            return OK
        try:
            wanted = exact_code(options.code, CODES, NAMES)
        except UnknownCode as error:
            session.fail(str(error))
        OUT.say(next(rule.page for rule in RULES if rule.code == wanted).rstrip())
    return OK
