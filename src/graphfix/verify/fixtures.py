"""Runs every fixture before and after its repair, on each device, and judges what the runs say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.cases import Case, Kind
from graphfix.verify.compare import Comparison, compare
from graphfix.verify.declared import expected, shows
from graphfix.verify.expected import Expected
from graphfix.verify.launch import Job, launch_all
from graphfix.verify.record import Run
from graphfix.verify.shown import faults, symptom
from graphfix.verify.steady import varies

LIMIT = 120.0  # seconds for one script: an accelerator takes some to start
WALKS = 5  # fewer do not show that nothing grows
OTHER = "other results"  # how a problem begins that a run of its own may explain
WAYS = {
    "cut": "the original, graphs cut off after backward()",
    "retain": "the original, graphs retained",
    "skip": "the original, failing backward() calls left out",
    "copy": "the original, saved tensors copied",
    "walk": "the original, with backward() before each step",
    "train": "the original, with all gradients recorded and stepped",
    "old": "the original as torch 0.3 ran it",
}


@dataclass(frozen=True)
class Runs:
    """The runs of one case on one device."""

    before: Run
    after: Run | None = None
    reference: Run | None = None


@dataclass(frozen=True)
class Verdict:
    """What the runs of one case on one device show. It falls short where there are problems."""

    case: Case
    device: str
    runs: Runs
    symptom: str  # before
    outcome: str  # after
    equal: bool | None  # None: not comparable, and `results` says why
    results: str
    problems: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return not self.problems


def verify(cases: Iterable[Case], devices: Iterable[str], workers: int = 0) -> Iterator[Verdict]:
    """Run all cases on all devices, and yield the verdicts in order, each as soon as its turn has come."""
    tasks = [(case, device) for device in devices for case in cases]
    jobs: list[Job] = []
    parts: list[list[int]] = []
    for case, device in tasks:
        wanted = jobs_of(case, device)
        parts.append(list(range(len(jobs), len(jobs) + len(wanted))))
        jobs += wanted
    done: dict[int, Run] = {}
    turn = 0
    waiting: list[Verdict] = []  # a doubtful one, and what comes behind it
    for index, run in launch_all(jobs, workers):
        done[index] = run
        while turn < len(tasks) and all(part in done for part in parts[turn]):
            case, device = tasks[turn]
            verdict = judge(case, device, Runs(*(done.pop(part) for part in parts[turn])))
            turn += 1
            if waiting or _doubtful(verdict):
                waiting.append(verdict)
            else:
                yield verdict
    yield from _reconsidered(waiting, workers)


def _doubtful(verdict: Verdict) -> bool:
    """Other results are no fault of the repair where the original has others each time."""
    return any(problem.startswith(OTHER) for problem in verdict.problems)


def _reconsidered(verdicts: list[Verdict], workers: int) -> Iterator[Verdict]:
    """Run the originals of the doubtful ones once more: all together, since each server imports torch anew."""
    doubtful = [at for at, verdict in enumerate(verdicts) if _doubtful(verdict)]
    again = dict(launch_all((jobs_of(verdicts[at].case, verdicts[at].device)[0] for at in doubtful), workers))
    second = {at: again[number] for number, at in enumerate(doubtful)}
    for at, verdict in enumerate(verdicts):
        why = varies(verdict.runs.before, second[at]) if at in second else ""
        if why:
            others = [problem for problem in verdict.problems if not problem.startswith(OTHER)]
            verdict = replace(verdict, equal=None, problems=(*others, f"no verdict: {why}"))
        yield verdict


def jobs_of(case: Case, device: str) -> list[Job]:
    """The runs that a case needs: before, after, reference."""
    scripts = [(case.before, "")]
    if case.kind is Kind.PAIR:
        scripts.append((case.after, ""))
        if way := expected(case).reference:
            scripts.append((case.before, way))
    return [Job(str(path), folder=path.parent, device=device, saved=True, reference=way, limit=LIMIT) for path, way in scripts]


def judge(case: Case, device: str, runs: Runs) -> Verdict:
    """What the runs show."""
    if case.kind is Kind.TRAP:
        problems = faults(runs.before)
        return Verdict(case, device, runs, "none: right code", outcome(runs.before), None, "", tuple(problems))
    shown = symptom(case, shows(case.code), runs.before, runs.after)
    problems = [] if shown else [f"before.py does not show the fault: {_end(runs.before)}"]
    if runs.after is None:
        return Verdict(case, device, runs, shown, "not repaired", None, "", tuple(problems))
    problems += [f"after.py: {fault}" for fault in faults(runs.after)]
    if runs.after.clean and len(runs.after.walks) < WALKS:
        problems.append("after.py: too few backward passes to see that nothing grows")
    equal, said, more = results(runs, expected(case))
    return Verdict(case, device, runs, shown, outcome(runs.after), equal, said, (*problems, *more))


def outcome(run: Run) -> str:
    """How a run that should be right went."""
    wrong = faults(run)
    return wrong[0] if wrong else "clean, flat"


def _end(run: Run) -> str:
    return str(run.failure) if run.failure else run.ending.value


def results(runs: Runs, wanted: Expected) -> tuple[bool | None, str, list[str]]:
    """Whether before and after computed the same, in words, and what is wrong about it."""
    before, after = runs.before, runs.after
    assert after is not None
    if not after.clean:
        return None, "", []
    died = not before.clean
    said, problems = [], []
    first = compare(before, after, wanted.losses, wanted.strict)
    # a run that finished is to be matched, unless the repair computes something else on purpose
    binding = first.compared > 0 if died else not (wanted.reference and wanted.reason)
    if first.equal:
        upto = f"equal over {first.steps} backward pass{'es' * (first.steps != 1)} before the error"
        said.append(upto if died else f"equal: {first.compared} numbers")
    elif binding:
        problems.append(f"{OTHER}: {first.reason}")
    equal: bool | None = first.equal if binding or first.equal else None
    if wanted.reference and (died or not first.equal):
        assert runs.reference is not None
        more = _with_reference(runs.reference, after, wanted)
        if more.equal:
            # which goes further than the error
            said = [f"equal to {WAYS[wanted.reference]}: {more.compared} numbers"]
        else:
            problems.append(f"{OTHER} than {WAYS[wanted.reference]}: {more.reason}")
        equal = more.equal and not problems
    elif died and not wanted.reason:
        problems.append("no reference is declared for the results")
    if wanted.reason and (died or not first.equal):
        said.append(wanted.reason)
    return equal, "; ".join(said), problems


def _with_reference(reference: Run, after: Run, wanted: Expected) -> Comparison:
    if not reference.clean:
        return Comparison(False, 0, f"which dies, too: {_end(reference)}")
    if wanted.reference == "train":  # what is trained comes in another order there
        reference, after = in_one_order(reference), in_one_order(after)
    return compare(reference, after, wanted.losses, wanted.strict)


def in_one_order(run: Run) -> Run:
    """A run with its parameters in an order that no optimizer decides."""
    return replace(run, parameters=tuple(sorted(run.parameters, key=lambda each: (each.shape, each.norm))))
