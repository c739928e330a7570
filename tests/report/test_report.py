from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphfix.model import PAGE, Append, Applicability, Edit, Finding, Fix, Label, Span
from graphfix.report.jsonform import records
from graphfix.report.remedy import remedy
from graphfix.report.report import Report
from graphfix.run.outcome import Outcome, Status
from graphfix.source.text import Source


def finding(applicability: Applicability | None) -> Finding:
    fix = Fix(applicability, "title", (Append(Span(0, 1), ".item()"),)) if applicability else None
    return Finding("GF101", "accumulated-graph", "message", "x.py", Span(0, 1), fix=fix)


SAFE, UNSAFE, NONE = finding(Applicability.SAFE), finding(Applicability.UNSAFE), finding(None)


def report(*outcomes: Outcome, unsafe: bool = False) -> Report:
    return Report(unsafe, list(outcomes))


def outcome(name: str, *findings: Finding, **rest: object) -> Outcome:
    return Outcome(Path(name), findings=findings, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (report(), "No findings; checked 0 files"),
        (report(outcome("a.py")), "No findings; checked 1 file"),
        (report(outcome("a.py", NONE)), "Found 1 finding in 1 file; checked 1 file"),
        (
            report(
                outcome("a.py", SAFE, UNSAFE),
                outcome("b.py", NONE),
                *(outcome(f"c{number}.py") for number in range(118)),
                *(Outcome(Path(name), Status.UNREADABLE, "null byte") for name in "de"),
            ),
            "Found 3 findings in 2 files (1 fixable with apply, 1 with --unsafe-fixes); checked 120 files, 2 could not be read",
        ),
        (report(outcome("a.py", UNSAFE), unsafe=True), "Found 1 finding in 1 file (1 fixable with apply); checked 1 file"),
        (
            report(Outcome(Path("a"), Status.SKIPPED), Outcome(Path("b"), Status.INTERNAL)),
            "No findings; checked 0 files, 1 skipped, 1 failed inside graphfix",
        ),
    ],
)
def test_the_summary_counts_what_was_found(made: Report, words: str) -> None:
    assert made.found() == words


def test_the_summary_counts_what_was_repaired() -> None:
    made = report(outcome("a.py", UNSAFE, before=b"a", after=b"b", fixed=(SAFE, SAFE)), outcome("b.py", NONE))
    words = "2 findings in 1 file, 2 findings left (1 fixable with --unsafe-fixes); checked 2 files"
    assert made.repaired(dry_run=False) == f"Fixed {words}"
    assert made.repaired(dry_run=True) == f"Would fix {words}"
    assert report(outcome("a.py")).repaired(dry_run=False) == "Nothing to fix; checked 1 file"


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (Outcome(Path("a.py"), Status.UNREADABLE, "null byte", 3, 4), "a.py:3:4: cannot be read: null byte"),
        (Outcome(Path("a.py"), Status.SKIPPED, "too deep"), "a.py: skipped (too deep)"),
        (Outcome(Path("a.py"), Status.INTERNAL, "KeyError: \x1b"), "a.py: internal error: KeyError: \\x1b"),
        (Outcome(Path("a.py"), Status.UNWRITABLE, "read-only"), "a.py: not written: read-only"),
        (outcome("a.py", broken=((SAFE, "does not parse"),)), "a.py: internal error: GF101: does not parse"),
    ],
)
def test_every_failure_is_one_line_and_exit_code_2(one: Outcome, line: str) -> None:
    assert list(report(one).problems()) == [line]
    assert report(one).exit_code(changes_count=False) == 2


def test_exit_codes_tell_findings_from_pending_changes() -> None:
    fixed = outcome("a.py", before=b"a", after=b"b", fixed=(SAFE,))
    assert report(outcome("a.py")).exit_code(changes_count=True) == 0
    assert report(outcome("a.py", SAFE)).exit_code(changes_count=False) == 1
    assert report(fixed).exit_code(changes_count=False) == 0
    assert report(fixed).exit_code(changes_count=True) == 1


