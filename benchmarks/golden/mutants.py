"""Would the golden file notice if a mechanism of the core were lost?

usage: python -m benchmarks.golden.mutants FOLDER [MUTANT...] [--workers N]

Each mutant is graphfix without one mechanism. It analyses the programs of the repository (`fixtures`, `tests`, `generated`) until one is
told differently than in the golden files of FOLDER, and the first difference is printed. Exit 1: a mutant survives, so that the mechanism
would not be missed. Two mechanisms have no mutant: letting go of memory changes no answer, and fixes that undo one another (`Circle`) are
a fault of the rules that no program shows: tests/rewrite/test_fixpoint.py makes up such rules.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import multiprocessing
import pkgutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.golden.__main__ import compared
from benchmarks.golden.corpora import listed, own
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.interpreter.interning import Key
from graphfix.interpreter.values import Constant
from graphfix.model import Finding, Ground
from graphfix.obligations.inquiry import Open
from graphfix.obligations.obligations import Proof
from graphfix.run.workers import processors

WITHOUT_REPAIRS = frozenset(("findings", "proofs", "entries"))
WITH_REPAIRS = WITHOUT_REPAIRS | {"repairs"}
ROOMS = ("source", "autograd", "interpreter", "models", "analysis", "analysis.flow", "obligations", "repair", "rewrite", "run", "codemods")


def load() -> None:
    """Import every room of the core, so that a mutant is everywhere where the mechanism has been imported by its name."""
    for room in ROOMS:
        package = importlib.import_module(f"graphfix.{room}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"graphfix.{room}.{module.name}")


def put(place: str, new: object, *, only_there: bool = False) -> None:
    """Put `new` in the place of what is called `module:name` or `module:Class.name`, in all modules that have imported it."""
    module, _, name = place.partition(":")
    holder: Any = importlib.import_module(f"graphfix.{module}")
    *classes, name = name.split(".")
    for each in classes:
        holder = getattr(holder, each)
    old = vars(holder)[name]
    setattr(holder, name, new)
    if not classes and not only_there and not isinstance(old, (int, tuple)):
        for other in [each for key, each in sys.modules.items() if key.startswith("graphfix.")]:
            for alias in [key for key, value in vars(other).items() if value is old]:
                setattr(other, alias, new)


def always(answer: object) -> Callable[..., object]:
    return lambda *given, **named: answer


def unkept(m: Any, key: object, site: object, negated: bool = False) -> bool:
    """Each question is answered anew."""
    iteration = m.context[-1][1] if m.context else 0
    return bool(m.ask(site, iteration, key, negated) is not negated)


def never_alike(key: object) -> object:
    """No two questions are the same."""
    return Key(key, 1) if type(key) is tuple else key


def shallow(m: Any, value: Any, site: object, why: str) -> None:
    """What escapes takes nothing along."""
    m.recording.given.append(value)
    if value.node is not None:
        m.recording.escapes.setdefault(value.node, []).append((site, why, m.order))


def changed_question(change: Callable[[Finding], Finding], answer: Callable[[Open], Open]) -> None:
    """Ask another question, and give back another answer."""
    open_of = Proof.open_of

    def asked(proof: Proof, finding: Finding) -> Iterator[Open]:
        return map(answer, open_of(proof, change(finding)))

    put("obligations.obligations:Proof.open_of", asked)


def without_contradictions() -> None:
    changed_question(lambda finding: finding, lambda each: dataclasses.replace(each, contradicted=False))


def without_grounds() -> None:
    def change(finding: Finding) -> Finding:
        assert finding.fix is not None
        return dataclasses.replace(finding, fix=dataclasses.replace(finding.fix, ground=Ground.UNUSED))

    changed_question(change, lambda each: each)


def without_guards() -> None:
    from graphfix.analysis.flow.following import Following

    way = Following.way
    put("analysis.flow.following:Following.way", lambda self, edge: way(self, edge)._replace(guard=0))


def without_ends() -> None:
    """A question that leads through too many states ends as if there were no more."""
    from graphfix.analysis.flow.following import Following

    follow = Following.follow

    def followed(self: Any, starts: Any, held: Any, without: Any, past: Any, most: int) -> Any:
        seen, told = follow(self, starts, held, without, past, most)
        if len(seen) > most:
            told.popitem()
        return seen, told

    put("analysis.flow.following:Following.follow", followed)


def without_coinduction() -> None:
    """What is true of a value only if it is true of itself is not true."""
    code = true_of_itself(lambda owner, value: True).__code__

    def inductive(question: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        asked: set[tuple[int, Any]] = set()

        def answer(owner: Any, value: Any) -> bool:
            key = id(owner), value
            if key in asked:
                return False
            asked.add(key)
            try:
                return question(owner, value)
            finally:
                asked.remove(key)

        return answer

    for module in [each for key, each in sys.modules.items() if key.startswith("graphfix.")]:
        for holder in (module, *[each for each in vars(module).values() if isinstance(each, type)]):
            for name, question in list(vars(holder).items()):
                if getattr(question, "__code__", None) is code:
                    setattr(holder, name, inductive(question.__wrapped__))


def enter_anew(m: Any, function: Any, arguments: Any, keywords: Any, site: Any) -> object:
    from graphfix.interpreter.calls import run_function

    return run_function(m, function, arguments, keywords, site)


NO = always(False)
NONE, NOTHING, YES = always(None), always(()), always(True)
# mechanism -> what switches it off
MUTANTS: dict[str, Callable[[], None]] = {
    "rounds": partial(put, "interpreter.iteration:rounds", always(2)),
    "is_unsettled": partial(put, "interpreter.boundaries:is_unsettled", NO),
    "further": partial(put, "autograd.iteration:is_further", NO),
    "goes_on": partial(put, "interpreter.iteration:goes_on", NO),
    "retain_graph=i < n - 1": partial(put, "interpreter.conditions:is_followed", NONE),
    "Counted": partial(put, "interpreter.statements:counted", lambda m, s, target, value, op, step: value),
    "Counted: it goes on": partial(put, "interpreter.statements:Counted", lambda value, up: Constant(value), only_there=True),
    "interned keys": partial(put, "interpreter.interning:interned", never_alike),
    "decide": partial(put, "interpreter.interpreter:Interpreter.decide", unkept),
    "Contradicted": partial(put, "analysis.explore:MOST_CORRECTIONS", 0),
    "refused kinds": partial(put, "interpreter.refusals:refuse_other_kinds", NONE),
    "a check is taken as passed": partial(put, "interpreter.statements:is_raise", NO, only_there=True),
    "snapshots: serves": partial(put, "interpreter.snapshot:Beginning.serves", property(YES)),
    "snapshots: restore": partial(put, "interpreter.snapshot:Snapshot.restore", NONE),
    "is_sure": partial(put, "analysis.contributors:Facts.is_sure", YES),
    "is_sure of a store": partial(put, "analysis.growing_places:is_sure", YES),
    "Shown": partial(put, "analysis.shown:Shown.__contains__", NO),
    "way_from": partial(put, "analysis.contributors:way_from", lambda root: (None, set())),
    "brought_by": partial(put, "analysis.contributors:brought_by", NOTHING),
    "ensure_graph": partial(put, "interpreter.interpreter:Interpreter.ensure_graph", NONE),
    "element nodes": partial(put, "interpreter.interpreter:Interpreter.element", lambda m, value, slot, site: value.node),
    "guessed": partial(put, "models.tensor_methods:guessed_leaves", always(frozenset())),
    "trained": partial(put, "analysis.second_backward:is_trained", NO),
    "brings": partial(put, "analysis.second_backward:brings", YES),
    "is_live": partial(put, "analysis.second_backward:is_live", YES),
    "also_carried": partial(put, "analysis.second_backward:also_carried", lambda *given: {}),
    "serve_one_step": partial(put, "analysis.second_backward:serve_one_step", NO),
    "may_be_put_back": partial(put, "analysis.second_backward:may_be_put_back", NO),
    "happens_always": partial(put, "analysis.second_backward:happens_always", YES),
    "contradicted findings": without_contradictions,
    "grounds": without_grounds,
    "as_tensors": partial(put, "obligations.proof:as_tensors", lambda proof, fix: fix),
    "widens": partial(put, "obligations.proof:widens", NO),
    "working_walks": partial(put, "analysis.evidence:working_walks", lambda run: []),
    "halving": partial(put, "autograd.health:Health.worse_than", always("")),
    "escapes through all parents": partial(put, "interpreter.interpreter:Interpreter.escape", shallow),
    "in hand at the end of a budget": partial(put, "interpreter.interpreter:Interpreter.in_hand", lambda m: []),
    "memos": partial(put, "interpreter.calls:enter", enter_anew),
    "swallowed": partial(put, "analysis.flow.swallowed:swallowed", NONE),
    "swallowed: tasks": partial(put, "analysis.flow.swallowed:is_awaited", YES),
    "swallowed: xfail": partial(put, "analysis.flow.swallowed:EXPECTING", ()),
    "swallowed: generators as managers": partial(put, "analysis.flow.swallowed:holds_its_yield", NO),
    "FORMULAS_BESIDES": partial(put, "obligations.obligations:FORMULAS_BESIDES", frozenset()),
    "other formulas": partial(put, "obligations.obligations:words_with", always(frozenset()), only_there=True),
    "BY_MODE": partial(put, "obligations.unrecorded:BY_MODE", frozenset()),
    "call-string guards": without_guards,
    "back aliases": partial(put, "analysis.flow.following:Following.back", NOTHING),
    "Old of +=": partial(put, "analysis.flow.statements:Old", lambda statement: statement, only_there=True),
    "coinduction": without_coinduction,
    "an end by MAX_STATES": without_ends,
}
IN_REPAIRS = ("halving",)  # what only the repair of a file shows


def first_difference(name: str, folder: Path) -> str:
    """What is first told differently without the mechanism; empty where nothing is."""
    MUTANTS[name]()
    corpora = listed(folder)
    parts = WITH_REPAIRS if name in IN_REPAIRS else WITHOUT_REPAIRS
    for corpus in [corpora[each] for each in own(folder) if each in corpora]:
        for each in compared(folder, corpus, parts, 1, with_texts=True):
            return f"{each.kind}, {corpus.name}: {each.place}"
    return ""


def looked_at(name: str, folder: Path) -> tuple[str, str, float]:
    started = time.perf_counter()
    return name, first_difference(name, folder), time.perf_counter() - started


def survivors(names: Sequence[str], folder: Path, workers: int) -> Iterable[str]:
    """The mutants that change nothing; each is looked at in a process of its own."""
    load()
    with multiprocessing.get_context("fork").Pool(workers, maxtasksperchild=1) as pool:
        for name, found, seconds in pool.imap_unordered(partial(looked_at, folder=folder), names, chunksize=1):
            print(f"{name:<36} {found or 'SURVIVES'} ({seconds:.0f} seconds)", flush=True)
            if not found:
                yield name


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("mutants", nargs="*", metavar="MUTANT")
    parser.add_argument("--workers", type=int, default=processors(), metavar="N")
    options = parser.parse_args(words)
    unknown = [name for name in options.mutants if name not in MUTANTS]
    if unknown:
        parser.error(f"there is no mutant {unknown[0]!r}; there are {', '.join(MUTANTS)}")
    names = options.mutants or list(MUTANTS)
    left = list(survivors(names, options.folder, options.workers))
    print(f"{len(left)} of {len(names)} mutants survive", *left, sep="\n  ")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
