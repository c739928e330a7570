"""Each rule as a `libcst.codemod` command, for projects that run their codemods with `python3 -m libcst.tool`.

The commands are made from the rules and are called like them: `AccumulatedGraph` for accumulated-graph.
libcst takes a few hundred milliseconds to import: nothing that starts with graphfix may import this module.
"""

from __future__ import annotations

from graphfix.codemods import RULES
from graphfix.codemods.base import Rule
from graphfix.rewrite.command import RuleCommand


def command(rule: Rule) -> type[RuleCommand]:
    """The command that applies the safe fixes of one rule."""
    name = rule.name.title().replace("-", "")
    return type(name, (RuleCommand,), {"__module__": __name__, "CODE": rule.code, "DESCRIPTION": rule.repair})


globals().update({made.__name__: made for made in map(command, RULES)})