def test_json_has_the_shape_of_the_contract() -> None:
    text = "# é\nabc\n"
    fix = Fix(Applicability.UNSAFE, "title", (Append(Span(5, 6), "!"),))
    story = (Label("x\udcff.py", Span(6, 7), "here"),)
    found = Finding("GF101", "accumulated-graph", "message", "x\udcff.py", Span(5, 8), story, fix)
    source = Source(Path("x\udcff.py"), text)
    made = outcome("x\udcff.py", found, NONE, source=source, edits=((Edit(Span(6, 6), "!"),), ()))
    first, second = json.loads(json.dumps(list(records([made]))))
    assert first == {
        "code": "GF101",
        "name": "accumulated-graph",
        "severity": "error",
        "message": "message",
        "filename": "x\\xff.py",
        "location": {"row": 2, "column": 1},
        "end_location": {"row": 2, "column": 4},
        "cell": None,
        "story": [{"filename": "x\\xff.py", "row": 2, "column": 2, "message": "here"}],
        "fix": {
            "applicability": "unsafe",
            "message": "title",
            "reason": None,
            "edits": [{"content": "!", "location": {"row": 2, "column": 2}, "end_location": {"row": 2, "column": 2}}],
        },
        "unfixed": None,
        "url": PAGE.format(code="GF101"),
    }
    assert second["fix"] is None and second["unfixed"]["help"] == ""


def test_json_has_both_of_two_repairs() -> None:
    fix, other = (
        Fix(Applicability.UNSAFE, title, (Append(Span(0, 3), text),), doubt="?") for title, text in (("one", ".a"), ("two", ".b"))
    )
    found = Finding("GF101", "name", "message", "x.py", Span(0, 3), fix=fix, another=other)
    source = Source(Path("x.py"), "abc\n")
    edits = tuple(((Edit(Span(3, 3), text),),) for text in (".a", ".b"))
    (record,) = records([outcome("x.py", found, source=source, edits=edits[0], others=edits[1])])
    first, second = record["fix"], record["another_fix"]
    assert isinstance(first, dict) and isinstance(second, dict)
    assert (first["message"], second["message"], second["edits"][0]["content"]) == ("one", "two", ".b")
    assert list(remedy(found)) == ["fix (unsafe): one", "not proven safe: ?", "or (unsafe): two", "not proven safe: ?"]


def test_a_file_that_was_not_analysed_to_the_end_is_in_json() -> None:
    outcome = Outcome(Path("big.py"), unfinished="the analysis budget ran out")
    (record,) = json.loads(json.dumps(list(records([outcome]))))
    assert (record["code"], record["filename"], record["severity"], record["fix"]) == ("unfinished", "big.py", "note", None)
    assert "not analysed to the end: the analysis budget" in record["message"]


def test_a_file_not_analysed_to_the_end_is_counted_and_fails_where_that_is_asked_for() -> None:
    outcomes = [Outcome(Path("a.py")), Outcome(Path("big.py"), unfinished="the analysis budget ran out")]
    report = Report(outcomes=outcomes)
    assert report.found() == "No findings; checked 2 files, 1 not to the end"
    assert report.repaired(dry_run=False) == "Nothing to fix; checked 2 files, 1 not to the end"
    assert report.exit_code(changes_count=False) == 0
    assert Report(outcomes=outcomes, whole=True).exit_code(changes_count=False) == 2
    assert Report(outcomes=outcomes[:1], whole=True).exit_code(changes_count=False) == 0


@pytest.mark.parametrize(
    ("unfinished", "paths", "command"),
    [
        ("the analysis budget ran out", ["."], "Next: graphfix trace big.py"),
        ("main.py: the analysis budget ran out", ["big.py"], "Next: graphfix check ."),
        ("main.py: the analysis budget ran out", ["."], ""),
        ("", ["."], ""),
    ],
)
def test_what_shows_the_rest_of_a_file_is_named(unfinished: str, paths: list[str], command: str) -> None:
    report = Report(outcomes=[Outcome(Path("big.py"), unfinished=unfinished)])
    assert "".join(piece.text for piece in report.next_step(paths)) == command
