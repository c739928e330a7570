"""What is followed state by state, against a search that keeps each state as what it says, and looks at all ways at once."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

import pytest

from graphfix.analysis.flow.following import Following, past
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import (
    COMPUTED,
    ITSELF,
    Arrival,
    Field,
    Held,
    Kind,
    Part,
    Place,
    Result,
    Sink,
    after,
    deeper,
    taken_out,
)

State = tuple[Place, Part, bool, "ast.Call | None"]
KEYS = (None, None, 0, "a", ".x")


def made(seed: int) -> tuple[FlowGraph, list[ast.expr]]:
    """A small graph of any kind of edges, with ends."""
    chance = random.Random(seed)
    program = "\n".join(f"n{index}.x; f{index}(n{index})" for index in range(8))
    nodes = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.expr)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    graph = FlowGraph()
    for _ in range(chance.randint(8, 60)):
        source, target = chance.choices(nodes, k=2)
        kind = chance.choice([Kind.SAME, Kind.SAME, Kind.SAME, Kind.IN, Kind.IN, Kind.OUT, Kind.OUT, *Kind])
        key = chance.choice(KEYS) if kind in (Kind.IN, Kind.OUT) else None
        call = chance.choice([None, *calls[:3]]) if kind is Kind.SAME else None
        graph.add(source, target, kind, key, chance.random() < 0.2, call, call is not None and chance.random() < 0.5)
    for place in chance.sample(nodes, 6):
        graph.end(place, chance.choice(list(Sink)), place)
    graph.opaque.update((place, place) for place in chance.sample(nodes, 3))
    graph.add(nodes[0], Field("x"), Kind.SAME) if chance.random() < 0.5 else None
    return graph, nodes


def searched(
    graph: FlowGraph, starts: list[Place], held: list[Place], without: set[Place], numbers: bool, objects: bool, most: int
):
    pending: list[State] = [(start, ITSELF, False, None) for start in starts]
    pending += [(holder, Held(None, 1, True), False, None) for holder in held]
    seen: dict[State, None] = {}
    told: set[Arrival] = set()
    while pending:
        place, part, crossed, caller = state = pending.pop()
        if state in seen or place in without:
            continue
        if len(seen) > most:
            told.add(Arrival(Sink.ESCAPES, None, True))  # type: ignore[arg-type]
            break
        if (place, part, crossed, None) in seen:
            continue
        seen[state] = None
        told.update(Arrival(sink, site, crossed) for sink, site in graph.sinks.get(place, ()))
        if part is not ITSELF and place in graph.opaque:
            told.add(Arrival(Sink.ESCAPES, graph.opaque[place], True))
        for target, kind, key, crosses, call, leaves in graph.edges.get(place, ()):
            if leaves and caller is not None and caller is not call or objects and kind in COMPUTED:
                continue
            via = caller if call is None and not crosses else None if leaves or crosses else call
            pending.extend((target, there, crossed or crosses, via) for there in after(kind, key, part, numbers))
        if part is not ITSELF and part.back:
            pending.extend(aliases(graph, state))
    return list(seen), told


def aliases(graph: FlowGraph, state: State) -> Iterator[State]:
    place, part, crossed, caller = state
    assert part is not None
    for source, edge in graph.values.get(place, {}).items():
        if edge.call is None or edge.leaves or caller is None or caller is edge.call:
            via = caller if edge.call is None and not edge.crosses else edge.call if edge.leaves else None
            yield source, part, crossed, via
    for source, edge in graph.taken_from.get(place, {}).items():
        yield source, Held(edge.key, deeper(part.depth), True), crossed, caller
    for source, edge in graph.parts_of.get(place, {}).items() if isinstance(place, Result) else ():
        for taken in taken_out(part, edge.key) if part.depth > 1 else ():
            if taken is not None:
                yield source, taken._replace(back=True), crossed, caller
    if isinstance(place, ast.Attribute) and Field(place.attr) not in graph.values:
        yield place.value, Held(f".{place.attr}", deeper(part.depth), True), crossed, caller


@pytest.mark.parametrize("seed", range(60))
def test_the_same_states_are_met_in_the_same_order(seed: int) -> None:
    graph, nodes = made(seed)
    chance = random.Random(-seed)
    following = Following(graph)
    for _ in range(6):
        starts, held = chance.sample(nodes, 3), chance.sample(nodes, chance.randint(0, 1))
        without = set(chance.sample(nodes, chance.randint(0, 2)))
        numbers, objects = chance.random() < 0.5, chance.random() < 0.3
        most = chance.choice([5, 40, 10_000])
        states, told = following.follow(starts, held, without, past(numbers, not objects), most)
        expected, met = searched(graph, starts, held, without, numbers, objects, most)
        places: dict[tuple[Place, Part], bool] = {}
        for place, part, crossed, _ in expected:
            places[place, part] = crossed or places.get((place, part), False)
        assert list(following.places_of(states).items()) == list(places.items())
        assert len(states) == len(expected)
        assert {each._replace(site=None) if isinstance(each.site, ast.Pass) else each for each in told} == met  # type: ignore[arg-type]


def test_what_is_added_later_is_followed() -> None:
    first, second, third = (ast.Name(name, ast.Load(), lineno=1, col_offset=0) for name in "abc")
    graph = FlowGraph()
    graph.add(first, second, Kind.SAME)
    assert not graph.reach([first]).arrivals
    graph.add(second, third, Kind.SAME)
    graph.end(third, Sink.WALKED, third)
    assert [arrival.site for arrival in graph.reach([first]).arrivals] == [third]
    graph.answers.clear()
    graph.end(first, Sink.ASKED, first)
    assert {arrival.sink for arrival in graph.reach([first]).arrivals} == {Sink.ASKED, Sink.WALKED}
