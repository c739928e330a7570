"""Random programs do the same under the executor as under CPython: their trace, their result and what they raise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings

from .executor.modules import run_module
from .executor.random_programs import programs

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def by_python(text: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "<program>", "exec"), namespace)
    return namespace


def compare(text: str) -> None:
    try:
        expected = by_python(text)
    except SyntaxError:  # such as a name that a pattern binds, and that is declared later
        return
    note(text)
    got = run_module(text, "program")
    assert shown(got["result"]) == shown(expected["result"])
    assert shown(got["trace"]) == shown(expected["trace"])


def shown(value: object) -> str:
    return repr(value)


@settings(max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
@given(programs())
def test_programs_do_the_same(text: str) -> None:
    compare(text)


@settings(max_examples=70, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
@given(programs(yields=True))
def test_generators_do_the_same(text: str) -> None:
    compare(text)


@pytest.mark.parametrize("yields", [False, True])
def test_most_programs_are_no_syntax_errors(yields: bool) -> None:
    """The comparison says something: programs run, and they reach most kinds of statements."""
    seen: list[bool] = []

    @settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
    @given(programs(yields=yields))
    def look(text: str) -> None:
        try:
            seen.append(len(by_python(text)["trace"]) > 3)
        except SyntaxError:
            seen.append(False)

    look()
    assert sum(seen) > len(seen) / 2
