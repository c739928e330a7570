"""A tensor that was computed before the loop is walked in every iteration.

## What it does
Finds a non-leaf tensor that is built once outside of a loop from tensors that require grad, and through which the
backward pass of each iteration goes.

## Why is this bad
The first `backward()` frees the graph of the computation outside of the loop; the second one walks into it and raises
"Trying to backward through the graph a second time". With `retain_graph=True` the value is stale: it never sees what
the optimizer changes.

## Example
```python
weights = F.softmax(logits, dim=0)
for x, y in loader:
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    weights = F.softmax(logits, dim=0)
    loss = F.mse_loss(model(x) @ weights, y)
```

## Fix safety
The second iteration always raises, so a run that worked had one iteration, in which the moved computation gives the same
value. Safe where what it reads does not change in between, it is not random and nothing else reads the result; unsafe
where it draws random numbers (one draw for all iterations and one per iteration are different models). Where nothing below
the tensor is trained it is detached instead, and also where all of it is trained by a loss of its own (an advantage that
weighs a policy loss): safe where the gradient that the loop's loss sends there is cleared before any step uses it.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.contributors import is_tensor_always
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondWalk
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.codemods.base import rule
from graphfix.codemods.non_leaf_parameter import nameless
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Append, Applicability, Finding, Fix, Move
from graphfix.repairs.fixes import fix, safe_if, short


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from external(evidence, evidence.second_walks)


def external(evidence: Evidence, walks: list[SecondWalk]) -> Iterator[Finding]:
    """A finding for each computation outside of a loop that these walks meet again."""
    done: set[ast.AST] = set()
    for walk in walks:
        if walk.cause is not Cause.EXTERNAL or walk.loop is None or not evidence.holds(walk.walk.site):
            continue
        nodes = external_nodes(walk)
        births = [node for node in nodes if evidence.holds(node.site)]
        if not births or any(evidence.program.statement_of(node.site) in nameless(evidence) for node in births):
            continue  # made by no code in sight, or told as a parameter that is no leaf
        statements = statements_of(evidence, walk, nodes)
        if not statements or not are_tensors(evidence, statements):
            stored = bound_outside(evidence, walk)
            if stored:
                done.update(stored)
                yield kept_outside(evidence, walk, nodes, stored)
                continue
        blamed = statements[-1] if statements else evidence.program.statement_of(births[0].site)
        if blamed in done:
            continue
        done.add(blamed)
        name = short(ast.unparse(blamed.targets[0])) if isinstance(blamed, ast.Assign) else short(ast.unparse(births[0].site))
        story = (
            evidence.label(blamed, "built once, outside of the loop"),
            evidence.label(walk.walk.site, "iteration 1 frees its graph; iteration 2 walks it again and raises"),
        )
        repair = repair_of(evidence, walk, nodes, statements)
        message = f"`{name}` is built before the loop and walked in every iteration"
        yield Finding("GF203", "external-graph", message, evidence.program.path, evidence.span(blamed), story, repair)


def bound_outside(evidence: Evidence, walk: SecondWalk) -> list[ast.Assign]:
    """The assignments, in another function, that keep the outer graph: an `__init__` that computes targets."""
    found: dict[ast.Assign, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        outside = next((node for node in hit.path if all(active is not entry for active, _ in node.context)), None)
        kept = [s for s in outside.stores if isinstance(s, Store) and s.value_site is not None] if outside is not None else []
        stores = [
            s for s in kept if isinstance(s.value, (Tensor, Sequence)) and all(active is not entry for active, _ in s.context)
        ]
        statement = evidence.program.statement_of(stores[-1].target) if stores and evidence.holds(stores[-1].target) else None
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        found[statement] = None
    return sorted(found, key=lambda s: s.lineno)


def kept_outside(evidence: Evidence, walk: SecondWalk, nodes: list[Node], stored: list[ast.Assign]) -> Finding:
    """A graph that was computed elsewhere and kept: detached where it is kept, where nothing below it is trained."""
    names = ", ".join(f"`{short(ast.unparse(statement.targets[0]), 30)}`" for statement in stored)
    cuts = [cut for statement in stored for cut in (of_tensors(evidence, statement.value),) if cut is not None]
    repair = None
    if walk.always and not trained_leaves(nodes) and len(cuts) == len(stored):
        appended = (Append(evidence.span(cut), ".detach()") for cut in cuts)
        repair = fix(Applicability.SAFE, f"detach {names}: nothing below is trained", *appended)
    story = (
        evidence.label(stored[0], "built once, outside of the loop"),
        evidence.label(walk.walk.site, "iteration 1 frees its graph; iteration 2 walks it again and raises"),
    )
    message = f"{short(names, 24)} is built before the loop and walked in every iteration"
    span = evidence.span(stored[0])
    return Finding("GF203", "external-graph", message, evidence.program.path, span, story, repair)


def of_tensors(evidence: Evidence, value: ast.expr) -> ast.expr | None:
    """The expression to detach in an assigned value: a tensor, or the element of a comprehension of tensors."""
    uses = evidence.facts.uses.get(value, [])
    if isinstance(value, ast.ListComp) and uses and all(
        isinstance(use.value, Sequence) and all(isinstance(item, Tensor) for item in use.value.items) for use in uses
    ):  # fmt: skip
        return value.elt
    return value if uses and is_tensor_always(evidence.facts, value) else None


def external_nodes(walk: SecondWalk) -> list[Node]:
    """The nodes below the walked losses that were made before the loop was entered."""
    found: dict[Node, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        for node in history([hit.node]):
            if all(active is not entry for active, _ in node.context):
                found[node] = None
    return list(found)


def statements_of(evidence: Evidence, walk: SecondWalk, nodes: list[Node]) -> list[ast.stmt]:
    """The statements of the loop's function that made the nodes, in source order."""
    found: dict[ast.stmt, None] = {}
    for node in nodes:
        for frame, statement in node.trace:
            if walk.frame is not None and frame.definition is walk.frame.definition and evidence.holds(statement):
                found[statement] = None
                break
    return sorted(found, key=lambda s: s.lineno)


