"""Where a frame lies on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.why.errors import Frame
from graphfix.why.places import Locator, Nowhere, Place, same_line

TEXT = "import torch\n\nloss = f()\nloss.backward()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("a/net.py", "b/net.py", "b/train.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEXT)
    return tmp_path


def place(project: Path, file: str, row: int = 4, code: str = "loss.backward()") -> Place:
    found = Locator(project).place(Frame(file, row, code=code))
    assert isinstance(found, Place)
    return found


@pytest.mark.parametrize("file", ["/workspace/exp/b/net.py", "C:\\work\\b\\net.py", "b/net.py", "~/x/b/net.py", "../b/net.py"])
def test_the_longest_end_of_a_path_decides(project: Path, file: str) -> None:
    found = place(project, file)
    assert (found.source.path, found.row, found.note) == (project / "b/net.py", 4, "")


@pytest.mark.parametrize(
    ("file", "reason"), [("/other/net.py", "it may be"), ("gone.py", "there is no gone.py below"), ("", "there is no")]
)
def test_what_is_missing_or_could_be_two_files_is_said(project: Path, file: str, reason: str) -> None:
    found = Locator(project).place(Frame(file, 4))
    assert isinstance(found, Nowhere)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("row", "code", "now", "note"),
    [
        (4, "loss.backward()", 4, ""),
        (4, "", 4, ""),
        (1, "loss.backward()", 4, "train.py has changed since: line 1 of the traceback is line 4 now"),
        (0, "loss.backward()", 4, ""),
        (4, "total.backward()", 4, "train.py has changed since: its line 4 has another text now"),
        (90, "", 5, "train.py has changed since: it has no line 90 any more"),
    ],
)
def test_a_line_that_has_moved_is_found_by_its_text(project: Path, row: int, code: str, now: int, note: str) -> None:
    found = place(project, "train.py", row, code)
    assert (found.row, found.note) == (now, note)


def test_lines_may_be_cut_short_and_spaced_otherwise() -> None:
    assert same_line("loss  = f( x )", "    loss = f( x )")
    assert same_line("loss = criterion(model(x…", "loss = criterion(model(x), y)")
    assert not same_line("loss", "loss.backward()")


def test_of_several_files_it_is_the_one_beside_the_others(project: Path) -> None:
    script, helper = Locator(project).placed([Frame("b/train.py", 4), Frame("../gone/net.py", 4)])
    assert isinstance(script, Place) and isinstance(helper, Place)
    assert helper.source.path == project / "b/net.py"
    _, changed = Locator(project).placed([Frame("b/train.py", 4), Frame("../gone/net.py", 4, code="other.backward()")])
    assert isinstance(changed, Nowhere)
    (alone,) = Locator(project).placed([Frame("../gone/net.py", 4)])
    assert isinstance(alone, Nowhere)
