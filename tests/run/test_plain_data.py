"""Values as JSON and back: what comes back is what was written, and nothing that a file says becomes more than data."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from graphfix.autograd.health import Health
from graphfix.autograd.symptoms import Count, Raises, Warns
from graphfix.model import (
    AddArgument,
    Append,
    Applicability,
    Decorate,
    Delete,
    Edit,
    Finding,
    Fix,
    Ground,
    InsertAfter,
    InsertBefore,
    Label,
    Move,
    RemoveArgument,
    Replace,
    Severity,
    Span,
    Wrap,
)
from graphfix.run.engine import Analysis, Fault
from graphfix.run.plain_data import NotPlain, read, written
from graphfix.run.tellers import Plan
from graphfix.run.texts import Smallest, Told, Tried
from graphfix.run.unchanged import Care, Met
from graphfix.source.decode import decode
from graphfix.source.reads import State
from graphfix.source.text import Source

texts = some.text(max_size=8)
numbers = some.integers(0, 10**6)
spans = some.builds(Span, numbers, numbers, texts)
operations = some.one_of(
    some.builds(Append, spans, texts),
    some.builds(Replace, spans, texts),
    some.builds(AddArgument, spans, texts, texts),
    some.builds(RemoveArgument, spans, texts),
    some.builds(InsertBefore, spans, texts),
    some.builds(InsertAfter, spans, texts),
    some.builds(Delete, spans),
    some.builds(Move, spans, spans),
    some.builds(Wrap, some.lists(spans, max_size=3).map(tuple), texts),
    some.builds(Decorate, spans, texts, some.booleans()),
)
fixes = some.builds(
    Fix,
    some.sampled_from(Applicability),
    texts,
    some.lists(operations, max_size=3).map(tuple),
    some.sampled_from(Ground),
    texts,
    some.lists(texts, max_size=2).map(tuple),
)
symptoms = some.one_of(some.builds(Raises, texts, texts, texts), some.builds(Warns, texts, texts), some.sampled_from(Count))
findings = some.builds(
    Finding,
    texts,
    texts,
    texts,
    texts,
    spans,
    some.lists(some.builds(Label, texts, spans, texts, numbers), max_size=2).map(tuple),
    some.none() | fixes,
    some.sampled_from(Severity),
    some.booleans(),
    symptoms=some.lists(symptoms, max_size=2).map(tuple),
    yields_to=some.lists(some.tuples(texts, spans), max_size=2).map(tuple),
    another=some.none() | fixes,
)
states = some.none() | some.tuples(numbers, numbers, numbers)
paths = some.sampled_from([Path("/a/b.py"), Path("c d.py"), Path("/e\udcff.py")])
healths = some.builds(
    Health,
    some.lists(some.tuples(some.lists(numbers, max_size=2).map(tuple), some.booleans()), max_size=2).map(tuple),
    numbers,
    numbers,
    some.booleans(),
    numbers,
)
KINDS: Mapping[Any, some.SearchStrategy[Any]] = {
    Analysis: some.builds(
        Analysis,
        some.lists(findings, max_size=3).map(tuple),
        some.lists(findings, max_size=1).map(tuple),
        some.just(()),
        texts,
        some.none() | healths,
        some.lists(some.tuples(texts, texts, spans), max_size=2).map(tuple),
        numbers,
    ),
    tuple[bool, tuple[Met, ...]]: some.tuples(
        some.booleans(), some.lists(some.builds(Met, texts, states, some.sampled_from(Care), some.binary(max_size=33)), max_size=3).map(tuple)
    ),
    Told: some.builds(Told, some.lists(paths).map(tuple), some.lists(some.lists(paths, max_size=2).map(tuple), max_size=2).map(tuple), numbers, texts),
    Tried: some.builds(
        Tried, texts, some.booleans(), some.lists(fixes, max_size=2).map(tuple), some.lists(some.tuples(fixes, texts), max_size=2).map(tuple)
    ),
    Smallest: some.builds(Smallest, some.lists(some.builds(Edit, spans, texts), max_size=3).map(tuple)),
    Plan: some.builds(
        Plan,
        some.dictionaries(paths, some.lists(paths, max_size=2).map(tuple)),
        some.dictionaries(paths, some.lists(paths, max_size=2).map(tuple)),
        some.dictionaries(paths, texts),
    ),
    dict[str, State]: some.dictionaries(texts, states),
    int: numbers,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=some.data())
def test_what_is_written_is_read_again(kind: Any, data: some.DataObject) -> None:
    value = data.draw(KINDS[kind])
    assert read(kind, written(value)) == value


NOTEBOOK = {
    "cells": [{"cell_type": "code", "metadata": {}, "source": ["x = 1\n"], "outputs": [], "execution_count": None}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
SOURCES = {
    "train.py": b"x = 1\n",
    "old.py": b"\xef\xbb\xbfprint 'a'\r\nloss = f()\r\n",
    "latin.py": "# coding: latin-1\n# \xe9\n".encode("latin-1"),
    "train.ipynb": json.dumps(NOTEBOOK).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_of_any_sort_is_read_again(name: str) -> None:
    source = decode(Path(name), SOURCES[name])
    again = read(Source, written(source))
    assert again == source and type(again) is type(source) and again.data == source.data


json_values = some.recursive(
    some.none() | some.booleans() | numbers | texts | some.sampled_from(["Analysis", "Finding", "Span", "Fix", "SAFE", "Fault"]),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(texts, inner, max_size=2),
    max_leaves=12,
)


@given(json_values)
def test_whatever_a_file_says_is_of_the_kind_or_nothing(value: object) -> None:
    for kind, expected in (
        (Analysis, Analysis),
        (Plan, Plan),
        (Told, Told),
        (tuple[Source, tuple[Met, ...]], tuple),
        (dict[str, State], dict),
    ):
        try:
            assert type(read(kind, json.dumps(value).encode())) is expected
        except NotPlain:
            continue


DAMAGED = {
    "no JSON": b"\0\xff",
    "pickled": pickle.dumps(Analysis()),
    "too deep": b"[" * 100_000,
    "another class": b'["Path","x"]',
    "a class of Python": b'["type","x"]',
    "a field of another kind": b'["Analysis",[["Finding",1]]]',
    "too many fields": b'["Smallest",[],[]]',
    "no name": b"[]",
    "an error": b'["Analysis",[],[],[["Fault","GF101","x"]]]',
    "a number without end": b'["Told",[],[],1e999]',
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_what_is_damaged_is_nothing(data: bytes) -> None:
    with pytest.raises(NotPlain):
        read(Analysis if b"Smallest" not in data and b"Told" not in data else Smallest if b"Smallest" in data else Told, data)


@pytest.mark.parametrize(
    "value", [object(), Analysis(faults=(Fault("GF101", ValueError("x")),)), {1, 2}], ids=["object", "error", "set"]
)
def test_what_is_no_data_is_not_written(value: object) -> None:
    with pytest.raises(NotPlain):
        written(value)


def test_fields_that_are_as_by_default_take_no_room() -> None:
    assert json.loads(written(Analysis())) == ["Analysis"]
    assert json.loads(written(dataclasses.replace(Analysis(), steps=3)))[-1] == 3
