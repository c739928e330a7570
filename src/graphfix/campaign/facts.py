"""What a campaign knows of a repository besides its stage: each fact by its name, of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fits = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _all(value: Any, fits: Fits) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_commit(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values())) and {"id", "subject"} <= value.keys()


KINDS: Mapping[str, Fits] = {
    **dict.fromkeys(("base", "branch", "commit", "link", "pushed", "tip"), _is_text),
    **dict.fromkeys(("files", "fixable", "lines", "unfinished"), _is_number),
    **dict.fromkeys(("checked", "only"), lambda value: _all(value, _is_text)),
    "commits": lambda value: _all(value, _is_commit),
    "findings": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "worst": lambda value: _all(value, lambda each: isinstance(each, list) and len(each) == 2 and _is_text(each[0]) and _is_number(each[1])),
}


def misread(facts: Mapping[str, Any]) -> str:
    """The name of a fact that is of another kind than what a campaign keeps; empty where all are as they should be."""
    return next((name for name, value in facts.items() if name in KINDS and not KINDS[name](value)), "")
