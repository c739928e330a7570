"""The verdict: what is asked of a case, on toy runs and on broken fixtures."""

from __future__ import annotations

from pathlib import Path

from graphfix.codemods import RULES
from graphfix.verify.cases import Case, Kind, bundled, cases_in, chosen
from graphfix.verify.declared import expected
from graphfix.verify.expected import SAME, Expected
from graphfix.verify.fixtures import WAYS, Runs, jobs_of, judge
from graphfix.verify.record import Ending, Failure, Run

CASES = cases_in(bundled())
SECOND = Failure("RuntimeError", "Trying to backward through the graph a second time (or", "before.py", 7)


def test_what_is_expected_is_of_cases_that_exist() -> None:
    own = [case for case in CASES if case.expected.is_file()]
    assert own and {case.path / "expected.toml" for case in own} == set(bundled().rglob("*.toml"))
    assert all(case.kind is Kind.PAIR for case in own)
    for wanted in (*map(expected, own), *(rule.results for rule in RULES if rule.results != SAME)):
        assert wanted.reference or wanted.reason
        assert wanted.reference in {"", *WAYS}


def test_a_case_may_expect_something_else_than_its_rule() -> None:
    other, own = chosen(CASES, (), ("GF301/log_in_between", "GF301/summed_pair"))
    assert expected(other) == Expected("retain", joins=True)
    assert expected(own) == Expected("retain", "several backward() calls become one, over the sum of their losses", losses=False)


def test_cases_are_chosen_by_code_and_name() -> None:
    assert {case.code for case in chosen(CASES, ("GF20",))} == {"GF201", "GF202", "GF203", "GF204", "GF205"}
    assert [case.key for case in chosen(CASES, (), ("gru_state",))] == ["GF201/gru_state"]
    assert chosen(CASES, ("GF1",), ("gru_state",)) == []


def test_a_case_runs_before_after_and_reference() -> None:
    (case,) = chosen(CASES, (), ("GF201/gru_state",))
    assert [(Path(job.script).name, job.reference, job.device) for job in jobs_of(case, "cpu")] == [
        ("before.py", "", "cpu"),
        ("after.py", "", "cpu"),
        ("before.py", "cut", "cpu"),
    ]
    (trap,) = chosen(CASES, (), ("ok_repackaged",))
    assert len(jobs_of(trap, "cpu")) == 1


def test_a_fault_that_does_not_show_falls_short() -> None:
    case = Case(Path("GF201-carried-state/x"), Kind.PAIR)
    runs = Runs(Run(Ending.FINISHED, 0), Run(Ending.FINISHED, 0), Run(Ending.FINISHED, 0))
    verdict = judge(case, "cpu", runs)
    assert verdict.symptom == ""
    assert verdict.problems[0] == "before.py does not show the fault: finished"


def test_a_script_that_dies_for_another_reason_shows_no_fault() -> None:
    case = Case(Path("GF201-carried-state/x"), Kind.PAIR)
    lost = Run(Ending.FAILED, 1, Failure("FileNotFoundError", "no data.csv"))
    verdict = judge(case, "cpu", Runs(lost, lost, lost))
    assert not verdict.good
    assert "no data.csv" in verdict.problems[0]


def test_a_trap_has_to_run() -> None:
    case = Case(Path("GF201-carried-state/ok_x.py"), Kind.TRAP)
    assert judge(case, "cpu", Runs(Run(Ending.FAILED, 1, SECOND))).problems
    assert judge(case, "cpu", Runs(Run(Ending.FINISHED, 0))).problems == ("no backward pass finished",)


def test_rules_without_a_word_expect_the_same_results() -> None:
    assert expected(Case(Path("GF101-accumulated-graph/any"), Kind.PAIR)) == SAME
