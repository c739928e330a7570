"""Apply the safe fixes to generated programs, and run before and after: does one ever change or break a program?"""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.generated.programs import program
from benchmarks.generated.running import Run, run, warm
from graphfix.run.selection import Wanted

CLOSE = 2e-4
HARMLESS = ("", "same", "repaired")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
_SHOWN = re.compile(r",? ?grad_fn=<\w+>|,? ?requires_grad=\w+|tensor\(|[()]")
# what torch says where a graph is at fault; of any other error a fix promises nothing
_OF_GRAPHS = ("a second time", "inplace operation", "does not require grad", "one of the variables needed")


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


def fixed(text: str) -> tuple[str, tuple[str, ...]]:
    """The text after all safe fixes, and the codes of the rules that made them."""
    from graphfix.rewrite.fixpoint import repair

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    path = Path("/nowhere/train.py")
    done = repair(path, text, (path.parent,), Wanted())  # type: ignore[arg-type]
    return done.text, tuple(sorted({finding.code for finding in done.fixed}))


def judged(text: str, seed: int = 0) -> Result:
    """What the safe fixes do to the program `text`."""
    try:
        after, rules = fixed(text)
    except Exception as error:  # a fault of graphfix is a result, too
        return Result(seed, text, text, (), f"HARM internal: {type(error).__name__}: {error}")
    if after == text:
        return Result(seed, text, text)
    one, two = run(text), run(after)
    return Result(seed, text, after, rules, verdict(one, two), (one.peak, two.peak))


def verdict(before: Run, after: Run) -> str:
    """What became of a run."""
    if not before.error:
        if after.error:
            return f"HARM crash: {after.error}"
        different = differing(before, after)
        if different:
            return f"HARM numbers: {', '.join(different[:4])}"
        if after.peak > before.peak * 1.1 + 8:
            return f"HARM grows: {after.peak} nodes at once, before {before.peak}"
        return "same"
    if after.error == before.error and not any(words in before.error for words in _OF_GRAPHS):
        return "same"
    if after.error:
        return f"HARM still raises: {after.error} (before: {before.error})"
    shown = _parts(before.printed)
    # what it told until it raised, it has to tell still
    return "repaired" if _alike(shown, _parts(after.printed)[: len(shown)]) else "HARM numbers: printed before the error"


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


def results(seeds: Sequence[int], jobs: int = 1) -> Iterator[Result]:
    """One result per seed, in order."""
    warm()
    fixed("import torch\nloss.backward()\n")  # what the analysis imports is imported once, before the forks
    if jobs <= 1:
        yield from map(_of_seed, seeds)
        return
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=200) as pool:
        yield from pool.imap(_of_seed, seeds, chunksize=4)


def _of_seed(seed: int) -> Result:
    return judged(program(seed), seed)
