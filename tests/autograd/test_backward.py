"""Backward passes over graphs built by hand: what they free, and what they meet."""

from __future__ import annotations

import pytest

from graphfix.autograd.backward import raises_again
from graphfix.autograd.graph import Leaf, Storage, Write

from .graphs import HERE, backward, node


def test_a_second_backward_meets_what_the_first_has_freed() -> None:
    shared = node(Leaf("w"))
    first, second = node(shared), node(shared)
    assert backward(first).hits == []
    (hit,) = backward(second).hits
    assert hit.node is shared and hit.path == (second, shared) and hit.certain


def test_what_saves_nothing_can_be_walked_twice() -> None:
    summed = node(Leaf("w"), saves=False)
    backward(summed)
    assert backward(summed).hits == []


def test_a_retained_graph_can_be_walked_again_and_is_freed_by_the_last() -> None:
    root = node(Leaf("w"))
    backward(root, retain=True)
    last = backward(root)
    assert last.hits == [] and root.freed_by is last
    assert backward(root).hits


def test_torch_raises_at_the_first_freed_node_and_reaches_nothing_below() -> None:
    bottom = node(Leaf("w"))
    top = node(bottom)
    backward(top)
    again = backward(top)
    assert [hit.node for hit in again.hits] == [top] and bottom not in again.nodes


def test_a_pass_to_some_inputs_frees_what_lies_between_only() -> None:
    features = node(Leaf("w"))
    head = Leaf("head")
    first, second = node(features, head), node(features, head)
    backward(first, inputs=(head,))
    assert features.freed_by is None
    assert backward(second).hits == []


def test_inputs_that_no_path_leads_to_free_nothing() -> None:
    root = node(Leaf("w"))
    assert backward(root, inputs=(Leaf("other"),)).nodes == []


def test_a_step_makes_what_was_saved_stale() -> None:
    weight = Leaf("w")
    root = node(weight)
    weight.version += 1
    (stale,) = backward(root).stale
    assert stale.node is root and stale.leaf is weight


def test_a_sum_over_a_stepped_leaf_is_not_stale() -> None:
    weight = Leaf("w")
    root = node(weight, saves=False)
    weight.version += 1
    assert backward(root).stale == []


def test_a_write_to_a_saved_tensor_is_met_with_its_place() -> None:
    root, storage = node(Leaf("w")), Storage()
    root.saved = ((storage, storage.version),)
    storage.writes.append(Write(HERE, (), 1, None, ()))
    storage.version += 1
    assert [met.write for met in backward(root).overwritten] == storage.writes


def test_a_path_through_the_unknown_is_not_certain() -> None:
    shared = node(Leaf("w"))
    backward(node(shared))
    (hit,) = backward(node(node(shared, certain=False))).hits
    assert not hit.certain


@pytest.mark.parametrize("saves", [True, False])
def test_what_a_further_walk_raises_on(saves: bool) -> None:
    shared = node(Leaf("w"), saves=saves)
    backward(node(shared))
    assert raises_again(node(shared, saves=False), lambda step: True) is saves
    assert not raises_again(node(shared), lambda step: False)
