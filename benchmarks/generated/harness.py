"""Apply the safe fixes to generated programs, and run before and after: does one ever change or break a program?"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.generated.programs import NAMES, program
from benchmarks.generated.running import Run, run, warm
from graphfix.autograd.symptoms import Raises
from graphfix.model import Finding
from graphfix.run.selection import Wanted

_T = TypeVar("_T")
CLOSE = 2e-4
HARMLESS = ("", "same", "repaired", "raises as before")
# what these rules find grows and raises nowhere: an error of the same program is another one's business
GROWING = {"GF101", "GF102", "GF103", "GF305", "GF307", "GF902", "GF903", "GF904"}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
_SHOWN = re.compile(r",? ?grad_fn=<\w+>|,? ?requires_grad=\w+|tensor\(|[()]| at 0x[0-9a-f]+")
# what torch says where a fix may promise to help; an error of another kind that stays is no work of a fix
_OF_GRAPHS = ("a second time", "inplace operation", "one of the variables needed")


@dataclasses.dataclass(frozen=True)
class Result:
    """What the safe fixes did to a program: `verdict` is empty where there was none, and harm starts with HARM."""

    seed: int
    before: str
    after: str
    rules: tuple[str, ...] = ()
    verdict: str = ""
    peaks: tuple[int, int] = (0, 0)

    @property
    def harmed(self) -> bool:
        """Whether a fix changed or broke the program."""
        return self.verdict not in HARMLESS

    @property
    def kind(self) -> str:
        """The verdict without its particulars."""
        return self.verdict.split(":")[0]

    @property
    def sign(self) -> tuple[str, ...]:
        """What a smaller program has to have in common: the kind, and the errors as far as no numbers are in them."""
        return self.kind, *re.findall(r"\w+Error: [^\d(]{0,30}", self.verdict)


def fixed(text: str, seed: int = 0) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The text after all safe fixes, the codes of the rules that made them, and of those with something left to say, marked where that is an error.

    Every second seed takes in the rules that are asked for by name.
    """
    from graphfix.rewrite.fixpoint import repair
    from graphfix.run.texts import Texts

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    path = Path("/nowhere/train.py")
    wanted = Wanted(extend=("GF9",)) if seed % 2 else Wanted()
    done = repair(Texts(path, (path.parent,), lambda _: wanted.conventions), text, wanted)  # type: ignore[arg-type]
    left = {named(finding) + "!" * raises(finding) for finding in done.left}
    return done.text, tuple(sorted({named(finding) for finding in done.fixed})), tuple(sorted(left))


def raises(finding: Finding) -> bool:
    """Whether what the finding tells ends in an error, whatever its rule."""
    return any(isinstance(symptom, Raises) for symptom in finding.symptoms)


def named(finding: Finding) -> str:
    """The rule of a finding, with a plus where what it says only grows."""
    return f"{finding.code}+" if finding.message.endswith("keeps the graph of every iteration alive") else finding.code


def judged(text: str, seed: int = 0) -> Result:
    """What the safe fixes do to the program `text`."""
    try:
        after, rules, left = fixed(text, seed)
    except Exception as error:  # a fault of graphfix is a result, too
        return Result(seed, text, text, (), f"HARM internal: {type(error).__name__}: {error}")
    if after == text:
        return Result(seed, text, text)
    one, two = run(text), run(after)
    said = verdict(one, two, rules, left)
    if said.startswith("HARM still raises") and not _reached(text, after):
        said = "raises as before"
    return Result(seed, text, after, rules, said, (one.peak, two.peak))


def verdict(before: Run, after: Run, rules: Sequence[str] = (), left: Sequence[str] = ()) -> str:
    """What became of a run with the fixes of the `rules`, while others are `left` alone."""
    if not before.error:
        if after.error:
            return f"HARM crash: {after.error}"
        different = differing(before, after)
        if different:
            return f"HARM numbers: {', '.join(different[:4])}"
        if after.peak > before.peak * 1.1 + 8:
            return f"HARM grows: {after.peak} nodes at once, before {before.peak}"
        return "same"
    # an error in a thread ends only the thread: what follows was told with numbers that the repair is to change
    shown = _parts(before.printed) if before.place else []
    if not _alike(shown, _parts(after.printed)[: len(shown)]):
        return "HARM numbers: printed before the error"
    if after.error and not _of_another(before, after, rules, left):
        return f"HARM still raises: {after.error} (before: {before.error})"
    if before.place and not _alike(before.steps, after.steps[: len(before.steps)]):
        return "SUSPECT gradients: the steps before the error have others"
    return "raises as before" if after.error else "repaired"


def _of_another(before: Run, after: Run, rules: Sequence[str], left: Sequence[str]) -> bool:
    """Whether the error that is left is that of a second fault of the program."""
    if len(after.steps) > len(before.steps):
        # the repair let the program get to it
        return True
    ours = any(words in before.error for words in _OF_GRAPHS)
    told = any(rule.endswith("!") or rule.removesuffix("+") not in GROWING for rule in left)
    if not ours and after.place and after.error.split(":")[0] == before.error.split(":")[0]:
        # the types that the message names may be others now
        return True
    return after.error == before.error and (all(rule in GROWING or rule.endswith("+") for rule in rules) or told or not ours)


def _reached(before: str, after: str) -> bool:
    """Whether the program as it was gets to one of the places that were changed."""
    rows = run(before, traced=True).rows
    changes = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    changed = [(start, end) for kind, start, end, *_ in changes if kind != "equal"]
    # what is inserted comes behind the line before it
    return any(not rows.isdisjoint(range(start, end) if end > start else (start - 1,)) for start, end in changed)


def differing(one: Run, two: Run) -> list[str]:
    """The names whose values differ, and whether what was printed does."""
    names = sorted({*one.values, *two.values})
    different = [name for name in names if not _alike(one.values.get(name), two.values.get(name))]
    return different + ([] if _alike(_parts(one.printed), _parts(two.printed)) else ["printed"])


def _parts(printed: str) -> list[Any]:
    """Words and numbers of what was printed; a tensor counts as its number."""
    plain = _SHOWN.sub(" ", printed)
    return [float(part) if _NUMBER.fullmatch(part) else part for part in re.findall(rf"{_NUMBER.pattern}|[^\s\[\],]+", plain)]


def _alike(one: Any, two: Any) -> bool:
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=CLOSE, abs_tol=CLOSE / 10) or math.isnan(one) and math.isnan(two)
    return bool(one == two)


def results(seeds: Sequence[int], jobs: int = 1, families: Sequence[str] = NAMES) -> Iterator[Result]:
    """One result per seed, in order."""
    return spread(functools.partial(_of_seed, families=families), seeds, jobs)


def spread(work: Callable[[_T], Result], items: Sequence[_T], jobs: int) -> Iterator[Result]:
    """The work on each of the items, in order, in forks of a process that has imported what they need."""
    warm()
    fixed("import torch\nloss.backward()\n")
    if jobs <= 1:
        yield from map(work, items)
        return
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=200) as pool:
        yield from pool.imap(work, items, chunksize=1)


def _of_seed(seed: int, families: Sequence[str]) -> Result:
    return judged(program(seed, families), seed)
