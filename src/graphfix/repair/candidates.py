"""The grammar of repairs: for each effect the edits that may have it, at each point of a witness's path."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from graphfix.analysis.conflicts import Conflict
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Store, StoreKind
from graphfix.interpreter.values import Value
from graphfix.model import Append, Ground, InsertAfter, NoFix, Operation, Replace
from graphfix.repair.behind import behind_walk
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.entering import entering
from graphfix.repair.inside import inside
from graphfix.repair.joins import joins, retained
from graphfix.repair.limits import limits
from graphfix.repair.parts import parts
from graphfix.repair.recompute import moved_up, recomputed, recomputed_whole
from graphfix.repair.removals import removals
from graphfix.repair.resets import resets, resets_between, set_up, unconditional
from graphfix.repair.shapes import detached
from graphfix.repair.witness import Witness, expressions_of, witness_of
from graphfix.source.quote import short

# what can be argued for without a trial, the best first, or why there is no such repair
REASONED: dict[Cause, Callable[[Evidence, SecondBackward], Iterator[Candidate | NoFix]]] = {
    Cause.CARRIED: entering,
    Cause.TOTAL: set_up,
    Cause.EXTERNAL: inside,
    Cause.SEQUENTIAL: joins,
    Cause.REPEATED: removals,
}
GRAMMAR = (parts, resets, resets_between, unconditional, behind_walk)
LATER = (retained, moved_up, recomputed, recomputed_whole)


def proposed(evidence: Evidence, shown: SecondBackward | Conflict) -> list[Candidate | NoFix]:
    """The repairs of a fault that can be argued for without a trial, the best first, or why there is none."""
    if isinstance(shown, Conflict):
        return list(limits(evidence, shown))
    made = REASONED.get(shown.cause)
    found = list(made(evidence, shown)) if made is not None else []
    logged = parts(evidence, witness_of(shown)) if not any(isinstance(each, Candidate) for each in found) else ()
    return sorted([*(each for each in logged if each.is_reasoned), *found], key=lambda each: isinstance(each, NoFix))


def candidates(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """All edits of the grammar for a backward pass that raises, in no order of merit."""
    for make in GRAMMAR:
        yield from make(evidence, witness)
    yield from cuts(evidence, witness)
    yield from cuts_behind(evidence, witness)
    yield from cuts_in_place(evidence, witness)
    for make in LATER:
        yield from make(evidence, witness)


def cuts(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """`.detach()`, in the form that the value needs, behind each expression that has the old graph."""
    for expression, value in expressions_of(evidence, witness.old).items():
        doubt = f"the code does not show whether training is to reach what has computed `{short(ast.unparse(expression), 20)}`"
        yield from cut(evidence, expression, value, Ground.FREED, doubt)


def cuts_behind(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """The same behind a statement that binds the old graph to one of several names, where no expression is the value of one alone."""
    program = evidence.program
    stores = (store for node in witness.old for store in node.stores if isinstance(store, Store) and store.kind is StoreKind.ASSIGNED)
    for store in {each.target: each for each in stores if program.holds(each.target)}.values():
        statement, text = program.statement_of(store.target), ast.unparse(store.target)
        made = detached(store.value, text)
        if made not in (None, text) and isinstance(statement, ast.Assign) and store.target not in statement.targets:
            doubt = f"the code does not show whether training is to reach what has computed `{short(text, 20)}`"
            edit = InsertAfter(program.span(statement), f"{text} = {made}")
            yield Candidate(Effect.CUT, f"detach `{short(text, 30)}`", (edit,), Ground.FREED, doubt)


def cuts_in_place(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """A reset that writes to the tensor itself, as `state.zero_()` does, leaves its graph where it is: `state.detach_().zero_()`."""
    program = evidence.program
    targets = dict.fromkeys(
        write.target for write in witness.run.recording.writes if isinstance(write.target, (ast.Name, ast.Attribute))
    )
    for target in targets:
        statement = program.statement_of(target) if program.holds(target) else None
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.value is target:
            text = program.source(target)
            doubt = f"other names may share the tensor `{short(text, 20)}`, and go on from its graph"
            yield Candidate(
                Effect.CUT,
                f"detach `{short(text, 30)}` where it is reset",
                (Append(program.span(target), ".detach_()"),),
                Ground.FREED,
                doubt,
            )


def kept(evidence: Evidence, nodes: Collection[Node]) -> Iterator[Candidate]:
    """The same behind each expression that has a graph which a place keeps."""
    for expression, value in expressions_of(evidence, tuple(nodes)).items():
        doubt = f"code outside of the analysed code may use the graph of `{short(ast.unparse(expression), 20)}`"
        yield from cut(evidence, expression, value, Ground.UNUSED, doubt)


def cut(evidence: Evidence, expression: ast.expr, value: Value, ground: Ground, doubt: str) -> Iterator[Candidate]:
    """One expression without its graph, if its value is of a kind that is known in all runs."""
    if isinstance(getattr(expression, "ctx", ast.Load()), ast.Load) and expression not in evidence.facts.plain:
        program, text = evidence.program, evidence.program.source(expression)
        made = detached(value, text)
        if made is not None and made != text:
            plain = made == f"{text}.detach()"
            span = program.span(expression)
            operation: Operation = Append(span, ".detach()") if plain else Replace(span, made)
            yield Candidate(Effect.CUT, f"detach `{short(text, 30)}`", (operation,), ground, doubt)
