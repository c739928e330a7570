"""Reading one settings file: what is wrong is said with its line."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfix.settings import lines
from graphfix.settings.errors import SettingsError
from graphfix.settings.files import found_in, load
from graphfix.settings.keys import BY_NAME
from graphfix.settings.lines import row_of
from graphfix.settings.toml import loads


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []\n", "1: unknown setting 'selct', did you mean 'select'?"),
        ("# a\n\nunsafe_fixes = true\n", "3: unknown setting 'unsafe_fixes', did you mean 'unsafe-fixes'?"),
        ("frobnicate = 1\n", "1: unknown setting 'frobnicate'"),
        ('jobs = "4"\n', "1: jobs: must be a whole number, is a string"),
        ("jobs = true\n", "1: jobs: must be a whole number, is a boolean"),
        ("jobs = -1\n", "1: jobs: must not be negative, is -1"),
        ("unsafe-fixes = 1\n", "1: unsafe-fixes: must be a boolean, is a whole number"),
        ('select = "GF1"\n', "1: select: must be a list, is a string"),
        ("select = [\n  'GF101',\n  3,\n]\n", "1: select: must be a list of strings, holds a whole number"),
        ("jobs = 1\nselect = ['GF999']\n", "2: select: unknown rule code 'GF999', did you mean GF9"),
        ("ignore = ['GF1,GF2']\n", "1: ignore: must hold one code in each string, holds 'GF1,GF2'"),
        ("extend-exclude = ['a', '[z-a]']\n", "1: extend-exclude: '[z-a]' is not a pattern of .gitignore"),
        ("[per-file-ignores]\n'a' = []\n'!!x' = []\n'\\' = []\n", "4: per-file-ignores: '\\\\' is not a pattern"),
        ("extend = ''\n", "1: extend: '' is not the name of a file"),
        ("extend = '..'\n", "1: extend: cannot read '..': a folder, not a file"),
        ("output-format = 'jsn'\n", "1: output-format: must be one of "),
        (
            "[per-file-ignores]\n'a.py' = ['GF1']\n'b.py' = 'GF1'\n",
            "3: per-file-ignores: 'b.py': must be a list, is a string",
        ),
        ("jobs = 1\njobs = 2\n", "2: not valid TOML: cannot overwrite a value"),
        ("jobs = [\n", "1: not valid TOML: "),
        ("extend = 'none.toml'\n", "1: extend: no such file: none.toml"),
        ("extend = 'graphfix.toml'\n", "1: extend: 'graphfix.toml' extends this file in turn"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{message}")
    assert "\n" not in str(caught.value)


def test_an_error_in_an_extended_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("\njobs = 'x'\n")
    (tmp_path / "graphfix.toml").write_text("extend = 'base.toml'\n")
    with pytest.raises(SettingsError, match=r"base\.toml:2: jobs: "):
        load(tmp_path / "graphfix.toml")


@pytest.mark.parametrize(
    ("number", "said"), [(50, ""), (51, "c50.toml:1: extend: more than 50 files extend each other"), (500, "c50")]
)
def test_files_extend_each_other_only_so_far(tmp_path: Path, number: int, said: str) -> None:
    for count in range(1, number):
        (tmp_path / f"c{count}.toml").write_text(f"extend = 'c{count + 1}.toml'\n")
    (tmp_path / f"c{number}.toml").write_text("jobs = 7\n")
    if said:
        with pytest.raises(SettingsError, match=said):
            load(tmp_path / "c1.toml")
    else:
        assert [loaded.values for loaded in load(tmp_path / "c1.toml").chain()][-1] == {"jobs": 7}


def test_invalid_utf8_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "graphfix.toml").write_bytes(b"jobs = 1\n# \xff\n")
    with pytest.raises(SettingsError, match=r"graphfix\.toml:2: not valid utf-8"):
        load(tmp_path / "graphfix.toml")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("[tool.graphfix]\n", True),
        ("[tool.graphfix.per-file-ignores]\n", True),
        ("[tool.ruff]\n", False),
        ("[project]\nname = 'graphfix'\n", False),
        ("[tool.graphfix\n", True),
        ("[tool.black\n", False),
    ],
)
def test_a_pyproject_counts_if_it_speaks_of_graphfix(tmp_path: Path, text: str, counts: bool) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert (found_in(tmp_path) is not None) is counts


def test_graphfix_toml_comes_before_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphfix]\n")
    (tmp_path / "graphfix.toml").write_text("")
    assert found_in(tmp_path) == tmp_path / "graphfix.toml"


def test_tables_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("\n[tool]\ngraphfix = 3\n")
    with pytest.raises(SettingsError, match=r"pyproject\.toml:3: tool\.graphfix must be a table"):
        load(tmp_path / "pyproject.toml")


PIECES = [
    "# comment\n", "\n", "a = 1\n",
    'text = """\nkey = 1\n"""\n', "list = [\n  # [tool.graphfix]\n  1,\n]\n", "t = { x = 1 }\n",
    'b = "[key]"\n', "m = '''\n\n'''\n",
]  # fmt: skip


def test_the_row_of_a_key_is_found_in_any_text() -> None:
    rng = random.Random(0)
    for _ in range(200):
        pieces = rng.sample(PIECES, rng.randrange(len(PIECES)))
        place = rng.randrange(len(pieces) + 1)
        statement = rng.choice(["key = 1\n", "key = [\n 1,\n 2,\n]\n", "key.part = 1\n", "'key' = 2\n"])
        text = "".join([*pieces[:place], statement, *pieces[place:]])
        row = "".join(pieces[:place]).count("\n") + 1
        assert "key" in loads(text)
        assert row_of(text, ("key",)) == row, text


def test_a_long_value_is_not_parsed_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    monkeypatch.setattr(lines, "loads", lambda text: parsed.append(len(text)) or loads(text))
    text = "long = [\n" + "".join(f'  "a{number}>=1",\n' for number in range(20_000)) + "]\nkey = 1\n"
    assert row_of(text, ("key",)) == 20_003
    assert len(parsed) < 20


TOML = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.tuples(
            st.sampled_from([*BY_NAME, "selct", "tool.graphfix", '"odd \\" key"', "[per-file-ignores]\n'*'", "# c\n\nselect"]),
            st.sampled_from(
                [
                    "'[z-a]'",
                    "['[z-a]']",
                    '{"[z-a]" = []}',
                    '"\\u0000"',
                    "'..'",
                    '""',
                    "true",
                    "-1",
                    "[]",
                    '["GF1"]',
                    "[1]",
                    "{}",
                    '{"a" = ["GF1"]}',
                    '{"a" = 1}',
                    "1.5",
                    '"text"',
                ]  # fmt: skip
            ),
        ).map(lambda pair: " = ".join(pair)),
        max_size=6,
    ).map("\n".join),
    st.binary(max_size=40).map(lambda data: data.decode("latin-1")),
)


@given(TOML, st.sampled_from(["graphfix.toml", "pyproject.toml"]))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_any_text_is_settings_or_one_error(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        loaded = load(path)
    except SettingsError as error:
        assert re.match(rf"{re.escape(str(path))}:\d+: ", str(error))
    else:
        assert set(loaded.values) <= set(BY_NAME)
        lines = text.replace("\r\n", "\n").split("\n")
        assert all(key.split("-")[0] in lines[loaded.row(key) - 1] for key in loaded.values)


def test_the_row_of_a_key_in_a_table() -> None:
    text = "[tool.ruff]\nselect = ['E']\n\n[tool.graphfix]\n# first\nselect = ['GF1']\n"
    text += "[tool.graphfix.per-file-ignores]\n'a' = []\n"
    assert row_of(text, ("tool", "graphfix", "select")) == 6
    assert row_of(text, ("tool", "graphfix", "per-file-ignores")) == 7
    assert row_of(text, ("tool", "graphfix", "per-file-ignores", "a")) == 8
    assert row_of("tool = {graphfix = {select = []}}", ("tool", "graphfix", "select")) == 1


@pytest.mark.parametrize(
    "text",
    [
        'select = ["{long}"]',
        '"{long}" = 1',
        'output-format = "{long}"',
        'extend = "{long}"',
        'extend-exclude = ["!{long}\\u0000"]',
        'backward-functions = ["-{long}"]',
        'rows = [{{module = "m", names = "f", returns = "{long}"}}]',
        'rows = [{{module = "m", names = "{long} {long}", returns = "made"}}]',
        'rows = [{{module = "m", "{long}" = "made"}}]',
        '[per-file-ignores]\n"{long}" = ["{long}"]',
        "jobs = -{digits}",
    ],
)
def test_a_long_value_is_cut_in_the_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text(text.format(long="x" * 100_000, digits="1" * 4000))
    with pytest.raises(SettingsError) as told:
        load(path)
    assert len(told.value.why) < 400
