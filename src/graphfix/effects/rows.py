"""One row for each function of a library: what it does with what it is given.

The rows lie in TOML files beside this one, by library. Where a function has no row, nothing is known of it: what it is given escapes.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# the file that has the rows of a module, by the first part of its name; all others of Python are in the first
FILES = {"numpy": "numpy.toml"}
PYTHON = "python.toml"


class Returns(enum.Enum):
    """What a function gives back."""

    NUMBER = "number"  # or a text, an array, None, an object that knows no tensors: no part of a graph
    OBJECT = "object"  # that is no tensor itself, and says nothing of what it holds
    MADE = "made"  # what is computed from what it is given, or taken out of it: it may be a tensor with its graph
    ELEMENT = "element"  # one of what it is given, or of what that holds
    CONTENTS = "contents"  # a container, or an iterator, of what its arguments hold
    PAIRS = "pairs"  # one of tuples of what they hold
    MAPPING = "mapping"  # a mapping of what it is given
    RESULTS = "results"  # an iterator of what it calls gives
    COPY = "copy"  # the same, or another object that holds the same

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Row:
    """What one function does. `source`: where that is written.

    `keeps`: what it is given outlives the call. `calls`: it calls a function that it is given. `iterates`: it goes over what it is given.
    `writes`: it changes what it is given, or something else that others see. `sized`: what it gives has a length. `takes_numbers`: it does
    the same with a number as with a tensor of one element. `makes_record`: it makes a class out of the names of its fields. `not_called`: why
    the test that compares rows with what is installed does not call it.
    """

    name: str
    returns: Returns
    source: str
    keeps: bool = False
    calls: bool = False
    iterates: bool = False
    writes: bool = False
    sized: bool = False
    takes_numbers: bool = False
    makes_record: bool = False
    not_called: str = ""

    @property
    def gives_no_graph(self) -> bool:
        """Whether what it gives is never part of a graph, and holds none."""
        return self.returns is Returns.NUMBER

    @property
    def gives_no_tensor(self) -> bool:
        """Whether what it gives is no tensor itself."""
        return self.returns not in (Returns.MADE, Returns.ELEMENT, Returns.COPY)

    @property
    def holds(self) -> bool:
        """Whether what it gives is a container of what it is given."""
        return self.returns in (Returns.CONTENTS, Returns.PAIRS, Returns.MAPPING, Returns.COPY)


class BadRow(ValueError):
    """A table that is no row: the file, and what is wrong."""


def row_of(name: str) -> Row | None:
    """The row of a function by its full name, of a builtin by its mere name; None where it has none."""
    root, _, rest = name.partition(".")
    if not rest:
        return rows_in(PYTHON).get(f"builtins.{name}")
    return rows_in(FILES.get(root, PYTHON)).get(name)


@functools.cache
def rows_in(file: str) -> Mapping[str, Row]:
    """The rows of one file by their full names; raises `BadRow`."""
    text = Path(__file__).with_name(file).read_text("utf-8")
    found: dict[str, Row] = {}
    for row in read_rows(text, file):
        if row.name in found:
            raise BadRow(f"{file}: {row.name} has two rows")
        found[row.name] = row
    return found


def read_rows(text: str, file: str) -> Iterator[Row]:
    """The rows of a text; raises `BadRow` for what is none."""
    try:
        tables = tomllib.loads(text).get("rows", [])
    except tomllib.TOMLDecodeError as error:
        raise BadRow(f"{file}: {error}") from None
    for number, table in enumerate(tables, 1):
        yield from _rows_of(table, f"{file}: table {number}")


def _rows_of(table: dict[str, Any], where: str) -> Iterator[Row]:
    """A row for each name of a table."""
    given = {key: value for key, value in table.items() if key not in ("module", "names")}
    wrong = [key for key in given if key not in _KINDS] + [key for key, value in given.items() if not isinstance(value, _KINDS.get(key, object))]
    missing = [key for key in ("module", "names", "returns", "source") if not isinstance(table.get(key), str)]
    if wrong or missing:
        raise BadRow(f"{where}: {(wrong or missing)[0]!r} is {'not a field, or not of its kind' if wrong else 'missing'}")
    try:
        returns = Returns(given.pop("returns"))
    except ValueError:
        raise BadRow(f"{where}: {table['returns']!r} is nothing that a function returns") from None
    for name in table["names"].split():
        yield Row(name=f"{table['module']}.{name}", returns=returns, **given)


_KINDS = {field.name: str if field.type == "str" or field.name == "returns" else bool for field in fields(Row) if field.name != "name"}
