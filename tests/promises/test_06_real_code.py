"""Promise 6: real code never makes it crash; what it finds there is compared with what it found before."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
from benchmarks import real_code

pytestmark = pytest.mark.deep

FILES = int(os.environ.get("GRAPHFIX_FILES", "500"))  # 6,000 before a release: there are no more
LIBRARY = Path(sysconfig.get_path("stdlib"))
CHUNKS = 10  # so that several processes share them


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_standard_library_has_an_outcome_for_each_file(chunk: int) -> None:
    files = real_code.sampled(LIBRARY, FILES)[chunk::CHUNKS]
    tally = real_code.run_over(LIBRARY, files, 1)
    assert sum(tally.outcomes.values()) == len(files) >= min(FILES, 400) // CHUNKS
    assert tally.faults == []
    # it knows nothing of graphs
    assert tally.findings == []


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_of_it_is_analysed_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """Most of these files end before the analysis, as they spell nothing of graphs."""
    monkeypatch.setattr("graphfix.run.examine._may_matter", lambda *_: True)
    monkeypatch.setattr(graphfix.run.engine, "is_relevant", lambda *_: True)
    tally = real_code.run_over(LIBRARY, real_code.sampled(LIBRARY, FILES // 16)[chunk::CHUNKS], 1)
    assert tally.faults == []


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_torch_itself_is_examined(chunk: int) -> None:
    found = importlib.util.find_spec("torch")
    assert found is not None and found.submodule_search_locations
    torch = Path(found.submodule_search_locations[0])
    tally = real_code.run_over(torch, real_code.sampled(torch, FILES // 10)[chunk::CHUNKS], 1)
    assert tally.faults == [] and tally.outcomes["examined"] > 0


def test_what_came_and_what_went_is_shown(tmp_path: Path, loops: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/one.py").write_text(loops.both)
    (tmp_path / "code/two.py").write_text(loops.clean)
    words = [str(tmp_path / "code"), "--stored", str(tmp_path / "list"), "--jobs", "1"]
    assert real_code.main([*words, "--write"]) == 0
    stored = (tmp_path / "list").read_text().splitlines()
    assert [line.partition(":")[0] for line in stored] == ["one.py"] * len(stored) and stored
    assert real_code.main(words) == 0
    (tmp_path / "code/one.py").write_text(loops.clean)
    (tmp_path / "code/two.py").write_text(loops.total)
    capsys.readouterr()
    assert real_code.main(words) == 1
    shown = capsys.readouterr().out.splitlines()[1:]
    assert sorted(line[:5] for line in shown) == ["+ two", *["- one"] * len(stored)]


def test_a_file_that_ends_in_a_fault_of_graphfix_is_named(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*words: object) -> None:
        raise LookupError("of ours")

    (tmp_path / "x.py").write_text(loops.total)
    monkeypatch.setattr(graphfix.run.engine, "analyse", fails)
    assert real_code.main([str(tmp_path), "--jobs", "1"]) == 1
    assert "! x.py: LookupError: of ours" in capsys.readouterr().out
