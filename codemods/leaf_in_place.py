"""A parameter is written in place while operations are recorded.

## What it does
Finds a write in place to a tensor that requires grad and that no operation has made, such as a parameter, or to a view of one: `w += x`,
`w[0] = 1`, `w.mul_(2)`, `w.chunk(4)[1].fill_(1)`, where nothing keeps it from being recorded.

## Why is this bad
The gradient is asked for the tensor as it is, so torch refuses to change it:
"RuntimeError: a leaf Variable that requires grad is being used in an in-place operation". Of one of several views, as `chunk` and
`split` give them, the error says: "This view is the output of a function that returns multiple views".

## Example
```python
w = torch.zeros(4, requires_grad=True)
for x, y in loader:
    loss = F.mse_loss(x @ w, y.sum(dim=1))
    loss.backward()
    w -= 0.1 * w.grad
    w.grad = None
```

## Use instead
```python
w = torch.zeros(4, requires_grad=True)
for x, y in loader:
    loss = F.mse_loss(x @ w, y.sum(dim=1))
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
```

## Fix safety
Never safe: the write may be meant to be a part of the graph. A total of losses that starts with `requires_grad=True` starts without it.
A tensor that was only told to require grad on its way through the network (`embeds.requires_grad_()`, by a hook), or into which something
with a graph is written, is copied first, so that what is written is trained. A view is taken of the detached parameter, which shares its
memory; any other write runs under `no_grad`.

## References
- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.leaf_writes import leaf_writes, view_of
from graphfix.analysis.subject import explaining
from graphfix.autograd.graph import Node
from graphfix.autograd.symptoms import LEAF_IN_PLACE, PART_IN_PLACE, VIEW_OF_LEAF
from graphfix.codemods.base import rule
from graphfix.effects.table import facts
from graphfix.interpreter.recording import LeafWrite
from graphfix.model import Finding, NoFix, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected

COPY = "write to a copy of it, which is not a leaf: `x = x.clone()`"


def find(evidence: Evidence) -> Iterator[Finding]:
    for writes in leaf_writes(evidence):
        yield from evidence.told(report, writes)


def report(evidence: Evidence, writes: list[LeafWrite]) -> Finding:
    program, write = evidence.program, writes[0]
    made, node = write.leaf.site, view_of(write)
    view = node.site if node is not None else None
    story = [evidence.label(made, "this requires grad")] if made is not None and program.holds(made) else []
    if view is not None and program.holds(view) and program.statement_of(view) is not program.statement_of(write.site):
        story.append(evidence.label(view, "this is a view of it"))
    refused = [evidence.label(each.site, "this writes to it in place and raises") for each in writes[:3]]
    what = short(program.source(program.statement_of(write.site)), 30)
    finding = RULE.finding(
        evidence,
        f"`{what}` writes to a leaf that requires grad",
        program.span(program.statement_of(write.site)),
        in_time(*story, *refused),
        NoFix("what holds it has no name here that a copy could take, or `torch` is not imported by name"),
        shown=LEAF_IN_PLACE if write.node is None else PART_IN_PLACE if is_one_of_several(node) else VIEW_OF_LEAF,
        subject=explaining([write.site]),
        shown_by=write,
    )
    return dataclasses.replace(finding, by_hand=COPY) if write.leaf.is_flagged else finding


def is_one_of_several(view: Node | None) -> bool:
    """Whether the operation that has made a view gives several of them."""
    site = view.site if view is not None else None
    name = site.func.attr if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else ""
    known = facts(f"torch.Tensor.{name}")
    return known is not None and known.plural


RULE = rule(
    "GF313",
    "leaf-in-place",
    globals(),
    find,
    repair="Write to a parameter without recording it.",
    by_hand="put `{}` under `torch.no_grad()`",
    shows=(LEAF_IN_PLACE, VIEW_OF_LEAF, PART_IN_PLACE),
    results=Expected(reason="the original ends at the write", losses=False, joins=True),
)
