"""What the analysis leaves behind is collected once there is much of it."""

from __future__ import annotations

import gc
import weakref

import pytest

from graphfix.run import collection
from graphfix.run.collection import uncollected


class Loop:
    def __init__(self):
        self.itself = self


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(collection, "MANY", 1_000)


def test_nothing_is_collected_in_the_block_and_collection_goes_on_behind_it():
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_block_inside_of_another_does_not_switch_collection_on():
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()


def test_what_a_block_left_behind_is_let_go_once_it_is_much(few):
    with uncollected():
        with uncollected(is_done=True):
            first = weakref.ref(Loop())
            kept = [[] for _ in range(2_000)]
        assert first() is None and kept


def test_collection_is_back_after_an_error():
    with pytest.raises(ValueError), uncollected():
        raise ValueError
    assert gc.isenabled()
