"""The libcst command of a rule, with an engine that finds every bare name `loss` in a sum."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import libcst as cst
import pytest
from libcst.codemod import CodemodContext

from graphfix.model import Append, Applicability, Finding, Fix, Span
from graphfix.rewrite.command import RuleCommand


class Total(RuleCommand):
    CODE = "GF101"


def found(text: str, code: str, applicability: Applicability) -> list[Finding]:
    start = text.encode().find(b"+= loss\n")
    if start < 0:
        return []
    span = Span(start + 3, start + 7)
    return [Finding(code, "total", "", "x.py", span, fix=Fix(applicability, "t", (Append(span, ".item()"),)))]


def finds(code: str, applicability: Applicability) -> Callable[..., list[Finding]]:
    def findings_of(path: Path, text: str, roots: tuple[Path, ...], counts: Callable[[Finding], bool]) -> list[Finding]:
        return list(filter(counts, found(text, code, applicability)))

    return findings_of


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("graphfix.run.engine")

    module.findings_of = finds("GF101", Applicability.SAFE)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "graphfix.run.engine", module)
    return module


def changed(text: str) -> str:
    return Total(CodemodContext(filename="x.py")).transform_module(cst.parse_module(text)).code


def test_fixes_are_applied_until_none_is_left(engine: ModuleType) -> None:
    assert changed("total += loss\nmean += loss\n") == "total += loss.item()\nmean += loss.item()\n"


def test_other_rules_are_left_alone(engine: ModuleType) -> None:
    engine.findings_of = finds("GF102", Applicability.SAFE)  # type: ignore[attr-defined]
    assert changed("total += loss\n") == "total += loss\n"


def test_unsafe_fixes_are_left_alone(engine: ModuleType) -> None:
    engine.findings_of = finds("GF101", Applicability.UNSAFE)  # type: ignore[attr-defined]
    assert changed("total += loss\n") == "total += loss\n"