def trained_leaves(nodes: list[Node]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in node.leaves if leaf.trained]


def repair_of(evidence: Evidence, walk: SecondWalk, nodes: list[Node], statements: list[ast.stmt]) -> Fix | None:
    loop = walk.loop
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.holds(loop) or not statements or not walk.always:
        return None
    if not are_tensors(evidence, statements):
        return None
    leaves = trained_leaves(nodes)
    if not leaves:
        return detach_fix(evidence, statements, Applicability.SAFE, "nothing below it is trained")
    shared = trained_inside(walk, leaves)
    if shared and gradient_is_dropped(walk, leaves):
        return detach_fix(evidence, statements, Applicability.SAFE, "what lies below it is trained by a loss of its own")
    return recomputed(evidence, walk, nodes, statements, not shared)


def are_tensors(evidence: Evidence, statements: list[ast.stmt]) -> bool:
    """Whether each statement binds tensors with a graph: not a module that computes one when it is built."""
    return all(isinstance(s, ast.Assign) and evidence.facts.uses.get(s.value) for s in statements)


def recomputed(
    evidence: Evidence, walk: SecondWalk, nodes: list[Node], statements: list[ast.stmt], safe: bool = True
) -> Fix | None:
    """Move what computes the tensor to the top of the loop, where nothing that it reads changes in between."""
    loop = walk.loop
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.holds(loop) or not statements:
        return None
    if not are_tensors(evidence, statements) or not may_move(evidence, loop, statements):
        return None
    random = any(node.random for node in nodes) or any(draws(part) for s in statements for part in ast.walk(s))
    top = evidence.span(loop.body[0])
    moves = tuple(Move(evidence.span(statement), top) for statement in statements)
    names = ", ".join(f"`{short(ast.unparse(s.targets[0]))}`" for s in statements if isinstance(s, ast.Assign))
    return fix(safe_if(safe and not random), f"compute {names} in each iteration", *moves)


