"""The page of each rule: its example is found by the rule, and what it says to use instead is not."""

from __future__ import annotations

import re

import pytest

from graphfix.codemods import RULES
from graphfix.codemods.base import Rule

from .toys import told


@pytest.fixture(params=RULES, ids=lambda rule: rule.code)
def rule(request: pytest.FixtureRequest) -> Rule:
    return request.param


def block(rule: Rule, section: str) -> str:
    (code,) = re.findall(rf"## {section}\n```python\n(.*?)```", rule.page, re.DOTALL)
    return code


def test_what_stands_before_an_example_is_right() -> None:
    assert told("loss = model(x).mean()\nloss.backward()\n") == set()


def test_the_example_is_found(rule: Rule) -> None:
    assert rule.code in told(block(rule, "Example"))


def test_what_to_use_instead_is_right(rule: Rule) -> None:
    """Nothing at all is told of it, by this rule or by another."""
    assert told(block(rule, "Use instead")) == set()


def test_what_to_use_instead_is_whole(rule: Rule) -> None:
    """A part of a program would be right because nothing of it is understood: it is as long as the example, or nearly."""
    example, instead = (len(block(rule, section).splitlines()) for section in ("Example", "Use instead"))
    assert instead >= example - 2
