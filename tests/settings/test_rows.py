"""Rows in settings: what is none is said with its line, and the old names become rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from graphfix.effects.methods import gives_no_graph
from graphfix.effects.project_rows import adding
from graphfix.effects.rows import row_of
from graphfix.effects.schema import KINDS, Returns
from graphfix.interpreter.conventions import Conventions
from graphfix.run.engine import findings_of
from graphfix.settings import lines
from graphfix.settings.effective import effective
from graphfix.settings.errors import SettingsError
from graphfix.settings.files import load
from graphfix.settings.keys import schema
from graphfix.settings.rows import MAX_NAMES, named_rows, placed_tables, rows_in_settings
from graphfix.settings.toml import loads

ROW = '[[rows]]\nmodule = "m"\nnames = "f g"\nreturns = "number"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows = 3\n", "1: rows: must be a list, is a whole number"),
        ("rows = [1]\n", "1: rows: each of them must be a table, is a whole number"),
        (ROW + "[[rows]]\n", "5: rows: 'module' is missing"),
        (ROW + '[[rows]]\nmodule = "n"\nnames = "f"\n', "5: rows: 'returns' is missing"),
        (ROW.replace('"number"', '"nothing"'), "4: rows: returns = 'nothing' is none of 'number', "),
        (ROW + "keeps = 1\n", "5: rows: 'keeps' is not a field, or not of its kind"),
        (ROW + "keep = true\n", "5: rows: 'keep' is not a field, did you mean 'keeps'?"),
        (ROW + "even_in_sight = true\n", "5: rows: 'even_in_sight' is not a field"),
        (ROW + 'class = "C"\n', "5: rows: 'module' and 'class' are both given"),
        (ROW.replace('"f g"', '"f, g"'), "3: rows: names must hold names such as 'mylib.losses', holds 'f, g'"),
        (ROW.replace('"f g"', '""'), "3: rows: names must hold names"),
        (ROW.replace('"m"', '"m."'), "2: rows: module must hold names"),
        (ROW + ROW.replace("f g", "h g"), "7: rows: 'm.g' has two rows"),
    ],
)
def test_what_is_no_row_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{message}") and "\n" not in str(caught.value)
    if "two rows" not in message:  # a schema cannot compare names
        assert not Draft7Validator(schema()).is_valid(loads(text))


def test_the_page_names_each_field() -> None:
    page = (Path(__file__).parents[2] / "docs/settings.md").read_text("utf-8")
    assert [key for key in KINDS if f"`{key}`" not in page and f"`{key} = " not in page] == []


def test_a_pyproject_has_them_below_its_own_table(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.other]\nx = 1\n\n" + ROW.replace("rows", "tool.graphfix.rows") + "sized = 'no'\n")
    with pytest.raises(SettingsError, match=r"pyproject\.toml:8: rows: 'sized'"):
        load(path)


def test_rows_are_read_and_the_nearest_file_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(ROW)
    (tmp_path / "graphfix.toml").write_text("extend = 'base.toml'\n" + ROW.replace("number", "made").replace("f g", "f") + "keeps = true\n")
    rows = rows_in_settings(effective(load(tmp_path / "graphfix.toml"), {}))
    with adding(rows):
        assert row_of("m.f") == rows[-1] and rows[-1].keeps and rows[-1].returns is Returns.MADE
        assert row_of("m.g") is not None
    assert row_of("m.f") is None and Draft7Validator(schema()).is_valid(loads(ROW))


def test_the_old_settings_are_rows(tmp_path: Path) -> None:
    (tmp_path / "graphfix.toml").write_text('tensor-functions = ["focal"]\nbackward-functions = ["engine.run_pass"]\n')
    rows = rows_in_settings(effective(load(tmp_path / "graphfix.toml"), {}))
    assert rows == named_rows(["focal"], ["engine.run_pass"])
    assert Conventions(rows=rows).walking == {"run_pass"}
    with adding(rows):
        made, backward = row_of("any.lib.focal"), row_of("engine.run_pass")
        assert made is not None and made.returns is Returns.MADE and not made.backward
        assert backward is not None and backward.backward and row_of("other.run_pass") is None


def test_rows_of_one_project_are_none_of_another() -> None:
    own = rows_in_settings({**effective(None, {})}) + named_rows(["focal"])
    with adding(own):
        assert row_of("focal") is not None
        with adding(()):
            assert row_of("focal") is None
        assert row_of("focal") is not None
    assert row_of("focal") is None


def test_what_is_kept_by_name_holds_for_one_project(tmp_path: Path) -> None:
    (tmp_path / "graphfix.toml").write_text('[[rows]]\nclass = "m.Meter"\nnames = "reading"\nreturns = "number"\n')
    rows = rows_in_settings(effective(load(tmp_path / "graphfix.toml"), {}))
    for _ in range(2):
        assert not gives_no_graph("reading")
        with adding(rows):
            assert gives_no_graph("reading")


def test_analyses_in_one_process_keep_their_rows_apart(tmp_path: Path) -> None:
    text = (
        "import torch\nimport engine\nmodel = torch.nn.Linear(3, 1)\nx = model(torch.randn(3))\n"
        "for step in range(10):\n    engine.run_pass(x.sum())\n"
    )
    (tmp_path / "graphfix.toml").write_text('[[rows]]\nmodule = "engine"\nnames = "run_pass"\nreturns = "number"\nbackward = true\n')
    rows = rows_in_settings(effective(load(tmp_path / "graphfix.toml"), {}))
    for _ in range(2):
        assert [each.code for each in findings_of(Path("t.py"), text, (), Conventions(rows=rows))] == ["GF203"]
        assert findings_of(Path("t.py"), text) == []


def many(count: int) -> str:
    return "".join(f'[[rows]]\nmodule = "m"\nnames = "f{number}"\nreturns = "number"\n' for number in range(count))


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (many(MAX_NAMES + 1), 4 * MAX_NAMES + 3),
        (ROW.replace("f g", " ".join(f"f{number}" for number in range(MAX_NAMES + 1))), 3),
        (ROW.replace("f g", "f " * 200_000), 3),
        (ROW + ROW.replace("f g", " ".join(f"h{number}" for number in range(MAX_NAMES - 1))), 7),
    ],
    ids=["tables", "names", "one name", "together"],
)
def test_more_names_than_anybody_writes_are_one_error(tmp_path: Path, text: str, row: int) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:{row}: rows: more than 5,000 names"


@pytest.mark.parametrize("name", ["graphfix.toml", "pyproject.toml"])
def test_the_lines_of_many_rows_are_found_without_reading_the_file_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = ROW + '# [[rows]]\nsaid = """\n[rows]\n"""\n'.replace("said", "source") + many(400)
    (tmp_path / name).write_text(text.replace("[[rows", "[[tool.graphfix.rows") if name == "pyproject.toml" else text)
    loaded = load(tmp_path / name)
    reads = 0

    def counted(part: str) -> dict[str, object]:
        nonlocal reads
        reads += 1
        return loads(part)

    monkeypatch.setattr(lines, "loads", counted)
    placed = placed_tables(effective(loaded, {})["rows"])
    assert [int(where.rpartition(":")[2]) for _, where in placed] == [1, *range(9, 9 + 4 * 400, 4)]
    assert reads <= 2
    assert [loaded.row("rows", number, "names") for number in (0, 1, 400)] == [3, 11, 9 + 4 * 399 + 2]
    assert loaded.row("rows", 200) == 9 + 4 * 199 and reads < 30


def test_rows_in_brackets_stand_where_the_setting_does(tmp_path: Path) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text('select = ["GF1"]\nrows = [\n  {module = "m", names = "f", returns = "number"},\n  {module = "m", names = "g", returns = "number"},\n]\n')
    assert [where for _, where in placed_tables(effective(load(path), {})["rows"])] == [f"{path}:2"] * 2
