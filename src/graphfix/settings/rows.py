"""Rows in settings: what functions and methods of libraries do that graphfix does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphfix.effects.schema import CHOICES, HOMES, KINDS, BadRow, Returns, Row, rows_of
from graphfix.effects.spelling import on_one_line, table_of
from graphfix.interpreter.conventions import NAME_PATTERN
from graphfix.lazy_dataclass import dataclass
from graphfix.settings.kinds import KnownCodes, Schema, WrongValue, did_you_mean, expect
from graphfix.source.quote import cut, quoted

if TYPE_CHECKING:
    from graphfix.settings.effective import Setting

_WORDS_PATTERN = rf"^\s*{NAME_PATTERN[1:-1]}(\s+{NAME_PATTERN[1:-1]})*\s*$"
ROWS = "rows"
MAX_NAMES = 5_000  # more than the functions of any library that people describe; each is held for each file
TENSORS, BACKWARDS = "tensor-functions", "backward-functions"  # the settings that named functions before there were rows


class WrongTable(WrongValue):
    """A table that is no row: its place among the others, and the key that is wrong, where it is one."""

    def __init__(self, why: str, number: int, key: str = "") -> None:
        super().__init__(why)
        self.number = number
        self.key = key


@dataclass(frozen=True)
class Rows:
    """A list of tables, as the files in `graphfix/effects` have them."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, list)
        assert isinstance(value, list)
        left = MAX_NAMES
        for number, table in enumerate(value):
            left -= len(str(table.get("names", "")).split(maxsplit=left + 1)) if isinstance(table, dict) else 0
            if left < 0:
                raise WrongTable(f"more than {MAX_NAMES:,} names", number, "names")
        named: set[str] = set()
        for number, table in enumerate(value):
            for name in _checked(table, number):
                if name in named:
                    raise WrongTable(f"{quoted(name)} has two rows", number, "names")
                named.add(name)

    def schema(self) -> Schema:
        fields: dict[str, object] = {name: {"type": "boolean" if kind is bool else "string"} for name, kind in KINDS.items()}
        fields.update({name: {"type": "string", "enum": [each.value for each in kind]} for name, kind in CHOICES.items()})
        fields.update({name: {"type": "string", "pattern": NAME_PATTERN} for name in HOMES})
        fields["names"] = {"type": "string", "pattern": _WORDS_PATTERN}
        return {
            "type": "array",
            "items": {
                "type": "object",
                "properties": fields,
                "required": ["names", "returns"],
                "oneOf": [{"required": [name]} for name in HOMES],
                "additionalProperties": False,
            },
        }


def _checked(table: object, number: int) -> list[str]:
    """The full names that a table gives rows; raises `WrongTable`."""
    try:
        expect(table, dict)
    except WrongValue as error:
        raise WrongTable(f"each of them {error}", number) from error
    assert isinstance(table, dict)
    unknown = next((key for key in table if key not in KINDS), None)
    if unknown is not None:
        raise WrongTable(f"{quoted(unknown)} is not a field{did_you_mean(unknown, tuple(KINDS))}", number, unknown)
    try:
        rows = list(rows_of(table))
    except BadRow as error:
        raise WrongTable(cut(str(error)), number, error.key) from error
    for key in (*(home for home in HOMES if home in table), "names"):
        if re.match(_WORDS_PATTERN if key == "names" else NAME_PATTERN, table[key]) is None:
            raise WrongTable(f"{key} must hold names such as 'mylib.losses', holds {quoted(table[key])}", number, key)
    return [row.name for row in rows]


def rows_in_settings(settings: Mapping[str, Setting]) -> tuple[Row, ...]:
    """The rows of a project: those of the old settings, and those that it writes as such, which have the last word."""
    written = (row for table in settings[ROWS].value for row in rows_of(table))  # type: ignore[attr-defined]
    return (*named_rows(settings[TENSORS].value, settings[BACKWARDS].value), *written)  # type: ignore[arg-type]


def named_rows(tensors: Sequence[str] = (), backwards: Sequence[str] = ()) -> tuple[Row, ...]:
    """What the old settings say, as rows.

    A name without dots means each function and method that is called so; both kinds of names mean code in sight, too.
    """
    made = (Row(name, Returns.MADE, even_in_sight=True) for name in tensors)
    gone_through = (Row(name, Returns.MADE, backward=True, even_in_sight=True) for name in backwards)
    return (*made, *gone_through)  # what goes backward did so even where it was named as a tensor function, too


def placed_tables(setting: Setting) -> list[tuple[Mapping[str, Any], str]]:
    """The tables of rows, each with the file and the line that it stands on; the later have the last word."""
    found: list[tuple[Mapping[str, Any], str]] = []
    for layer, tables in setting.parts:
        assert isinstance(tables, list)
        places = [f"{layer.path}:{row}" for row in layer.rows(ROWS, len(tables))] if layer is not None else ["command line"] * len(tables)
        found += zip(tables, places, strict=True)
    return found


def renewed(setting: str, name: str) -> str:
    """How a row says what one of the old settings says of a name."""
    (row,) = named_rows(**{"backwards" if setting == BACKWARDS else "tensors": (name,)})
    return on_one_line(table_of(row))


def deprecated(settings: Mapping[str, Setting]) -> Iterator[str]:
    """A line for each old setting of a file, which says how it is written today."""
    for setting in (TENSORS, BACKWARDS):
        for layer, names in settings[setting].parts:
            if layer is not None and names:
                instead = renewed(setting, names[0])  # type: ignore[index]
                yield f"{layer.path}:{layer.row(setting)}: {setting} is deprecated, write {instead}"
