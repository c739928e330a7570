"""What the rules, and single fixtures beside their scripts, declare of the runs of a repair."""

from __future__ import annotations

from collections.abc import Collection

from graphfix.autograd.symptoms import SECOND_WALK, Symptom
from graphfix.codemods import RULES
from graphfix.settings.toml import BadToml, loads
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes
from graphfix.verify.cases import Case
from graphfix.verify.expected import SAME, Expected

BY_CODE = {rule.code: rule for rule in RULES}


class BadExpected(Exception):
    """A file beside a fixture that does not say what is expected."""


def shows(code: str) -> tuple[Symptom, ...]:
    """How the faults of a rule show; of a code that no rule has, as most do."""
    rule = BY_CODE.get(code)
    return rule.shows if rule is not None else (SECOND_WALK,)


def expected(case: Case) -> Expected:
    """What is expected of the results of a case: what its own `expected.toml` says, or its rule."""
    if case.expected.is_file():
        try:
            return Expected(**loads(read_bytes(case.expected).decode()))
        except (SourceError, BadToml, TypeError, ValueError) as error:
            raise BadExpected(f"{case.expected}: {error}") from error
    rule = BY_CODE.get(case.code)
    return rule.results if rule is not None else SAME


def joins_walks(codes: Collection[str]) -> bool:
    """Whether repairs of these rules join, drop or add walks: what is printed and the parameters decide, not the single walks."""
    return any(rule.results.joins for code, rule in BY_CODE.items() if code in codes)
