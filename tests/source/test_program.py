"""The files of one program: each question about a node is its own file's to answer."""

from __future__ import annotations

import ast

import pytest

from graphfix.model import Span
from graphfix.source.document import Document
from graphfix.source.program import Program

MAIN, METER, ALONE = (
    Document(name, text)
    for name, text in {
        "main.py": "import meters\nmeters.put(1)\n",
        "meters.py": "class Meter:\n    def put(self, x):\n        self.sum = x\n",
        "alone.py": "x = 1\n",
    }.items()
)
PROGRAM = Program(MAIN, lambda: [METER])
TARGET = next(node for node in ast.walk(METER.tree) if isinstance(node, ast.Attribute))
CALL = next(node for node in ast.walk(MAIN.tree) if isinstance(node, ast.Call))


def test_a_span_in_another_file_carries_its_path_and_leads_back() -> None:
    span = PROGRAM.span(TARGET)
    assert span == Span(METER.span(TARGET).start, METER.span(TARGET).end, "meters.py")
    assert TARGET in PROGRAM.lying_at(span)
    assert PROGRAM.span(CALL).path == "" and CALL in PROGRAM.lying_at(PROGRAM.span(CALL))
    assert PROGRAM.placed("meters.py", METER.span(TARGET)) == span
    assert PROGRAM.placed("main.py", MAIN.span(CALL)) == MAIN.span(CALL)


def test_what_stands_around_a_node_is_found_in_its_file() -> None:
    statement = PROGRAM.statement_of(TARGET)
    assert isinstance(statement, ast.Assign) and PROGRAM.source(statement) == "self.sum = x"
    assert PROGRAM.parent(TARGET) is statement
    assert PROGRAM.enclosing(TARGET, (ast.ClassDef,)) is METER.tree.body[0]
    assert PROGRAM.tree_of(TARGET) is METER.tree
    assert PROGRAM.block_of(statement) == [statement]


def test_what_stands_in_no_file_of_it_is_not_held() -> None:
    other = ALONE.tree.body[0]
    assert not PROGRAM.holds(other) and PROGRAM.parent(other) is None
    assert PROGRAM.holds(METER.tree) and PROGRAM.is_main(CALL) and not PROGRAM.is_main(TARGET)
    with pytest.raises(KeyError):
        PROGRAM.file_of(other)


def test_an_attribute_of_self_is_called_by_its_class_in_another_file() -> None:
    assert PROGRAM.name_at(TARGET, TARGET) == "self.sum"
    assert PROGRAM.name_at(TARGET, CALL) == "Meter.sum"


def test_only_in_one_file_does_one_thing_stand_before_another() -> None:
    assert PROGRAM.is_first(MAIN.tree.body[0], MAIN.tree.body[1])
    assert not PROGRAM.is_first(METER.tree.body[0], MAIN.tree.body[1])
