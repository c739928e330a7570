"""Graphs built by hand: what lies below what."""

from __future__ import annotations

from graphfix.autograd.graph import Leaf, history, reaches

from .graphs import node


def test_history_holds_each_node_once_roots_first() -> None:
    bottom = node(Leaf("w"))
    left, right = node(bottom), node(bottom)
    top = node(left, right)
    assert history([top]) == [top, left, right, bottom]
    assert reaches([top], {bottom}) and not reaches([left], {right})
