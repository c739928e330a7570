"""One row for each function, and each method of a class, of a library: what it does with what it is given.

The rows lie in TOML files beside this one, by library, and a project's settings add to them. Where a function has no row, nothing is known
of it: what it is given escapes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphfix.effects.project_rows import added_row, added_to_methods, has_rows, is_added_class
from graphfix.effects.schema import BadRow, Row, home_of, row_in_table, rows_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHON = "python.toml"  # has the rows of the standard library; each other library has a file that is named like it


def is_known(library: str) -> bool:
    """Whether rows tell of a library, or of a module of Python: of its functions, of its classes, or of what they use."""
    return f"{library}.toml" in files() or library in sys.stdlib_module_names or has_rows()


def row_of(name: str) -> Row | None:
    """The row of a function by its full name, of a builtin by its mere name; None where it has none.

    Within `project_rows.adding` the rows of the project go before those of graphfix.
    """
    added = added_row(name) or (added_row(f"builtins.{name}") if name and "." not in name else None)
    return added or shipped_row_of(name)


def shipped_row_of(name: str) -> Row | None:
    """The row that graphfix itself has."""
    root, _, rest = name.partition(".")
    return _row_in(f"{root}.toml" if f"{root}.toml" in files() else PYTHON, name if rest else f"builtins.{name}")


@functools.cache
def _row_in(file: str, name: str) -> Row | None:
    """One row of a file: there are ten thousand, of which a program asks for a few."""
    table = _tables(file).get(name)
    return row_in_table(table, name) if table is not None else None


@functools.cache
def _tables(file: str) -> Mapping[str, Mapping[str, Any]]:
    """For each name in a file the table that it stands in; raises `BadRow` where there is none to be read."""
    return {f"{home_of(table)}.{name}": table for _, table in _read(file) for name in table["names"].split()}


def methods_named(name: str) -> tuple[Row, ...]:
    """The rows of all methods and attributes of this name: what a call may do whose receiver is not known."""
    return added_to_methods(name, shipped_methods_named(name))


def shipped_methods_named(name: str) -> tuple[Row, ...]:
    """Those that graphfix itself has."""
    return _methods().get(name, ())


def has_methods(name: str) -> bool:
    """Whether a class of this full name has rows of methods."""
    return name in _classes() or is_added_class(name)


@functools.cache
def files() -> frozenset[str]:
    """The files that have rows."""
    return frozenset(path.name for path in Path(__file__).parent.glob("*.toml"))


@functools.cache
def _methods() -> Mapping[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for file in sorted(files()):
        for _, table in _read(file):
            for row in rows_of(table) if "class" in table else ():
                name = row.name.rpartition(".")[2]
                found[name] = (*found.get(name, ()), row)
    return found


@functools.cache
def _classes() -> frozenset[str]:
    return frozenset(row.of_class for rows in _methods().values() for row in rows)


@functools.cache
def rows_in(file: str) -> Mapping[str, Row]:
    """The rows of one file by their full names; raises `BadRow`."""
    found: dict[str, Row] = {}
    for row in read_rows(Path(__file__).with_name(file).read_text("utf-8"), file):
        if row.name in found:
            raise BadRow(f"{file}: {row.name} has two rows")
        found[row.name] = row
    return found


@functools.cache
def _read(file: str) -> tuple[tuple[int, Mapping[str, Any]], ...]:
    """The tables of a file, which are numbered from one."""
    return tuple(_tables_of(Path(__file__).with_name(file).read_text("utf-8"), file))


def _tables_of(text: str, file: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        yield from enumerate(tomllib.loads(text).get("rows", []), 1)
    except tomllib.TOMLDecodeError as error:
        raise BadRow(f"{file}: {error}") from None


def read_rows(text: str, file: str) -> Iterator[Row]:
    """The rows of a text; raises `BadRow` for what is none."""
    for number, table in _tables_of(text, file):
        try:
            if not isinstance(table.get("source"), str):
                raise BadRow("'source' is missing")
            yield from rows_of(table)
        except BadRow as error:
            raise BadRow(f"{file}: table {number}: {error}") from None