def draws(part: ast.AST) -> bool:
    """A random draw that the tape does not see as a node of the graph, such as `torch.randn`."""
    from graphfix.models.table import facts

    if not isinstance(part, ast.Call):
        return False
    known = facts(ast.unparse(part.func))
    return known is not None and known.random


def trained_inside(walk: SecondWalk, leaves: list[Leaf]) -> bool:
    """Whether each of `leaves` also gets a gradient from a graph that is made anew in each iteration."""
    run, _, _ = walk.hits[0]
    _, entry = walk.entries[0]
    fresh = {
        leaf
        for event in run.recording.walks
        for node in event.nodes
        if any(active is entry for active, _ in node.context)
        for leaf in node.leaves
    }
    return all(any(leaf.site is other.site for other in fresh) for leaf in leaves)


def gradient_is_dropped(walk: SecondWalk, leaves: list[Leaf]) -> bool:
    """Whether the gradient that the first walk leaves in `leaves` is cleared before any step uses it, in every run.

    Then a detach changes nothing even for a loop of one iteration.
    """
    wanted = {leaf.site for leaf in leaves}
    for run, _, hit in walk.hits:
        pending = set(wanted)
        for update in run.recording.updates:
            if update.order < hit.freed_by.order or not pending:
                continue
            touched = pending if update.leaves is None else {leaf.site for leaf in update.leaves} & pending
            if touched and update.steps:
                return False
            pending -= touched
        if pending:
            return False
    return True


def detach_fix(evidence: Evidence, statements: list[ast.stmt], applicability: Applicability, why: str) -> Fix | None:
    last = statements[-1]
    if (
        not isinstance(last, ast.Assign)
        or not isinstance(last.targets[0], ast.Name)
        or not is_tensor_always(evidence.facts, last.value)
    ):
        return None
    return fix(applicability, f"detach `{last.targets[0].id}`: {why}", Append(evidence.span(last.value), ".detach()"))


def may_move(evidence: Evidence, loop: ast.For | ast.AsyncFor | ast.While, statements: list[ast.stmt]) -> bool:
    """Whether the statements stand in the loop's own block or around it, nothing they read changes and nothing else reads them."""
    program = evidence.program
    block = around(evidence, loop, statements[0])
    if block is None or any(statement not in block for statement in statements):
        return False
    written = names_in(statements, ast.Store)
    read = names_in(statements, ast.Load) - written
    holder = next(item for item in block if item is loop or loop in ast.walk(item))
    between = block[block.index(statements[0]) : block.index(holder)]
    others: list[ast.AST] = [s for s in between if s not in statements]
    scope = program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or program.tree
    elsewhere = names_read_outside(scope, loop, statements, loop.lineno)
    changed = names_in(others, ast.Store) | names_in(loop.body, ast.Store)
    targets = (
        {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)} if not isinstance(loop, ast.While) else set()
    )
    return (
        not (read & (changed | targets))
        and not (written & elsewhere)
        and not (written & (names_in(others, ast.Store) | names_in(loop.body, ast.Store)))
    )


def around(evidence: Evidence, loop: ast.AST, statement: ast.stmt) -> list[ast.stmt] | None:
    block = evidence.program.block_of(statement)
    return block if any(loop is item or loop in ast.walk(item) for item in block) else None


def names_in(nodes: list, context: type) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


def names_read_outside(scope: ast.AST, loop: ast.AST, statements: list[ast.stmt], before: float = float("inf")) -> set[str]:
    """Names of `scope` that are read in it outside of `loop` and `statements`, above line `before`."""
    skipped: set[ast.AST] = {loop, *statements}
    found: set[str] = set()
    pending = [scope]
    while pending:
        node = pending.pop()
        if node in skipped:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and node is not scope:
            found |= {name for name in names_read_outside(node, loop, statements, before) if name not in locals_of(node)}
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno < before:
            found.add(node.id)
        pending.extend(ast.iter_child_nodes(node))
    return found


def locals_of(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Names that belong to the function itself: its parameters and what it assigns."""
    signature = function.args
    parameters = {argument.arg for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)}
    return parameters | names_in([function], ast.Store)


RULE = rule("GF203", "external-graph", globals(), find)
