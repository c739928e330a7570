"""What a fix does to further files, and whether it may change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Append, Applicability, Edit, Finding, Fix, Span
from graphfix.run.elsewhere import may_change, parts_of
from graphfix.run.outcome import Elsewhere
from graphfix.source.text import Source


def finding_in(folder: Path, *operations: Append) -> tuple[Source, Finding]:
    path = folder / "one.py"
    path.write_text("a(x)\n")
    fix = Fix(Applicability.SAFE, "detach", operations)
    return Source(path, "a(x)\n"), Finding("GF101", "name", "message", str(path), Span(0, 4), fix=fix)


def test_each_file_gets_its_part(tmp_path: Path) -> None:
    other = tmp_path / "two.py"
    other.write_text("b(yy)\n")
    source, finding = finding_in(tmp_path, Append(Span(2, 3), ".detach()"), Append(Span(2, 4, str(other)), ".detach()"))
    assert list(parts_of(source, finding)) == [
        Elsewhere(source.path, "a(x)\n", (Edit(Span(3, 3), ".detach()"),)),
        Elsewhere(other, "b(yy)\n", (Edit(Span(4, 4), ".detach()"),)),
    ]


def test_a_fix_in_one_file_has_no_other_parts(tmp_path: Path) -> None:
    assert list(parts_of(*finding_in(tmp_path, Append(Span(2, 3), ".detach()")))) == []


@pytest.mark.parametrize("text", ["# graphfix: skip-file\nb(yy)\n", None])
def test_what_may_not_be_changed_takes_the_other_parts_along(tmp_path: Path, text: str | None) -> None:
    other = tmp_path / "two.py"
    if text is not None:
        other.write_text(text)
    source, finding = finding_in(tmp_path, Append(Span(2, 3), ".detach()"), Append(Span(2, 4, str(other)), ".detach()"))
    assert not may_change(other)
    assert list(parts_of(source, finding)) == []
