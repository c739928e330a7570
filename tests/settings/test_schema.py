"""The schema, the validator and the table of settings say the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from graphfix.cli.options import DECLARED
from graphfix.codemods import RULES
from graphfix.report.forms import FORMS
from graphfix.settings.errors import SettingsError
from graphfix.settings.files import load
from graphfix.settings.keys import KEYS, schema
from graphfix.settings.resolver import DEFAULTS

VALUES = [
    '""', '"auto"', '"pip install graphfix"', '"two\\nlines"',
    '"text"', '"jsn"', "true", "0", "4", "-1", "1.5", "1979-05-27", "[]", '["GF1"]', '["gf101", "GF2"]', '["XX1"]',
    '["GF101,GF2"]', '[""]', '["accumulated-graph", "Carried-State"]', '["all"]', '["-graph"]', '["graph"]',
    '{"a.py" = ["stored-graph"]}',
    "[1]", '["a", 1]', "{}", '{"a.py" = ["GF1"]}', '{"a.py" = ["XX1"]}', '{"a.py" = "GF1"}', '{"a.py" = [1]}',
]  # fmt: skip


def accepted(path: Path, text: str) -> bool:
    path.write_text(text)
    try:
        load(path)
    except SettingsError:
        return False
    return True


def test_the_schema_is_one_and_describes_every_key() -> None:
    Draft7Validator.check_schema(schema())
    properties = schema()["properties"]
    assert list(properties) == [key.name for key in KEYS]  # type: ignore[call-overload]
    assert all(one["description"] for one in properties.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", [key for key in KEYS if key.name != "extend"], ids=lambda key: key.name)
@pytest.mark.parametrize("value", VALUES)
def test_the_schema_takes_what_the_validator_takes(tmp_path: Path, key: object, value: str) -> None:
    from graphfix.settings.toml import loads

    text = f"{key.name} = {value}\n"  # type: ignore[attr-defined]
    document = {name: str(item) if value == "1979-05-27" else item for name, item in loads(text).items()}
    by_schema = Draft7Validator(schema()).is_valid(document)
    if value == "1979-05-27":
        by_schema = False  # JSON has no dates
    assert by_schema is accepted(tmp_path / "graphfix.toml", text)


def test_unknown_keys_are_refused_by_both(tmp_path: Path) -> None:
    assert not Draft7Validator(schema()).is_valid({"selct": []})
    assert not accepted(tmp_path / "graphfix.toml", "selct = []\n")


def test_every_code_is_taken(tmp_path: Path) -> None:
    codes = [rule.code for rule in RULES]
    assert accepted(tmp_path / "graphfix.toml", f"select = {codes}\n")
    assert Draft7Validator(schema()).is_valid({"select": codes})


def test_defaults_are_valid_and_known_without_the_table() -> None:
    assert Draft7Validator(schema()).is_valid({key.name: key.default for key in KEYS})
    assert {key.name: key.default for key in KEYS if key.whole} == DEFAULTS


def test_the_formats_are_those_of_the_registry() -> None:
    typed = DECLARED["output_format"].metadata["typed"]
    assert typed.autocompletion("") == list(FORMS) == schema()["properties"]["output-format"]["enum"]  # type: ignore[index]
    assert [typed.parser(name) for name in FORMS] == list(FORMS)


def test_keys_are_plain_data() -> None:
    assert all(dataclasses.is_dataclass(key.kind) for key in KEYS)
