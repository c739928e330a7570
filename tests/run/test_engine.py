"""One file through the analysis: what a fault of one rule costs, and what is said of an analysis that ended early."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.analysis.explore
import graphfix.codemods
import graphfix.obligations.proof
import graphfix.run.engine
from graphfix.analysis.evidence import Evidence
from graphfix.model import Finding
from graphfix.run.engine import analyse, findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.precedence import told_once
from graphfix.run.selection import Wanted

HERE = Path("train.py")
OPTIONAL = """\
import torch
from torch.autograd import Variable

net = torch.nn.Linear(4, 1)
x = Variable(torch.randn(2, 4))
print(net(x).sum().data[0])
"""


def break_rule(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """The rule raises once it has yielded what it finds."""

    def find(evidence: Evidence) -> Iterator[Finding]:
        yield from before.find(evidence)
        raise KeyError("odd")

    before = next(rule for rule in graphfix.codemods.RULES if rule.code == code)
    rules = tuple(dataclasses.replace(rule, find=find) if rule is before else rule for rule in graphfix.codemods.RULES)
    monkeypatch.setattr(graphfix.codemods, "RULES", rules)


def test_a_rule_that_raises_costs_its_own_findings(loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {finding.code for finding in told_once(analyse(HERE, loops.both).findings)} == {"GF101", "GF901"}
    break_rule(monkeypatch, "GF101")
    left = analyse(HERE, loops.both)
    assert {finding.code for finding in told_once(left.findings)} == {"GF901"}
    assert [(fault.code, str(fault.error)) for fault in left.faults] == [("GF101", "'odd'")]


def test_who_wants_findings_alone_is_told_of_the_fault(loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    break_rule(monkeypatch, "GF101")
    with pytest.raises(KeyError, match="odd"):
        findings_of(HERE, loops.both)


def test_no_proof_is_sought_of_what_nobody_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(evidence: Evidence, findings: list[Finding]) -> Iterator[Finding]:
        asked.extend(finding.code for finding in findings)
        yield from proven(evidence, findings)

    proven = graphfix.obligations.proof.proven
    monkeypatch.setattr(graphfix.obligations.proof, "proven", noted)
    path = tmp_path / "train.py"
    path.write_text(OPTIONAL)
    assert [finding.code for finding in examine(path, Job((tmp_path,))).findings] == asked == ["GF901"]
    told = examine(path, Job((tmp_path,), Wanted(extend=("GF903",)))).findings
    assert [finding.code for finding in told] == ["GF903", "GF901"]


def test_a_comment_that_silences_what_nobody_asked_for_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(OPTIONAL.replace("4))\n", "4))  # graphfix: ignore[GF903]\n"))
    assert examine(path, Job((tmp_path,))).unused == ()
    path.write_text(OPTIONAL.replace("4))\n", "4))  # graphfix: ignore[GF904]\n"))
    assert [code for _, code in examine(path, Job((tmp_path,))).unused] == ["GF904"]


def test_an_analysis_that_ended_early_says_so(loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    branches = "if len(x) > 3:\n    model(x).sum().backward()\n"
    assert analyse(HERE, loops.clean + branches).unfinished == ""
    monkeypatch.setattr(graphfix.analysis.explore, "TOTAL_STEPS", 10)
    monkeypatch.setattr(graphfix.analysis.explore, "LEAST_STEPS", 10)
    assert "analysis budget ran out" in analyse(HERE, loops.clean + branches).unfinished


TAKEN = """\
import torch
i = k = index = position = which = 0
net = torch.nn.Linear(2, 2)
shared = net(torch.ones(2)).relu()
losses = [shared.sum(), shared.mean(), shared.norm()]
for loss in losses:
    loss.backward(retain_graph=True)
"""


def test_a_fix_that_needs_a_name_finds_one_where_all_usual_ones_are_taken() -> None:
    (finding,) = findings_of(HERE, TAKEN)
    assert finding.fix is not None and "i2, loss" in str(finding.fix.operations)


def test_a_file_without_a_repair_is_parsed_once(loops: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.py"
    path.write_text(loops.clean + "# parsed once\n")
    texts: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *words, **options: texts.append(text) or parse(text, *words, **options))
    assert examine(path, Job((tmp_path,), ahead=True)).findings == ()
    assert texts == [path.read_text()]
