"""A running total, mean or moving average keeps the graph of every iteration.

## What it does
Finds a variable, attribute or item to which each iteration of a loop adds a tensor with its graph, and which no
backward pass ever walks.

## Why is this bad
`total += loss` makes a node whose parents are the old total and the new loss, so that the graphs of all iterations stay
alive as long as the total does: memory grows with every step, and a later `backward()` through the total raises.

## Example
```python
total = 0.0
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total / len(loader))
```

## Use instead
```python
    total += loss.item()
```

## Fix safety
`.item()` is used where every later reader of the total takes a number and the value has one element; `.detach()`
otherwise. The fix is safe where the added graph was freed by its own backward pass, as any later walk through the total
would raise, or where everything that reads the total is in sight and none walks it. It is unsafe where the total reaches code
that is not in sight with a graph that is still alive.

## References
- https://pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.second_backward import program_of
from graphfix.autograd.graph import Node, history, split_loop
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance
from graphfix.model import Finding, Label
from graphfix.repairs.cut import Cut, expressions_to_cut, plan
from graphfix.repairs.fixes import fix, safe_if, short

ADDING = frozenset(("add", "add_", "sub", "sub_", "lerp", "lerp_", "mul", "mul_"))


@dataclass(eq=False)
class Growth:
    """One place that grows, in all runs: every store to it, and the stores at which it was seen to chain."""

    loop: ast.AST | None
    stores: list[Store] = field(default_factory=list)
    chained: list[Store] = field(default_factory=list)
    walked: bool = False
    runs: set[str] = field(default_factory=set)
    freed: bool = True
    ever_freed: bool = False
    escaped: bool = False
    expressions: list[ast.expr] | None = None


def find(evidence: Evidence) -> Iterator[Finding]:
    told = set()
    for covered in (False, True):
        for growth in growths(evidence, covered):
            finding = report(evidence, growth) if is_fault(evidence, growth) else None
            if finding is not None and finding.span not in told:
                told.add(finding.span)
                yield dataclasses.replace(finding, fix=None) if covered else finding  # no_grad is the repair there


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    for growth in growths(evidence):
        if is_fault(evidence, growth):
            yield from to_cut(evidence, growth)


def is_fault(evidence: Evidence, growth: Growth) -> bool:
    if growth.walked or not any(is_sure(evidence, store) for store in growth.chained):
        return False
    return growth.ever_freed or is_plain_log(evidence, growth)


def to_cut(evidence: Evidence, growth: Growth) -> list[ast.expr]:
    if growth.expressions is None:
        growth.expressions = expressions_to_cut(evidence, growth.stores)
    return growth.expressions


def is_plain_log(evidence: Evidence, growth: Growth) -> bool:
    """Whether a total that no walk frees is a log all the same: a one-element sum that only code in sight reads.

    Anything else may be an objective, or a part of a forward pass, that code which is not in sight walks.
    """
    if growth.escaped or not evidence.shows_all_uses:
        return False
    if any(isinstance(store.place[0], Instance) for store in growth.stores) and growth.runs != {"module"}:
        return False
    added = [
        use for store in growth.chained for use in evidence.facts.uses.get(store.value_site, ()) if store.value_site is not None
    ]
    return bool(added) and all(evidence.facts.is_single(use) for use in added)


@functools.lru_cache(maxsize=2)
def growths(evidence: Evidence, covered: bool = False) -> list[Growth]:
    """Places whose new content is their old content of an earlier iteration plus something with a graph.

    `covered`: those in an evaluation that another rule puts under no_grad, instead of the others.
    """
    found: dict[ast.AST, Growth] = {}
    for run in evidence.tape.runs:
        by_place: dict[tuple[object, object], list[Store]] = {}
        for store in run.recording.stores:
            if evidence.regions.covers(store) is not covered:
                continue
            by_place.setdefault((id(store.place[0]), store.place[1]), []).append(store)
        for stores in by_place.values():
            collect(evidence, run, stores, found)
    merged: dict[int, Growth] = {id(growth): growth for growth in found.values()}
    return list(merged.values())


def collect(evidence: Evidence, run: Run, stores: list[Store], found: dict[ast.AST, Growth]) -> None:
    """Add what this run shows of one place. A name that is used for two totals in two loops is two places."""
    by_loop: dict[ast.AST, list[Store]] = {}
    for store in stores:
        loop = chain_loop(store, stores)
        if loop is not None:
            by_loop.setdefault(loop, []).append(store)
    for loop, chained in by_loop.items():
        targets = dict.fromkeys(store.target for store in chained)
        fed = [s for s in stores if s.target in targets or any(entry.loop is loop for entry, _ in s.context)]
        growth = next((found[target] for target in targets if target in found), None) or Growth(loop)
        found.update(dict.fromkeys(targets, growth))
        # a run that walks the sum and resets it at once shows that it is no log, also for the runs that do not
        growth.walked |= any(walked_after(store, fed) for store in chained)
        kept = [store for store in chained if not is_cut_at_once(store, stores) and evidence.tells(store)]
        if not kept:
            continue
        growth.stores.extend(fed)
        growth.chained.extend(kept)
        growth.runs.add(run.entry)
        for store in kept:
            spent = all(evidence.facts.is_spent(node) for node in store.nodes)
            growth.freed &= spent
            growth.ever_freed |= spent
            growth.escaped |= any(node in run.recording.escapes for node in store.nodes)


def chain_loop(store: Store, stores: list[Store]) -> ast.AST | None:
    """The loop whose earlier iteration's content of the place is an operand of this store's value."""
    summed = operands(store)
    if not any(summed.values()):
        return None
    for earlier in stores:
        if earlier.order >= store.order:
            break
        index = split_loop(earlier.context, store.context)
        if index is not None and adds(summed, set(earlier.nodes)):
            loop = store.context[index][0].loop
            return loop if loop is not None else store.trace[0][1]
    return None


def is_cut_at_once(store: Store, stores: list[Store]) -> bool:
    """Whether the same iteration puts something without a graph in the place of what was stored."""
    later = next((other for other in stores if other.order > store.order), None)
    return later is not None and not later.nodes and later.context == store.context


def walked_after(store: Store, stores: list[Store]) -> bool:
    """Whether a backward pass walks the sum, or walks over the whole loop that sums: then the sum is no log."""
    if any(event.order > store.order for node in store.nodes for event in node.walks):
        return True
    index = max(
        (split_loop(s.context, store.context) or 0 for s in stores if split_loop(s.context, store.context) is not None), default=0
    )
    entry = store.context[index][0]
    own = {node for other in stores for node in other.nodes}
    return any(
        all(active is not entry for active, _ in event.context)
        for node in history(list(store.nodes))
        if node not in own and any(active is entry for active, _ in node.context)
        for event in node.walks
    )


def operands(store: Store) -> dict[Node, set[Node]]:
    """For each stored node what it is made of by arithmetic of the storing statement, intermediate results included."""
    summed: dict[Node, set[Node]] = {}
    for node in store.nodes:
        found = summed[node] = set()
        pending = [node]
        while pending:
            made = pending.pop()
            if is_arithmetic(made.site) and made.trace[-1] == store.trace[-1]:
                pending.extend(parent for parent in made.parents if parent not in found)
                found.update(made.parents)
    return summed


def adds(summed: dict[Node, set[Node]], older: set[Node]) -> bool:
    """Whether the stored value, made of `summed`, is arithmetic on one of `older`."""
    return any(not older.isdisjoint(parts) for node, parts in summed.items() if node not in older)


def is_arithmetic(site: ast.AST) -> bool:
    if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute):
        return site.func.attr in ADDING
    return isinstance(site, (ast.AugAssign, ast.BinOp, ast.Subscript))


def is_sure(evidence: Evidence, store: Store) -> bool:
    """Whether what is added is known to be part of a graph."""
    own = set(store.nodes)
    added = [parent for node in store.nodes for parent in history([node]) if parent not in own]
    return any(evidence.facts.is_sure(node) for node in (*store.nodes, *added[:6]))


def report(evidence: Evidence, growth: Growth) -> Finding | None:
    stores = [store for store in growth.stores if program_of(store.trace) is evidence.program]
    chained = [store for store in growth.chained if store in stores]
    local = growth.runs == {"module"} or not any(isinstance(store.place[0], Instance) for store in growth.stores)
    cut = plan(evidence, to_cut(evidence, growth), local)
    if chained:
        blamed: ast.AST = evidence.program.statement_of(chained[0].target)
        name = short(ast.unparse(chained[0].target))
    elif cut is not None:
        blamed = evidence.program.statement_of(cut.texts[0][0])
        name = short(ast.unparse(growth.chained[0].target))
    else:
        return None
    if cut is not None and all(evidence.program.statement_of(expression) is not blamed for expression, _ in cut.texts):
        blamed = evidence.program.statement_of(cut.texts[0][0])
    story = [evidence.label(blamed, "each iteration adds its graph to those of all iterations before")]
    story.extend(other_places(evidence, growth, cut, blamed))
    repair = None
    if cut is not None:
        repair = fix(safe_if(growth.freed or not growth.escaped), cut.title, *cut.operations(evidence))
    return Finding("GF101", "accumulated-graph", f"`{name}` keeps the graph of every iteration alive", evidence.program.path,
                   evidence.span(blamed), tuple(story), repair)  # fmt: skip


def other_places(evidence: Evidence, growth: Growth, cut: Cut | None, blamed: ast.AST) -> Iterator[Label]:
    """Where else the total is fed, where it is kept, and what has freed the graphs that it holds."""
    program = evidence.program
    statements = {blamed}
    for expression, _ in cut.texts if cut is not None else ():
        statement = program.statement_of(expression)
        if statement not in statements:
            statements.add(statement)
            yield evidence.label(statement, "and so does this")
    kept = [store.target for store in growth.chained if evidence.holds(store.target)]
    if kept and program.statement_of(kept[0]) not in statements:
        yield evidence.label(kept[0], "the sum is kept here")
    walks = [node.freed_by for store in growth.chained for node in history(list(store.nodes)) if node.freed_by is not None]
    if walks and evidence.holds(walks[0].site):
        yield evidence.label(walks[0].site, "the graph has been walked here: nobody needs it afterwards")


RULE = rule("GF101", "accumulated-graph", globals(), find, cuts=cuts, witnessed=True)
