"""Rows of functions in a project's settings, from a fix that is unsafe for want of one to the safe fix, through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]

TRAIN = """\
import torch
{imports}

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for step in range(100):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 3)).pow(2).mean()
    loss.backward(retain_graph=True)
    {after}
    optimizer.step()
"""
METER = TRAIN.format(imports="from mylib import Meter", before="meter = Meter('loss')", after="meter.record(loss)")
TOTAL = TRAIN.format(imports="from mylib.losses import total", before="", after="total(loss)")
METER_ROW = '[[rows]]\nclass = "mylib.Meter"\nnames = "record"\nreturns = "number"\n'
TOTAL_ROW = '[[rows]]\nmodule = "mylib.losses"\nnames = "total"\nreturns = "number"\n'
TWICE = """\
import torch
import engine

model = torch.nn.Linear(3, 1)
x = model(torch.randn(3))
for step in range(10):
    engine.run_pass(x.sum())
"""
BACKWARD_ROW = '[[rows]]\nmodule = "engine"\nnames = "run_pass"\nreturns = "number"\nbackward = true\n'
OLD = 'backward-functions = ["engine.run_pass"]\n'
WARNING = (
    "graphfix: warning: graphfix.toml:1: backward-functions is deprecated, write "
    '[[rows]] module = "engine", names = "run_pass", returns = "made", backward = true\n'
)


@pytest.fixture
def fixes(graphfix: Run, tmp_path: Path) -> Callable[..., list[dict[str, object]]]:
    """The fixes of what is found in a text with these settings."""

    def run(text: str, settings: str = "") -> list[dict[str, object]]:
        (tmp_path / "train.py").write_text(text)
        (tmp_path / "graphfix.toml").write_text(settings)
        done = graphfix("check", "--output-format", "json", "train.py")
        assert done.stderr == b"", done.stderr
        return [one["fix"] for one in json.loads(done.stdout)]

    return run


@pytest.mark.parametrize(("text", "row"), [(METER, METER_ROW), (TOTAL, TOTAL_ROW)])
def test_a_row_makes_a_fix_safe_and_the_finding_says_which(fixes: Callable[..., list[dict[str, object]]], text: str, row: str) -> None:
    (fix,) = fixes(text)
    assert (fix["applicability"], fix["rows"]) == ("unsafe", [row.rstrip()])
    (fix,) = fixes(text, row)
    assert fix["applicability"] == "safe" and "rows" not in fix
    (fix,) = fixes(text, row + "keeps = true\n")
    assert fix["applicability"] == "unsafe"
    (fix,) = fixes(text, row + "backward = true\n") or [{"applicability": "none"}]
    assert fix["applicability"] != "safe"


def test_a_function_that_others_call_runs_its_backward_pass_there(fixes: Callable[..., list[dict[str, object]]]) -> None:
    text = TRAIN.format(imports="import engine", before="", after="list(map(engine.run_pass, [loss]))")
    assert all(fix["applicability"] != "safe" for fix in fixes(text, BACKWARD_ROW))
    by_name = text.replace("import engine", "from engine import run_pass").replace("engine.run_pass", "run_pass")
    assert all(fix["applicability"] != "safe" for fix in fixes(by_name, BACKWARD_ROW))


def test_a_row_says_nothing_of_another_function(fixes: Callable[..., list[dict[str, object]]]) -> None:
    (fix,) = fixes(TOTAL, TOTAL_ROW.replace('"mylib.losses"', '"mylib"') + METER_ROW)
    assert fix["applicability"] == "unsafe"


def test_code_in_sight_goes_before_a_row(fixes: Callable[..., list[dict[str, object]]], tmp_path: Path) -> None:
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib/losses.py").write_text("kept = []\n\n\ndef total(loss):\n    kept.append(loss)\n    loss.backward()\n")
    (tmp_path / "mylib/__init__.py").write_text("")
    assert not fixes(TOTAL, TOTAL_ROW) or fixes(TOTAL, TOTAL_ROW)[0]["applicability"] != "safe"


def test_no_row_is_proposed_for_what_graphfix_knows(fixes: Callable[..., list[dict[str, object]]]) -> None:
    text = TRAIN.format(imports="import copy", before="", after='torch.save(loss, "loss.pt")')
    assert all("rows" not in fix for fix in fixes(text))


def test_the_text_quotes_the_row_and_the_short_form_does_not(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(METER)
    row = 'help: graphfix.toml could say what it does: [[rows]] class = "mylib.Meter", names = "record", returns = "number"'
    assert row in graphfix("check", "train.py").stdout.decode()
    assert "[[rows]]" not in graphfix("check", "--output-format", "concise", "train.py").stdout.decode()


def test_a_function_that_runs_a_backward_pass(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWICE)

    def found() -> tuple[list[str], str]:
        done = graphfix("check", "--output-format", "json", ".")
        return [one["code"] for one in json.loads(done.stdout)], done.stderr.decode()

    assert found() == ([], "")
    (tmp_path / "graphfix.toml").write_text(BACKWARD_ROW)
    assert found() == (["GF203"], "")
    # the answer is kept, and holds for these rows alone
    (tmp_path / "graphfix.toml").write_text(BACKWARD_ROW.replace("backward = true\n", ""))
    assert found() == ([], "")
    (tmp_path / "graphfix.toml").write_text(OLD)
    assert found() == (["GF203"], WARNING)
    assert graphfix("check", "-q", ".").stderr == b""


def test_two_projects_in_one_run_keep_their_rows_apart(graphfix: Run, tmp_path: Path) -> None:
    for name, row in (("a", METER_ROW), ("b", ""), ("c", METER_ROW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(METER)
        (tmp_path / name / "graphfix.toml").write_text(row)
    for jobs in ("1", "2"):
        done = graphfix("check", "--no-cache", "--jobs", jobs, "--output-format", "json", ".")
        found = {one["filename"][0]: one["fix"]["applicability"] for one in json.loads(done.stdout)}
        assert found == {"a": "safe", "b": "unsafe", "c": "safe"}


def test_config_shows_each_row_with_its_file(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(TOTAL_ROW)
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.graphfix]\nextend = 'base.toml'\n{OLD}\n" + METER_ROW.replace("[[rows]]", "[[tool.graphfix.rows]]")
    )
    done = graphfix("config")
    shown = done.stdout.decode().splitlines()
    assert '[[rows]] module = "mylib.losses", names = "total", returns = "number"  # base.toml:1' in shown
    assert '[[rows]] class = "mylib.Meter", names = "record", returns = "number"  # pyproject.toml:5' in shown
    assert any(line.startswith("backward-functions") and line.endswith("pyproject.toml:3; deprecated, write rows") for line in shown)
    assert done.stderr.decode() == WARNING.replace("graphfix.toml:1", "pyproject.toml:3")
    listed = json.loads(graphfix("config", "--output-format", "json").stdout)["rows"]
    assert listed["origin"] == ["base.toml:1", "pyproject.toml:5"] and listed["value"][1]["class"] == "mylib.Meter"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mylib.losses.total", 'names = "total", returns = "number"  # graphfix.toml:1'),
        (".record", 'class = "mylib.Meter", names = "record", returns = "number"  # graphfix.toml:5'),
        ("len", 'module = "builtins", names = "len", returns = "number", whole = true, takes_numbers = true  # graphfix: https://docs.python.org'),
        (".append", 'class = "builtins.list", names = "append", returns = "number", puts = "item"'),
        ("torch.stack", 'module = "torch", names = "stack", returns = "made"  # graphfix: recorded from torch'),
        ("mylib.other", '[[rows]]\nmodule = "mylib"\nnames = "other"\nreturns = "number"'),
        ("mylib.Meter.other", '[[rows]]\nclass = "mylib.Meter"\nnames = "other"\nreturns = "number"'),
    ],
)
def test_config_shows_what_is_known_of_a_call(graphfix: Run, tmp_path: Path, name: str, shown: str) -> None:
    (tmp_path / "graphfix.toml").write_text(TOTAL_ROW + METER_ROW)
    done = graphfix("config", "--row", name)
    assert done.returncode == 0 and shown in done.stdout.decode()


def test_the_row_with_the_last_word_is_shown_first(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(TOTAL_ROW)
    (tmp_path / "graphfix.toml").write_text("extend = 'base.toml'\n" + TOTAL_ROW.replace("number", "made"))
    first, second = graphfix("config", "--row", "mylib.losses.total").stdout.decode().splitlines()
    assert 'returns = "made"  # graphfix.toml:2' in first and second.endswith("# base.toml:1; not used, a row above has the same name")
    shown = json.loads(graphfix("config", "--row", "mylib.losses.total", "--output-format", "json").stdout)
    assert [each["origin"] for each in shown] == ["graphfix.toml:2", "base.toml:1"]


def test_a_wrong_row_is_one_line_and_exit_2(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(METER)
    (tmp_path / "graphfix.toml").write_text(METER_ROW + "\n" + TOTAL_ROW.replace("returns", "return"))
    done = graphfix("check", ".")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "graphfix: error: graphfix.toml:9: rows: 'return' is not a field, did you mean 'returns'?\n"
