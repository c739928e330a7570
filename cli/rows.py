"""`graphfix config --row`: what is known of a function or method of a library, and where that is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from graphfix.cli.choices import ListFormat
from graphfix.cli.exits import OK
from graphfix.cli.terminal import OUT
from graphfix.effects.methods import RECORDED, TENSOR, recorded
from graphfix.effects.rows import shipped_methods_named, shipped_row_of
from graphfix.effects.schema import Row, rows_of
from graphfix.effects.spelling import Table, as_file, on_one_line, suggested, table_of
from graphfix.effects.table import facts
from graphfix.report.escape import escaped
from graphfix.settings.effective import Setting
from graphfix.settings.rows import BACKWARDS, ROWS, TENSORS, named_rows, placed_tables


class Known(NamedTuple):
    """A row, and where it is written."""

    row: Row
    origin: str

    @property
    def table(self) -> Table:
        return table_of(self.row)


def show(name: str, settings: Mapping[str, Setting], form: ListFormat) -> int:
    """Print the rows of a function or method, the one that holds first, or that there is none and how one would look."""
    known = [*of_project(name, settings), *of_graphfix(name)]
    if form is ListFormat.JSON:
        OUT.raw(json.dumps([{"row": each.table, "origin": each.origin} for each in known], indent=2))
        return OK
    seen: set[str] = set()
    for each in known:
        unused = "; not used, a row above has the same name" if each.row.name in seen else ""
        seen.add(each.row.name)
        OUT.raw(escaped(f"{on_one_line(each.table)}  # {each.origin}{unused}"))
    if not known:
        OUT.raw(escaped(f"{name} has no row: it may keep what it is given, or run a backward pass from it."))
        OUT.raw("In graphfix.toml a row could say what it does:\n")
        of_method = name.startswith(".") or name.rpartition(".")[0].rpartition(".")[2][:1].isupper()
        for line in as_file(suggested(name.lstrip("."), of_class=of_method)).split("\n"):
            OUT.raw(escaped(line))
    return OK


def of_project(name: str, settings: Mapping[str, Setting]) -> list[Known]:
    """The rows in settings files, the one with the last word first."""
    found = [
        Known(row, f"{layer.path}:{layer.row(setting)}" if layer is not None else "command line")
        for setting, word in ((TENSORS, "tensors"), (BACKWARDS, "backwards"))
        for layer, names in settings[setting].parts
        for row in named_rows(**{word: names})  # type: ignore[arg-type]
        if row.name in (name, name.rpartition(".")[2])
    ]
    for table, origin in placed_tables(settings[ROWS]):
        found += [Known(row, origin) for row in rows_of(table) if is_meant(row, name)]
    return found[::-1]


def is_meant(row: Row, name: str) -> bool:
    """Whether a name that was asked for means a row: as a full name, or as that of a method."""
    return row.name == name or bool(row.of_class) and f".{row.name.rpartition('.')[2]}" in (name, f".{name}")


def of_graphfix(name: str) -> Iterator[Known]:
    """The rows that graphfix has itself, and what is recorded from torch."""
    mere = name.lstrip(".")
    row = shipped_row_of(name)
    if row is not None:
        yield Known(row, f"graphfix: {row.source}")
    for method in shipped_methods_named(mere) if "." not in mere else ():
        yield Known(method, f"graphfix: {method.source}")
    asked = f"{TENSOR}.{mere}" if "." not in mere else name
    known = facts(asked)
    home, _, word = asked.rpartition(".")
    if known is not None and row is None:
        made = recorded(word, known)
        yield Known(made if home == TENSOR else of_module(asked, made), f"graphfix: {RECORDED}")


def of_module(name: str, made: Row) -> Row:
    """What was recorded of a function of torch, as the row of that."""
    return Row(name, made.returns, source=made.source, writes=made.writes)
