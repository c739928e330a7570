"""What a shell offers where the code or the name of a rule is typed."""

from __future__ import annotations

from collections.abc import Iterator


def one_rule(incomplete: str) -> list[tuple[str, str]]:
    """The codes and names that begin with what is typed, each with what its rule finds."""
    # what is typed stays as it is typed: shells take nothing else for its completion
    return [
        (incomplete + word[len(incomplete) :], text) for word, text in _words() if word.lower().startswith(incomplete.lower())
    ]


def rules(incomplete: str) -> list[tuple[str, str]]:
    """The same behind the last comma, without those that are typed already."""
    from graphfix.run.selection import ALL

    before, comma, last = incomplete.rpartition(",")
    typed = set(before.lower().split(","))
    offered = [*one_rule(last), *([(ALL, "all rules")] if ALL.startswith(last.upper()) else [])]
    return [(before + comma + word, text) for word, text in offered if word.lower() not in typed]


def _words() -> Iterator[tuple[str, str]]:
    from graphfix.codemods import RULES

    for rule in RULES:
        yield rule.code, rule.summary
    for rule in RULES:
        yield rule.name, rule.summary
