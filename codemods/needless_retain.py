"""`retain_graph=True` on a walk after which nobody walks the graph again.

## What it does
Finds a `backward()` or `torch.autograd.grad` with a constant `retain_graph=True` whose graph no later walk needs, on any path.

## Why is this bad
The graph and all tensors saved in it stay in memory until the last reference to the loss goes, often until the next
iteration's forward pass has built its own: up to twice the memory. It also hides the error that a graph carried from one
iteration into the next would raise.

## Example
```python
loss = F.mse_loss(model(x), y)
optimizer.zero_grad()
loss.backward(retain_graph=True)
optimizer.step()
```

## Use instead
```python
loss.backward()
```

## Fix safety
Safe where every walk over the graph is in sight and none follows. Unsafe where a part of the graph is handed to code that is not
in sight, or where the model itself is not in sight, as either may walk the graph once more.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.codemods.base import Evidence, fix, rule, safe_if
from graphfix.model import Finding, RemoveArgument
from graphfix.tape.explore import Run
from graphfix.tape.graph import Walk


def find(evidence: Evidence) -> Iterator[Finding]:
    sites: dict[ast.Call, list[tuple[Run, Walk]]] = {}
    for run in evidence.tape.runs:
        for event in run.evidence.walks:
            if event.keyword is True and evidence.holds(event.site):
                sites.setdefault(event.site, []).append((run, event))
    for site, events in sites.items():
        if any(event.creates or needed(event) for _, event in events):
            continue
        keyword = next((k for k in site.keywords if k.arg == "retain_graph"), None)
        if keyword is None:
            continue
        sure = all(in_sight(run, event) for run, event in events)
        statement = evidence.program.statement_of(site)
        story = (evidence.label(keyword.value, "nobody walks this graph again"),)
        repair = fix(safe_if(sure), "remove `retain_graph=True`", RemoveArgument(evidence.span(site), "retain_graph"))
        yield Finding("GF305", "needless-retain", "`retain_graph=True` keeps a graph that nobody walks again", evidence.program.path,
                      evidence.span(statement), story, repair, "warning")  # fmt: skip


def needed(event: Walk) -> bool:
    """Whether a later walk of the same run meets a node of this one."""
    return any(later.order > event.order for node in event.nodes for later in node.walks)


def in_sight(run: Run, event: Walk) -> bool:
    """Whether all of the graph was made by code in sight, and none of it given away after the walk."""
    return all(node.certain and not escapes_after(run, node, event) for node in event.nodes)


def escapes_after(run: Run, node: object, event: Walk) -> bool:
    return any(order > event.order for _, _, order in run.evidence.escapes.get(node, ()))  # type: ignore[call-overload]


RULE = rule("GF305", "needless-retain", globals(), find)
