"""Keys: equal ones are one object, so that what is computed from a value many times over costs no more than once."""

from __future__ import annotations

import pytest

from graphfix.interpreter.interning import MAX_DEPTH, Key, interned, kind_of, mentions
from graphfix.interpreter.values import NonTensor


def test_equal_keys_are_one_object() -> None:
    one = interned(("max", "x", ("min", "x", 3)))
    assert one is interned(("max", "x", ("min", "x", 3)))
    assert one is not interned(("max", "x", ("min", "x", 4)))


def test_what_is_no_tuple_stands_for_itself() -> None:
    assert interned("x") == "x"
    assert kind_of("x") is None and kind_of(interned(())) is None


def test_a_key_says_what_was_done() -> None:
    assert kind_of(interned(("numpy.mean", 1))) == "numpy.mean"


def test_a_key_that_holds_another_twice_is_no_larger() -> None:
    key = interned(("x",))
    for _ in range(50):
        key = interned(("max", key, key))
    again = interned(("x",))
    for _ in range(50):
        again = interned(("max", again, again))
    assert key is again
    assert len(repr(key)) < 100


def test_beyond_a_depth_nothing_is_known() -> None:
    def nested() -> object:
        key = interned(("x",))
        for _ in range(MAX_DEPTH):
            key = interned(("-", key))
        return key

    one, two = nested(), nested()
    assert isinstance(one, Key) and one.depth <= MAX_DEPTH
    assert one is not two


def test_the_same_question_gets_the_same_key() -> None:
    value = NonTensor(("len", 7))
    assert NonTensor(("<", value.key, 3)).key is NonTensor(("<", value.key, 3)).key


def test_what_a_value_was_computed_from_is_found_up_to_a_depth() -> None:
    key = interned(("counter", 1))
    for _ in range(4):
        key = interned(("+", key, key))
    assert mentions(key, "counter", depth=4)
    assert not mentions(key, "counter", depth=3)
    assert not mentions("counter", "counter", depth=4)


@pytest.mark.parametrize("parts", [(True, 1), (1.0, 1)])
def test_numbers_that_python_takes_for_equal_are_equal(parts: tuple[object, object]) -> None:
    assert interned(("x", parts[0])) is interned(("x", parts[1]))
