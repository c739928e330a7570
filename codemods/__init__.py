"""All rules, listed by hand in code order."""

from __future__ import annotations

from graphfix.codemods import (
    accumulated_graph,
)
from graphfix.codemods.base import Evidence, Rule

RULES: tuple[Rule, ...] = (
    accumulated_graph.RULE,
)
