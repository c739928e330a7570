"""How a row is written: on one line, as messages quote it, and as the table of a settings file."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any

from graphfix.effects.schema import KINDS, Returns, Row
from graphfix.lazy_dataclass import fields

Table = Mapping[str, Any]


def on_one_line(table: Table) -> str:
    """A table on one line, as `graphfix config` shows it and messages quote it."""
    return "[[rows]] " + ", ".join(f"{key} = {_toml(value)}" for key, value in table.items())


def as_file(table: Table) -> str:
    """A table as it stands in a file."""
    return "\n".join(("[[rows]]", *(f"{key} = {_toml(value)}" for key, value in table.items())))


def table_of(row: Row) -> Table:
    """The table that has this row alone, without its source."""
    home, _, word = row.name.rpartition(".")
    said = {field.name: getattr(row, field.name) for field in fields(row) if field.name in KINDS and field.name != "source"}
    plain = {key: value.value if isinstance(value, enum.Enum) else value for key, value in said.items()}
    begin = {"class" if row.of_class else "module": home or "...", "names": word}
    return {**begin, **{key: value for key, value in plain.items() if value}}


def suggested(name: str, *, of_class: bool = False, returns: Returns = Returns.NUMBER) -> Table:
    """How a row could begin that nobody has written yet; `name`: of a function, or of a method with its class."""
    return table_of(Row(name, returns, of_class=name.rpartition(".")[0] or "..." if of_class else ""))


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
