"""What the simulation takes the result of a function for by its row, where nothing that it is given is known to have a graph."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphfix.effects.schema import Returns, Row
from graphfix.interpreter.values import Constant, NonTensor, Tensor, Unknown, Value
from graphfix.models.python import by_row

SITE = ast.parse("f(x)").body[0].value  # type: ignore[attr-defined]


def made(returns: Returns, *arguments: Value, **fields: bool) -> Value | None:
    m = cast("Any", SimpleNamespace(record=lambda *given: None, now=lambda: 0))
    return by_row(m, Row("library.f", returns, **fields), list(arguments), {}, SITE)  # type: ignore[arg-type]


@pytest.mark.parametrize("returns", [Returns.MADE, Returns.ELEMENT, Returns.COPY, Returns.SEVERAL])
def test_what_is_computed_of_something_unknown_may_be_a_tensor(returns: Returns) -> None:
    assert isinstance(made(returns, Unknown(("x",))), Unknown)
    assert isinstance(made(returns, Constant(3)), NonTensor)


def test_what_never_has_a_graph_may_be_a_tensor_all_the_same() -> None:
    assert isinstance(made(Returns.CUT, Unknown(("x",))), Tensor)
    assert isinstance(made(Returns.NUMBER, Unknown(("x",))), NonTensor)


def test_what_keeps_may_hand_out_what_it_was_given_before() -> None:
    assert made(Returns.MADE, keeps=True) is None
    assert made(Returns.NUMBER, Unknown(("x",)), keeps=True) is None
    assert isinstance(made(Returns.NUMBER, Constant("a"), keeps=True), NonTensor)
