"""Deep calls take memory for their frames once."""

from __future__ import annotations

import resource

import pytest

from graphfix.run.stack import with_room


def down(depth: int) -> None:
    """Calls at every depth, so that each end of a chunk of frames is crossed many times."""
    for _ in range(10):
        (lambda: abs(depth))()
    if depth:
        down(depth - 1)


def asked_for() -> int:
    """How often a page of memory that was not there was used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_frames_do_not_ask_for_memory_again_and_again() -> None:
    with_room(lambda: down(600))  # what it takes at first is no matter
    before = asked_for()
    with_room(lambda: [down(600) for _ in range(20)])
    assert asked_for() - before < 200


def test_the_answer_and_what_is_raised_come_through() -> None:
    assert with_room(lambda: 3) == 3
    with pytest.raises(IndexError):
        with_room(lambda: [].pop())
