"""The golden file tells nothing where nothing has changed, and each kind of change by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.golden.__main__ import main
from benchmarks.golden.corpora import leave_out_repeated
from benchmarks.golden.differences import differences
from benchmarks.golden.recording import Record
from graphfix import codemods
from graphfix.analysis import explore
from graphfix.model import Finding
from graphfix.obligations.inquiry import Open
from graphfix.obligations.obligations import Proof

RIGHT = """\
import torch
w = torch.ones(3, requires_grad=True)
for step in range(3):
    loss = (w * w).sum()
    loss.backward()
    print(loss.item())
"""
WRONG = (
    RIGHT.replace("print(loss.item())", "total = total + loss").replace("for step", "total = 0.0\nfor step") + "print(total)\n"
)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    for name, text in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / "two" / name).mkdir(parents=True)
        (tmp_path / "two" / name / "train.py").write_text(text)
    folder = tmp_path / "golden"
    assert main(["write", str(folder), "two", "--programs", f"two={tmp_path / 'two'}", "--workers", "1"]) == 0
    return folder


def compared(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["compare", str(folder), "--workers", "1", *words])
    return code, capsys.readouterr().out


def test_nothing_is_told_where_nothing_has_changed(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = compared(golden, capsys)
    assert (code, told.startswith("two: 0 differences")) == (0, True)
    written = (golden / "two.jsonl").read_text()
    assert '"rule": "GF101"' in written and '"open": []' in written and '"ended": "finished"' in written
    assert str(golden.parent) not in written


def test_a_rule_that_is_gone_costs_its_findings(
    golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codemods, "RULES", tuple(rule for rule in codemods.RULES if rule.code != "GF101"))
    code, told = compared(golden, capsys, "--only", "findings")
    assert code == 1
    assert "     1 finding: lost" in told and "two: wrong/train.py 7:5-7:25 GF101" in told
    assert "proof" not in told and "repair" not in told
    assert "proof: lost" in compared(golden, capsys)[1]


def test_another_message_is_left_out_on_demand(
    golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = golden / "two.jsonl"
    stored.write_text(stored.read_text().replace("keeps the graph of every iteration alive", "grows"))
    code, told = compared(golden, capsys)
    assert code == 1 and "     1 finding: other message" in told
    assert compared(golden, capsys, "--ignore", "messages")[0] == 0


def test_a_doubt_is_told_with_the_proof_that_failed(
    golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubting(proof: Proof, finding: Finding) -> Iterator[Open]:
        yield Open(proof.place_of(finding), "is doubted")

    monkeypatch.setattr(Proof, "open_of", doubting)
    _, told = compared(golden, capsys)
    assert "proof: discharged -> open" in told and "proof: reason new: is doubted" in told
    assert "finding: applicability safe -> unsafe" in told and "finding: doubt new" in told
    assert "repair: lost" in told


def test_a_smaller_budget_shows_in_the_runs(
    golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = explore.assembled

    def hurried(*given: object) -> object:
        made = begin(*given)  # type: ignore[arg-type]
        made.most = 5
        return made

    monkeypatch.setattr(explore, "assembled", hurried)
    code, told = compared(golden, capsys, "--only", "entries")
    assert code == 1
    assert "run: finished -> OutOfSteps" in told
    assert "file: analysed to the end -> the analysis budget ran out" in told


def test_programs_that_come_go_or_change_are_told_and_not_compared(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = golden.parent / "two"
    (programs / "right" / "train.py").rename(programs / "right" / "moved.py")
    (programs / "wrong" / "train.py").write_text(RIGHT)
    _, told = compared(golden, capsys)
    assert [f"1 program: {kind}" in told for kind in ("gone", "new", "other text, not compared")] == [True] * 3
    assert "finding" not in told


def test_steps_may_differ_by_a_tenth() -> None:
    def kinds(steps: int) -> list[str]:
        run: Record = {"file": "a.py", "kind": "run", "entry": "module", "policy": "usual", "steps": 100, "ended": "finished"}
        file: Record = {"file": "a.py", "kind": "file", "digest": "1", "ended": "analysed to the end"}
        return [each.kind for each in differences([file, run], [file, {**run, "steps": steps}], with_texts=True)]

    assert kinds(110) == []
    assert kinds(111) == ["run: steps more than 10 % apart"]


def test_what_is_wrong_with_the_words_is_told(golden: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["compare", str(tmp_path)]) == 2
    assert main(["compare", str(golden), "three"]) == 2
    assert main(["write", str(golden), "three", "--corpus", "three"]) == 2
    assert (
        main(
            ["write", str(golden), "four", "--only", "findings", "--programs", f"four={golden.parent / 'two'}", "--workers", "1"]
        )
        == 0
    )
    assert main(["compare", str(golden), "four", "--only", "proofs"]) == 2
    assert main(["write", str(golden), "three", "--corpus", f"three={tmp_path / 'nowhere'}"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["golden"] * 5


def test_one_of_two_projects_that_are_the_same_is_left_out(tmp_path: Path) -> None:
    for name, text in (("a", RIGHT), ("b", WRONG), ("c", RIGHT)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(text)
    leave_out_repeated(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]
