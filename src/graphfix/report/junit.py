"""Findings as a JUnit report: one suite for each file, a failure for each finding; what was not analysed is a skipped test."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from graphfix.model import Finding
from graphfix.report.report import problem, unfinished
from graphfix.report.text import Line, Piece, indexes_of, story
from graphfix.report.view import View, legible
from graphfix.run.outcome import Outcome


def lines(view: View) -> Iterator[Line]:
    wanted = (outcome for outcome in view.outcomes if outcome.findings or outcome.failed or outcome.unfinished)
    suites = list(view.each(wanted, lambda outcome: [_suite(view, outcome)]))
    if not suites:
        # a report without a test is taken for one that did not run
        suites = [ElementTree.Element("testsuite", name="graphfix", tests="1", failures="0", errors="0")]
        ElementTree.SubElement(suites[0], "testcase", name="no findings", classname="graphfix")
    root = ElementTree.Element("testsuites", name="graphfix")
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.extend(suites)
    ElementTree.indent(root)
    yield (Piece('<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root).decode()),)


def _suite(view: View, outcome: Outcome) -> ElementTree.Element:
    name = _text(view.name(outcome.path))
    errors, skipped = int(outcome.failed), int(bool(outcome.unfinished))
    count = len(outcome.findings)
    numbers = {"tests": count + errors + skipped, "failures": count, "errors": errors, "skipped": skipped}
    suite = ElementTree.Element("testsuite", {key: str(number) for key, number in numbers.items()}, name=name, package="graphfix")
    if errors:
        case = ElementTree.SubElement(suite, "testcase", name=outcome.status.value, classname=name, file=name)
        ElementTree.SubElement(case, "error", message=_text(problem(outcome)), type=outcome.status.value)
    if skipped:
        case = ElementTree.SubElement(suite, "testcase", name="the rest of the file", classname=name, file=name)
        ElementTree.SubElement(case, "skipped", message=_text(unfinished(outcome)))
    for finding in outcome.findings:
        suite.append(_case(outcome, finding, name))
    return suite


def _case(outcome: Outcome, finding: Finding, name: str) -> ElementTree.Element:
    assert outcome.source is not None
    index = outcome.source.index()
    row, column = index.place(finding.span.start)
    where = index.where(finding.span.start)
    case = ElementTree.Element(
        "testcase", name=f"{finding.code} {finding.name} at {where}", classname=name, file=name, line=str(row), column=str(column)
    )
    failure = ElementTree.SubElement(case, "failure", message=_text(finding.message), type=finding.code)
    told = ("".join(piece.text for piece in line) for line in story(finding, indexes_of(outcome.source)))
    failure.text = "\n".join(_text(line) for line in told)
    return case


def _text(text: str) -> str:
    # XML has no way to write most control characters
    return legible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
