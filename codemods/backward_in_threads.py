"""Several threads run a backward pass over one graph.

## What it does
Finds `backward()` calls in functions that run as threads (`threading.Thread`, `ThreadPoolExecutor`) and that
share a part of the forward pass.

## Why is this bad
The first thread frees the tensors saved in the shared part: the others raise, at random,
"RuntimeError: Trying to backward through the graph a second time".
A lock around the call does not help, and an error in a plain thread is easily overlooked.

## Example
```python
def head_job(head, features, target):
    loss = F.cross_entropy(head(features), target)
    loss.backward()

features = trunk(x)
jobs = [pool.submit(head_job, head, features, y) for head, y in zip(heads, targets)]
```

## Use instead
```python
def head_job(head, features, target):
    return F.cross_entropy(head(features), target)

features = trunk(x)
jobs = [pool.submit(head_job, head, features, y) for head, y in zip(heads, targets)]
sum(job.result() for job in jobs).backward()
```

## Fix safety
The fix is unsafe. It retains the graph in every thread, because no thread knows whether it is the last: the graph lives as
long as its tensors, and the gradients add up in an order that differs between runs. It is better to return the losses and to call
`backward()` on their sum in one thread; that changes what the function returns, so it is left to the author.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#multithreaded-autograd
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import AddArgument, Finding, Fix, NoFix
from graphfix.repair.fixes import fix
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.AST] = set()
    for walk in evidence.second_backwards:
        if walk.cause is not Cause.THREADS or walk.walk.site in done or not evidence.program.holds(walk.walk.site):
            continue
        done.add(walk.walk.site)
        program = evidence.program
        story = [
            evidence.label(walk.walk.site, "frees the graph that the threads share, and raises in all threads but the first")
        ]
        for event in (walk.freed_by, walk.walk):
            if isinstance(event.thread, tuple) and evidence.program.holds(event.thread[0]):
                story.append(evidence.label(event.thread[0], "runs it in a thread of its own"))
                break
        message = f"`{short(program.source(walk.walk.site), 30)}` goes through a graph that several threads share"
        blamed = program.statement_of(walk.walk.site)
        sites = dict.fromkeys((walk.walk.site, walk.freed_by.site))
        yield RULE.finding(evidence, message, evidence.program.span(blamed), story, repair_of(evidence, list(sites)))


def repair_of(evidence: Evidence, sites: list[ast.Call]) -> Fix | NoFix:
    """Keep the graph in every thread: none of them knows whether it is the last."""
    if any(not evidence.program.holds(site) or any(k.arg in ("retain_graph", None) for k in site.keywords) for site in sites):
        return NoFix("the thread's backward() already passes `retain_graph`, or is no call in the analysed code")
    if any(isinstance(site.func, ast.Attribute) and site.func.attr == "start" for site in sites):
        return NoFix("backward() gets its arguments where the thread is created")
    changes = (AddArgument(evidence.program.span(site), "retain_graph", "True") for site in sites)
    return fix(
        "keep the graph for the other threads",
        *changes,
        doubt="threads add to the same gradients in an order that differs from run to run",
    )


RULE = rule(
    "GF308",
    "backward-in-threads",
    globals(),
    find,
    repair="Keep a graph that several threads go backward through.",
    by_hand="pass `retain_graph=True` in every thread, or compute a graph of its own in each",
    shows=(SECOND_WALK,),
    results=Expected("retain", joins=True),
)
