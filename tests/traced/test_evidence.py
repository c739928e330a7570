"""What a traced run has shown, used by `check`, `diff` and `apply`: a witness, by which no fix is safe."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from graphfix.model import Applicability, Finding, Fix, Replace, Span
from graphfix.run.engine import SHOWN, by_run, joined

pytestmark = pytest.mark.deep

# it lies in a folder that only the running program knows of
ENGINE = """
class Engine:
    def __init__(self, net):
        self.net = net

    def advance(self, x):
        loss = self.net(x).pow(2).mean()
        self.net.zero_grad()
        loss.backward()
        return {returned}
"""
PROGRAM = """import sys
import torch

sys.path.append("elsewhere")
from machinery import Engine

net = torch.nn.Linear(3, 3)
engine = Engine(net)


def epoch(batches):
    total = 0
    for x in batches:
        score = engine.advance(x)
        total += score
    return total


print(float(epoch([torch.ones(2, 3)] * 4)))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def traced(graphfix: Any, project: Path, returned: str) -> list[dict[str, Any]]:
    (project / "elsewhere" / "machinery.py").write_text(ENGINE.format(returned=returned))
    assert graphfix("trace", "--save", "run.json", "train.py").returncode == 0
    return json.loads((project / "run.json").read_text())["trace"]["values"]


def test_a_total_of_what_only_the_run_knows(graphfix: Any, project: Path) -> None:
    values = traced(graphfix, project, "loss")
    assert {"function": "epoch", "name": "score", "kind": "scalar"}.items() <= next(
        v for v in values if v["name"] == "score"
    ).items()
    assert b"No findings" in graphfix("check", "train.py").stdout
    for jobs in ("1", "2"):
        told = graphfix("check", "train.py", "--evidence", "run.json", "--jobs", jobs)
        assert told.returncode == 1 and b"GF101" in told.stdout and b"fix (unsafe)" in told.stdout
        assert b"only a traced run shows" in told.stdout and b"graphfix apply train.py --evidence run.json" in told.stdout
    graphfix("apply", "train.py", "--evidence", "run.json")
    assert (project / "train.py").read_text() == PROGRAM
    graphfix("apply", "train.py", "--evidence", "run.json", "--unsafe-fixes")
    assert (project / "train.py").read_text() == PROGRAM.replace("total += score", "total += score.item()")
    assert b"No findings" in graphfix("check", "train.py", "--evidence", "run.json").stdout


@pytest.mark.parametrize("returned", ("loss.item()", "loss.detach()"))
def test_a_run_that_shows_no_graph(graphfix: Any, project: Path, returned: str) -> None:
    traced(graphfix, project, returned)
    assert b"No findings" in graphfix("check", "train.py", "--evidence", "run.json").stdout


@pytest.mark.parametrize(
    ("text", "said"),
    (
        (None, b"cannot read run.json"),
        ("", b"run.json: not what"),
        ("[1, 2]", b"run.json: not what"),
        ('{"trace": {"values": [{"file": 1}]}}', b"run.json: not what"),
        ("[" * 100_000, b"run.json: not what"),
    ),
    ids=("missing", "empty", "a list", "other rows", "deep"),
)
def test_bad_evidence_is_one_line(graphfix: Any, project: Path, text: str | None, said: bytes) -> None:
    if text is not None:
        (project / "run.json").write_text(text)
    done = graphfix("check", "train.py", "--evidence", "run.json")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count(b"\n") == 1


def finding(code: str, applicability: Applicability | None) -> Finding:
    span = Span(0, 4)
    repair = None if applicability is None else Fix(applicability, "do", (Replace(span, "done"),))
    return Finding(code, code.lower(), "it is wrong", "a.py", span, (), repair)


def test_a_witness_makes_no_fix_safe() -> None:
    [told] = joined([], [finding("GF101", Applicability.SAFE)], SHOWN)
    assert by_run(told) and told.fix is not None and told.fix.applicability is Applicability.UNSAFE


def test_what_was_found_without_a_run_stays_as_it_is() -> None:
    proven = finding("GF101", Applicability.SAFE)
    assert list(joined([proven], [finding("GF101", Applicability.UNSAFE)], SHOWN)) == [proven]
    [told] = joined([finding("GF101", None)], [finding("GF101", Applicability.SAFE)], SHOWN)
    assert by_run(told) and told.fix is not None


LOOKED_AT = """import weakref
import torch

net = torch.nn.Linear(2, 2)
base, scale = torch.zeros(4), torch.ones(4, requires_grad=True)
with torch.no_grad():
    part = base[:2]
base.mul_(scale)  # nobody may ask `part` for its graph any more


def main():
    gone = []
    for _ in range(4):
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        seen = weakref.ref(loss)
        del loss
        gone.append(seen() is None)
    print(gone)


main()
"""


def test_a_look_at_names_keeps_nothing_alive_and_breaks_nothing(graphfix: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOKED_AT)
    done = graphfix("trace", "--quiet", "train.py")
    assert (done.returncode, done.stdout) == (0, b"[True, True, True, True]\n"), done.stderr


def test_two_findings_at_one_place_are_two() -> None:
    one, two = (
        finding("GF901", Applicability.SAFE),
        dataclasses.replace(finding("GF901", Applicability.SAFE), message="so is this"),
    )
    assert [told.message for told in joined([one], [one, two], SHOWN)] == ["it is wrong", "so is this"]
