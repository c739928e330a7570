"""Calls are linked in rounds, each of which looks only at what the one before has changed: all is found that a look at everything finds."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.callables import Callables
from graphfix.analysis.flow.components import gathered
from graphfix.analysis.flow.entrances import Entrances
from graphfix.analysis.flow.flow import Flow, flow_of, public
from graphfix.source.document import Document

PROGRAMS = {
    "functions that come out of functions": """
        def outer(make):
            def inner(loss):
                return make(loss)
            return inner
        def walk(loss):
            loss.backward()
        def choose(flag):
            return outer(walk) if flag else outer(choose)
        table = {"walk": choose(True), "other": [choose]}
        for entry in table["other"]:
            table["walk"](entry(False))
        list(map(choose(True), [value]))
        """,
    "modules in containers": """
        import torch
        class Head(torch.nn.Module):
            def __init__(self, inner):
                self.inner = inner
            def forward(self, x):
                return self.inner(x)
        class Tail(torch.nn.Module):
            def forward(self, x):
                return x * 2
            def __getitem__(self, index):
                return self
        class Later(Tail):
            def __call__(self, x):
                return x
        def build(parts):
            made = torch.nn.Sequential(*[make() for make in parts])
            return torch.nn.Sequential(Head(made), Tail()[0], Later())
        net = build([Tail, lambda: Head(Tail())])
        nets = [net, Head(net), Head(Head(net))]
        for each in nets:
            loss = each(value).sum()
            each.step = net
            each.step(loss)
        """,
    "methods of what travels": """
        class Node:
            def __init__(self, parent):
                self.parent = parent
                self.hooks = []
            def add(self, hook):
                self.hooks.append(hook)
                return self
            def run(self, value):
                for hook in self.hooks:
                    value = hook(value)
                return self.parent.run(value) if self.parent else value
        root = Node(None)
        leaf = Node(root).add(lambda value: value.backward())
        root.add(leaf.run).add(unknown(leaf))
        current = leaf
        while current:
            current.run(value)
            current = current.parent
        unknown(root.run, key=lambda each: each)
        """,
}


@pytest.fixture(params=PROGRAMS)
def flow(request: pytest.FixtureRequest) -> Flow:
    text = textwrap.dedent(PROGRAMS[request.param])
    document = Document("train.py", text)
    return flow_of(document, lambda name, importing: None, offers={document: list(public(document.tree))})


def test_objects_begin_where_they_begin(flow: Flow) -> None:
    graph = flow.graph
    anew = gathered(graph.values, graph.brought, lambda place: () if graph.values.get(place) else (place,))
    assert graph.beginnings == anew


def test_calls_enter_what_they_may_enter(flow: Flow) -> None:
    calls = flow.calls
    anew = Callables(flow.code, calls.methods, calls.library_calls)
    kept = {call: set(callees) for call, callees in calls.callables.of(calls.unknown).items()}
    assert kept == {call: set(callees) for call, callees in anew.of(calls.unknown).items()}
    assert calls.unknown


def test_objects_are_of_their_classes(flow: Flow) -> None:
    methods = flow.calls.methods
    receivers = {call: call.func.value for call in flow.code.calls if isinstance(call.func, ast.Attribute)}
    anew = gathered(receivers.values(), methods.before, methods.said_of)
    kept = methods.origins_of(receivers)
    assert {call: set(found.classes) for call, found in kept.items()} == {
        call: {each for each in anew[place] if isinstance(each, ast.ClassDef)} for call, place in receivers.items()
    }


def test_parts_are_entered_from_outside(flow: Flow) -> None:
    entrances: Entrances = flow.calls.callables.entrances
    entrances.changed()
    made_of = flow.graph.made_of
    anew = gathered(made_of, lambda place: made_of.get(place, ()), entrances.own)
    assert {place: set(entrances.below(place)) for place in made_of} == {place: set(anew[place]) for place in made_of}


def test_a_round_more_changes_nothing(flow: Flow) -> None:
    size, targets = flow.graph.size, {call: list(entered) for call, entered in flow.calls.targets.items()}
    calls = flow.calls
    for known in (calls.called_back, calls.led_to, calls.opened, calls.linked, calls.methods.linked, calls.methods.handled):
        known.clear()
    calls.settle(last=True)
    assert flow.graph.size == size
    assert {call: list(entered) for call, entered in calls.targets.items()} == targets
