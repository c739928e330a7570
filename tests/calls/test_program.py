"""Files of a program: lowered once, found by the names that import them, and asked who binds a name."""

from __future__ import annotations

import pytest

from graphfix.calls import program as program_module
from graphfix.calls.program import Program
from graphfix.source.document import Document

from .programs import graph_of


def test_a_module_is_taken_in_once_however_it_is_named() -> None:
    inner = Document("inner.py", "x = 1\n")
    program = Program(Document("main.py", ""), lambda name, importing: inner)
    assert program.module("inner", program.main) is program.module(".inner", program.main)
    assert len(program.files) == 2


def test_there_is_no_room_for_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "MAX_FILES", 2)
    documents = {name: Document(f"{name}.py", f"{name} = 1\n") for name in ("a", "b")}
    program = Program(Document("main.py", ""), lambda name, importing: documents.get(name))
    assert program.module("a", program.main) is not None
    assert program.module("b", program.main) is None
    assert program.module("a", program.main) is not None


def test_a_long_module_counts_by_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "MAX_LENGTH", 10)
    program = Program(Document("main.py", ""), lambda name, importing: Document("a.py", "x = 'a long text'\n"))
    assert program.module("a", program.main) is None


def test_all_that_binds_a_global_name_is_known_also_in_functions() -> None:
    file = graph_of("x = 1\ndef f():\n    global x\n    x = 2\ndef g():\n    x = 3\n").program.main
    variable = file.variable("x")
    assert variable is not None
    assert [code.name for code, _ in file.binders(variable)] == [file.module.name, "f"]


def test_a_name_of_a_closure_is_bound_by_those_that_declare_it() -> None:
    file = graph_of("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    return g\n").program.main
    inner = file.lowered.nodes()[-1]
    assert len(file.binders(file.lowered.scopes[inner].variable("x"))) == 2


def test_code_that_is_not_lowered_may_bind_a_name() -> None:
    file = graph_of("x = None\ntry:\n    pass\nexcept* ValueError:\n    x = 1\n").program.main
    variable = file.variable("x")
    assert variable is not None and not file.is_imported(variable)
    assert [type(each).__name__ for _, each in file.binders(variable)] == ["WriteName", "Opaque"]


def test_members_of_a_class_and_the_class_of_a_method() -> None:
    file = graph_of("class A:\n    x = 1\n    def f(self):\n        def g(): pass\n").program.main
    (cls,) = file.classes
    method = cls.body[1]
    assert file.member(cls, "x") is not None and file.member(cls, "y") is None
    assert file.class_around(method) is cls
    assert file.class_around(method.body[0]) is None  # type: ignore[attr-defined]
    assert file.class_of_method(method.body[0]) is cls  # type: ignore[attr-defined]


def test_attributes_that_are_set_calls_and_stars_are_indexed() -> None:
    file = graph_of("from m import *\nself.x = f(1)\n").program.main
    assert list(file.attribute_writes) == ["x"]
    assert len(file.calls) == 1
    assert [star.module for star in file.star_imports] == ["m"]
