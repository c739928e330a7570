"""Questions about values that may be made of themselves, as in `n = n + 1`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

Owner = TypeVar("Owner")
Asked = TypeVar("Asked")


def true_of_itself(question: Callable[[Owner, Asked], bool]) -> Callable[[Owner, Asked], bool]:
    """What is true of a value if it is true of all that the value is made of.

    Where the question comes back to a value that is being asked about, it is true of that one as far as it is of all others: the
    greatest fixed point, as in Pierce, "Types and Programming Languages" (2002), chapter 21.
    """
    asked: set[tuple[int, Asked]] = set()

    @functools.wraps(question)
    def answer(owner: Owner, value: Asked) -> bool:
        key = id(owner), value
        if key in asked:
            return True
        asked.add(key)
        try:
            return question(owner, value)
        finally:
            asked.remove(key)

    return answer
