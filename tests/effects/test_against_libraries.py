"""The differential test of the rows: each function is called with tensors that have a graph, and does what its row says.

What has a reason under `not_called` is not called. `benchmarks/library_rows.py` calls them, and those of all other libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphfix.effects.rows import row_of, rows_in
from graphfix.effects.schema import Row, rows_of

pytest.importorskip("torch")
pytest.importorskip("numpy")

from benchmarks import library_rows  # noqa: E402

pytestmark = pytest.mark.deep

ROWS = [row for file in ("python.toml", "numpy.toml", "torch.toml") for row in rows_in(file).values() if not row.not_called]


@pytest.fixture(autouse=True)
def same_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is drawn, set or written by one function is so for no other test."""
    monkeypatch.chdir(tmp_path)
    with library_rows.same_state():
        yield


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_function_and_method_does_what_its_row_says(row: Row) -> None:
    assert not library_rows.told_by(row).wrong


def test_what_keeps_nothing_lets_go_of_what_it_is_given() -> None:
    told = [library_rows.told_by(row) for row in ROWS]
    library_rows.still_kept(told)
    assert not [each.row.name for each in told if each.wrong]
    assert sum(each.taken > 0 for each in told) > 1200


def test_a_row_that_says_too_little_is_found() -> None:
    assert told("builtins.reversed", returns="number") == ["gives a graph", "gives a tensor"]
    assert told("builtins.list", returns="number") == ["gives a graph"]
    assert told("operator.iadd", returns="made") == ["changes what it is given"]
    assert told("numpy.array2string", returns="number") == []
    assert told("torch.sin", returns="contents") == ["gives a tensor"]
    assert told("pprint.pformat", returns="number") == ["gives or writes the text of a tensor"]
    assert told("builtins.list.append", returns="number", of_class="builtins.list") == ["puts something into its object"]
    assert told("os.path.nothing", returns="number") == []


def told(name: str, returns: str, of_class: str = "") -> list[str]:
    """What the function of a name does that a row denies which says nothing else."""
    home, _, rest = name.rpartition(".")
    table = {"class" if of_class else "module": home, "names": rest, "returns": returns, "source": "https://example.org"}
    (row,) = rows_of(table)
    return library_rows.told_by(row).wrong


# whole libraries were once taken for such as give numbers
@pytest.mark.parametrize("name", ["math.prod", "random.uniform", "random.triangular", "random.choice", "reversed", "numpy.squeeze", "numpy.swapaxes"])
def test_what_hands_a_graph_through_is_said_to(name: str) -> None:
    row = row_of(name)
    assert row is not None and not row.gives_no_graph
    assert told(row.name, returns="number")
