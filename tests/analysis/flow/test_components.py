"""What is gathered over graphs, against a search from each node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphfix.analysis.flow.components import Gathering, components, gathered

GRAPHS = st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=4), max_size=13)


def below(graph: dict[int, list[int]], node: int) -> set[int]:
    seen = {node}
    pending = [node]
    while pending:
        for each in graph.get(pending.pop(), ()):
            if each not in seen:
                seen.add(each)
                pending.append(each)
    return seen


@given(GRAPHS)
def test_each_node_gathers_what_a_search_from_it_finds(graph: dict[int, list[int]]) -> None:
    found = gathered(graph, lambda node: graph.get(node, ()), lambda node: (node,))
    for node in graph:
        assert set(found[node]) == below(graph, node)
        assert len(found[node]) == len(set(found[node]))


@given(GRAPHS)
def test_components_are_circles_in_order(graph: dict[int, list[int]]) -> None:
    done: set[int] = set()
    for members in components(graph, lambda node: graph.get(node, ())):
        assert all(set(members) == {each for each in below(graph, node) if node in below(graph, each)} for node in members)
        done.update(members)
        assert all(set(graph.get(node, ())) <= done for node in members)
    assert done == {each for node in graph for each in below(graph, node)}


def test_a_long_chain_is_no_deep_recursion() -> None:
    last = 50_000
    found = gathered([last], lambda node: (node - 1,) if node else (), lambda node: () if node else ("end",))
    assert found[last] == ("end",)
    assert found[last] is found[1]


@given(GRAPHS, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6))
def test_what_is_kept_while_a_graph_grows_is_what_is_found_anew(
    graph: dict[int, list[int]], added: list[tuple[int, int]]
) -> None:
    behind: dict[int, list[int]] = {}
    for node, others in graph.items():
        for each in others:
            behind.setdefault(each, []).append(node)
    before = lambda node: graph.get(node, ())
    # not all that is found stays: a node is its own only as long as nothing lies before it
    own = lambda node: () if graph.get(node) else (node,)
    kept = Gathering(before, lambda node: behind.get(node, ()), own)
    kept.gather(graph)
    for node, other in added:
        graph.setdefault(node, []).append(other)
        behind.setdefault(other, []).append(node)
        kept.forget([node])
        kept.gather(graph)
        anew = gathered(graph, before, own)
        assert {each: set(found) for each, found in kept.found.items()} == {each: set(found) for each, found in anew.items()}
