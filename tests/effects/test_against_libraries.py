"""The differential test of the rows: each function is called with tensors that have a graph, and does what its row says.

What is not installed here, writes to what it is given, or has a reason under `not_called` is not called.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import importlib
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graphfix.effects.rows import Returns, Row, row_of, rows_in

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

ROWS = [
    row
    for file in ("python.toml", "numpy.toml")
    for row in rows_in(file).values()
    if not (row.not_called or row.writes or row.of_class)
]
DEEP = 5


def arguments() -> Iterator[tuple[Any, ...]]:
    """What functions are given: numbers, rows and containers of tensors, each with a graph."""
    number = torch.tensor(0.5, requires_grad=True) * 1.0
    row = torch.tensor([0.3, 0.6, 0.2], requires_grad=True) * 1.0
    numbers, rows = [number, number * 2], [row, row * 2]
    yield from ((number,), (row,), (numbers,), (rows,), (number, number * 2), (row, row * 2), (number, number * 2, number * 3))
    yield from ((row, 0), (row, 0, 0), (row, 1), (numbers, number * 3), (numbers, 1), (rows, 1), (1, number), (0, number, 1))
    yield from ((lambda *given: given[0], numbers), (number, "real"))


def function_of(name: str) -> Callable[..., Any] | None:
    """The function of a full name; None where it is not installed."""
    module, *path = name.split(".")
    found: Any = builtins if module == "builtins" else importlib.import_module(module)
    for number, part in enumerate(path):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([module, *path[: number + 1]]))
            except ImportError:
                return None
        found = getattr(found, part, None)
    return found if callable(found) else None


def results_of(name: str) -> list[tuple[tuple[Any, ...], Any]]:
    """What a function gives for the arguments that it takes."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are on their way out
        function = function_of(name)
    for given in arguments() if function is not None else ():
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append((given, function(*given)))
    return found


def tensors_in(value: Any, depth: int = DEEP) -> Iterator[Any]:
    """The tensors with a graph in a result, also of those that an iterator gives."""
    if isinstance(value, torch.Tensor):
        yield from [value] if value.requires_grad else ()
    elif isinstance(value, dict):
        yield from (each for part in (*value.keys(), *value.values()) for each in tensors_in(part, depth - 1) if depth)
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)) or hasattr(value, "__next__"):
        with contextlib.suppress(Exception):
            parts = list(itertools.islice(value, 6))
            yield from (each for part in parts for each in tensors_in(part, depth - 1) if depth)


@pytest.fixture(autouse=True)
def same_numbers() -> Iterator[None]:
    """What is drawn, or set, by one function is so for no other test."""
    import random

    state = random.getstate(), numpy.random.get_state(), numpy.geterr()
    yield
    random.setstate(state[0])
    numpy.random.set_state(state[1])
    numpy.seterr(**state[2])


@pytest.mark.parametrize("row", [row for row in ROWS if row.gives_no_graph], ids=lambda row: row.name)
def test_what_gives_no_graph_gives_none(row: Row) -> None:
    assert not [given for given, made in results_of(row.name) if list(tensors_in(made))]


@pytest.mark.parametrize("row", [row for row in ROWS if row.gives_no_tensor], ids=lambda row: row.name)
def test_what_gives_no_tensor_gives_none(row: Row) -> None:
    assert not [given for given, made in results_of(row.name) if isinstance(made, torch.Tensor) and made.requires_grad]


@pytest.mark.parametrize("row", [row for row in ROWS if row.returns in (Returns.CONTENTS, Returns.PAIRS)], ids=lambda row: row.name)
def test_what_holds_contents_holds_the_very_objects(row: Row) -> None:
    held = [(given, list(tensors_in(made))) for given, made in results_of(row.name) if any(isinstance(each, list) for each in given)]
    of_lists = [(each, found) for given, found in held for each in given if isinstance(each, list) and found]
    assert of_lists
    assert all(any(one is other for other in each) for each, found in of_lists for one in found)


# whole libraries were once taken for such as give numbers
@pytest.mark.parametrize("name", ["math.prod", "random.uniform", "random.triangular", "random.choice", "reversed", "numpy.squeeze", "numpy.swapaxes"])
def test_what_hands_a_graph_through_is_said_to(name: str) -> None:
    row = row_of(name)
    assert row is not None and not row.gives_no_graph
    assert any(list(tensors_in(made)) for _, made in results_of(row.name))
