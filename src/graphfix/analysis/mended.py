"""What a repair does away with besides the fault that it is for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator

from graphfix.analysis.evidence import Evidence, as_detached
from graphfix.analysis.growing_places import GrowingPlace
from graphfix.analysis.region import Region
from graphfix.analysis.subject import Subject
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import split_loop
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Mapping, Sequence, Value
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

Ends = Callable[[Subject], bool]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DISPLAYS = (ast.List, ast.Dict, ast.ListComp, ast.DictComp)
CONTAINERS = frozenset(("list", "dict", "deque", "defaultdict", "OrderedDict"))


def kept(evidence: Evidence, place: GrowingPlace, stores: Iterable[Store]) -> Subject:
    """The subject of a finding about the graphs that `stores` keep in a place: it is repaired by cutting them."""
    stores = list(stores)
    nodes = frozenset(node for store in stores for node in store.nodes)
    return Subject(
        about=frozenset(map(kept_node, nodes)),
        nodes=nodes,
        targets=frozenset(store.target for store in stores),
        ways=frozenset(tuple(statement for _, statement in store.trace) for store in stores if store.nodes),
        parts=tuple((evidence.program.span(each), brought_by(evidence, each)) for each in place.expressions),
        ends=by_cutting(evidence, place.expressions) if place.expressions else None,
        given=parameter_of(evidence, place.expressions),
    )


def kept_node(node: Node) -> object:
    """What stands for a graph that is kept, in what one finding is about and another explains."""
    return "kept", node.way


def brought_by(evidence: Evidence, expression: ast.expr) -> Subject:
    """The graphs that one expression brings in."""
    nodes = (node for use in evidence.facts.uses.get(expression, ()) for node in use.nodes)
    return Subject(nodes=frozenset(nodes), ways=frozenset([(evidence.program.statement_of(expression),)]))


def evaluation(evidence: Evidence, region: Region) -> Subject:
    """The subject of a finding about a region that records: it is repaired by not recording."""
    ways = (node.way for node, _ in region.forwards)
    return Subject(
        about=frozenset((*region.parts, *ways)),
        nodes=frozenset(node for node, _ in region.forwards),
        ends=by_not_recording(evidence, region.parts, region.repaired),
    )


def by_cutting(evidence: Evidence, expressions: list[ast.expr]) -> Ends:
    """What no longer stores, or reads a number of, a graph once these expressions are detached, in each run."""

    @functools.cache
    def storing() -> set[ast.AST] | None:
        trial = evidence.tape.replay(dict.fromkeys(expressions, as_detached))
        left: set[ast.AST] = {store.target for run in trial.runs for store in run.recording.stores if store.nodes}
        left |= {read.site for run in trial.runs for read in run.recording.numbers if read.value.node is not None}
        is_whole = not trial.truncated and len(trial.runs) == len(evidence.tape.runs)
        trial.let_go()
        return left if is_whole else None

    def ends(other: Subject) -> bool:
        if not other.targets or brought.isdisjoint(with_parents(other.nodes)):
            return False
        left = storing()
        return left is not None and left.isdisjoint(other.targets)

    brought = {node for each in expressions for use in evidence.facts.uses.get(each, ()) for node in use.nodes}
    return ends


def with_parents(nodes: Iterable[Node]) -> set[Node]:
    """The nodes and all below them."""
    return set(history(list(nodes)))


def by_not_recording(evidence: Evidence, parts: Iterable[ast.stmt], repaired: Iterable[ast.stmt]) -> Ends:
    """What is kept and read of graphs that are no longer recorded once the `repaired` statements run under `no_grad`.

    `parts`: the whole evaluation; what is kept behind it is told where it is kept, but for a state that is kept for it alone.
    """

    @functools.cache
    def gone() -> set[Node]:
        statements = inner_statements(repaired)
        found: set[Node] = set()
        for run in evidence.tape.runs:
            for node in run.recording.nodes:
                is_made_there = any(statement in statements for _, statement in node.trace)
                # what is made of graphs alone that are gone is none either
                if is_made_there or node.parents and not node.leaves and node.callee is None and found.issuperset(node.parents):
                    found.add(node)
        return found

    @functools.cache
    def taken_up() -> set[Node]:
        pairs = [(p, node) for node in gone() for p in node.parents if split_loop(p.context, node.context) is not None]
        return {node for pair in pairs for node in pair}

    inside = inner_statements(parts)

    def ends(other: Subject) -> bool:
        if not other.nodes or not gone().issuperset(other.nodes):
            return False
        return all(not inside.isdisjoint(way) for way in other.ways) or not taken_up().isdisjoint(other.nodes)

    return ends


def inner_statements(parts: Iterable[ast.stmt]) -> set[ast.AST]:
    """All that runs as a part of these statements: of a function, its body."""
    return {inner for part in parts for inner in subtree(part) if not isinstance(part, FUNCTIONS) or inner is not part}


def parameter_of(evidence: Evidence, expressions: list[ast.expr]) -> object:
    """The parameter, with its function, that all of these expressions read; None where they read anything else."""
    found = set()
    for each in expressions:
        function = evidence.program.enclosing(each, (*FUNCTIONS, ast.Lambda))
        if not isinstance(each, ast.Name) or not isinstance(function, FUNCTIONS):
            return None
        named = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if each.id not in (argument.arg for argument in named):
            return None
        found.add((function, each.id))
    return found.pop() if len(found) == 1 else None


def ends_with_call(evidence: Evidence, stores: Iterable[Store]) -> bool:
    """Whether the containers are gone when the functions that fill them return: they are made there, and known to nobody else."""
    handed = {
        id(store.value)
        for run in evidence.tape.runs
        for store in run.recording.stores
        if isinstance(store.value, (Sequence, Mapping)) and not isinstance(store.target, ast.Name)
    }
    handed |= {
        id(each) for run in evidence.tape.runs for value in run.recording.returned.values() for each in containers_in(value)
    }
    return all(
        isinstance(store.target, ast.Name)
        and id(store.holder) not in handed
        and is_made_in(evidence.program.enclosing(store.target, (*FUNCTIONS, ast.Lambda)), store.target.id)
        for store in stores
    )


def containers_in(value: Value) -> Iterator[Value]:
    """A container, and those that are its items."""
    if isinstance(value, (Sequence, Mapping)):
        yield value
        yield from value.items if isinstance(value, Sequence) else value.items.values()


def is_made_in(function: ast.AST | None, name: str) -> bool:
    """Whether a function binds a name to new containers alone."""
    parts = list(subtree(function)) if isinstance(function, FUNCTIONS) else []
    if any(isinstance(part, (ast.Global, ast.Nonlocal)) and name in part.names for part in parts):
        return False
    bound = [part for part in parts if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)]
    made = [target for part in parts if isinstance(part, ast.Assign) for target in new_containers(part)]
    return bool(bound) and all(any(target is each for target in made) for each in bound)


def new_containers(statement: ast.Assign) -> Iterator[ast.expr]:
    """The targets of an assignment that get a container which is made there: `rows = []`, `rows, marks = [], {}`."""
    for target in statement.targets:
        pairs = [(target, statement.value)]
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = list(zip(target.elts, statement.value.elts))
        yield from (one for one, value in pairs if isinstance(value, DISPLAYS) or is_call_of(value, CONTAINERS))


def is_call_of(value: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(value, ast.Call) and word(value.func) in names
