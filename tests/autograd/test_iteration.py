"""Which loop parts two moments of a run."""

from __future__ import annotations

from graphfix.autograd.iteration import LoopEntry, split_loop


def test_iterations_part_at_the_outermost_loop() -> None:
    epochs, steps = LoopEntry(None, None), LoopEntry(None, None)
    assert split_loop(((epochs, 0), (steps, 1)), ((epochs, 1), (steps, 1))) == 0
    assert split_loop(((epochs, 0), (steps, 0)), ((epochs, 0), (steps, 1))) == 1
    assert split_loop(((epochs, 0),), ((LoopEntry(None, None), 1),)) is None
    assert split_loop(((epochs, 0),), ((epochs, 0),)) is None
