"""What gets into the fields of objects whose constructor Python writes, and what runs where one is made."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.analysis.flow.places import Sink
from graphfix.source.document import Document

ROW = """
from dataclasses import InitVar, dataclass, field, replace

@dataclass
class Row:
    step: int = 0
    loss: object = None

    def __post_init__(self):
        if self.loss is not None:
            self.loss.backward()

@dataclass
class Named(Row):
    name: str = ""

    def __post_init__(self):
        super().__post_init__()

@dataclass
class Late:
    step: int
    loss: InitVar[object] = None

    def __post_init__(self, loss):
        loss.backward()

@dataclass
class Counted:
    count: int = field(init=False, default=0)
    loss: object = None

first = Row()
value = make()
"""


def is_walked(use: str) -> bool:
    made = flow_of(Document("train.py", ROW + textwrap.dedent(use)), lambda name, document: None)
    tree = next(iter(made.code.documents))
    names = (part for part in ast.walk(tree) if isinstance(part, ast.Name) and part.id == "value" and isinstance(part.ctx, ast.Load))
    return any(arrival.sink is Sink.WALKED for arrival in made.graph.reach([next(names)]).arrivals)


@pytest.mark.parametrize(
    "use",
    [
        "Row(1, value)",
        "Row(loss=value)",
        "Named(1, value)",
        "Late(1, value)",
        "Late(1, loss=value)",
        "replace(first, loss=value)",
        "type(first)(1, value)",
        "list(map(Row, [1], [value]))",
        "Counted(value).loss.backward()",
        "Row(*(1, value))",
    ],
)
def test_what_is_given_for_a_field_is_there_where_the_object_is_made(use: str) -> None:
    assert is_walked(use)


@pytest.mark.parametrize("use", ["Row(value)", "Row(step=value)", "str(value)"])
def test_what_is_given_for_another_field_is_not(use: str) -> None:
    assert not is_walked(use)
