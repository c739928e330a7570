"""All rules, listed by hand in code order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Stand-in for the catalogue's entries."""

    code: str
    name: str
    summary: str
    page: str

    @property
    def url(self) -> str:
        """Where the page is published."""
        return f"https://github.com/graphfix/graphfix/blob/main/docs/rules/{self.code}.md"


RULES: tuple[Rule, ...] = (
    Rule("GF101", "accumulated-graph", "a running total that keeps graphs", "# GF101 accumulated-graph\n"),
    Rule("GF201", "carried-state", "state that crosses the iteration with its graph", "# GF201 carried-state\n"),
    Rule("GF901", "legacy-scalar", "`loss.data[0]`", "# GF901 legacy-scalar\n"),
)
