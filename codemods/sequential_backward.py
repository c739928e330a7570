"""Several losses on one graph call `backward()` one after the other.

## What it does
Finds a `backward()` (or `torch.autograd.grad`) through a graph that an earlier one of the same iteration has freed.

## Why is this bad
The losses share a part of the forward pass. The first `backward()` frees the tensors saved in it, so the second one raises
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward()
loss_b.backward()
optimizer.step()
```

## Use instead
```python
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
(loss_a + loss_b).backward()
optimizer.step()
```

## Fix safety
The second `backward()` always raises, so no working run changes. Two adjacent calls become one `backward()` on the sum, which gives
the sum of the gradients. If other statements must stay between them, or a hook receives the gradients of each call, the first
call gets `retain_graph=True`, which gives the same gradients and needs more memory. The fix is unsafe if the second `backward()`
raises on some paths only, or if several optimizers use its gradients: then a `detach()` may be meant.

## References
- https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.calls_between import calls_of
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward, statement_in
from graphfix.analysis.subject import about
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    groups: dict[ast.AST, list[SecondBackward]] = {}
    for walk in evidence.second_backwards:
        if walk.cause is Cause.SEQUENTIAL and evidence.program.holds(walk.walk.site):
            groups.setdefault(walk.walk.site, []).append(walk)
    for site, walks in groups.items():
        yield from evidence.told(report, site, walks)


def report(evidence: Evidence, site: ast.AST, walks: list[SecondBackward]) -> Finding:
    frees = list(dict.fromkeys(walk.freed_by.site for walk in walks))
    blamed = evidence.program.statement_of(caller_site(evidence, walks[0], site))
    story = [evidence.label(shared_by(walks), "both backward passes go through what this computes")]
    story += [
        evidence.label(free, "this frees the graph that both losses share")
        for free in frees
        if evidence.program.holds(free) and free is not site
    ]
    for first, second in dict.fromkeys(calls_of(walk) for walk in walks if walk.freed_by.site is site and walk.loop is None):
        if evidence.program.holds(first) and evidence.program.holds(second):
            story.append(evidence.label(first, "this call frees the graph that both losses share"))
            story.append(evidence.label(second, "this call needs it again"))
    story.append(evidence.label(blamed, "this backward() goes through the freed part again and raises"))
    message = f"`{short(evidence.program.source(blamed))}` goes through a graph that is already freed"
    return RULE.finding(evidence, message, evidence.program.span(blamed), in_time(*story), subject=about(site), shown_by=walks[0])


def shared_by(walks: list[SecondBackward]) -> ast.AST:
    """What has computed the first part of the graph that is met again: the one nearest to the losses."""
    hits = [hit for walk in walks for _, _, hit in walk.hits]
    return max((hit.node for hit in hits), key=lambda node: node.order).site


def caller_site(evidence: Evidence, walk: SecondBackward, site: ast.AST) -> ast.AST:
    """The statement of the loop over losses that goes backward, where there is one, else the call itself."""
    if walk.loop is None or not evidence.program.holds(walk.loop) or not isinstance(walk.loop, (ast.For, ast.AsyncFor)):
        return site
    return statement_in(walk.walk.trace, walk.frame) or site


RULE = rule(
    "GF301",
    "sequential-backward",
    globals(),
    find,
    repair="Call backward() on the sum of several losses that share a graph.",
    by_hand="call backward() once, on the sum of the losses: `(loss_a + loss_b).backward()`",
    shows=(SECOND_WALK,),
    results=Expected("retain", joins=True),
    yields_to=("GF303", "GF304"),
)
