"""Code objects as text."""

from __future__ import annotations

from graphfix.ir.printer import shown

from .lowering_of import codes, module


def text(source: str) -> str:
    return "\n".join("\n".join(shown(code)) for code in codes(source))


def test_lines_values_variables_and_targets_are_shown() -> None:
    told = list(shown(module("x = 1\nif x: f(x, *y, k='s')")))
    assert told[0] == "code <module>()"
    assert told[1].strip() == "b0:"
    assert "Constant 1" in told[2] and told[2].split()[0] == "1"
    assert "WriteName x:global %0" in told[3]
    assert any("Branch %1 yes=b1 no=b2" in line for line in told)
    assert any("Call %2 (%3, *%4, k=%5)" in line for line in told)


def test_headers_and_handlers_are_shown() -> None:
    told = text("while a:\n    try: b\n    except C: d")
    assert "header of While" in told
    assert "errors to b" in told
    assert " handling %" in told


def test_functions_are_shown_with_their_parameters() -> None:
    assert "code f(a, b)" in text("def f(a, *b): pass")
