"""`.data` is used to cut a tensor from its graph.

## What it does
Finds reads of `x.data` on a tensor that has a graph or requires grad.
The finding is optional: it is reported if `--select` names this rule, as in `--select GF9`.

## Why is this bad
`x.data` has a version counter of its own: a write to it changes `x` unnoticed by autograd, and a backward pass that
needs the old values silently computes wrong gradients. `x.detach()` is the same tensor with the counter of `x`, so
such a pass raises
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".

## Example
```python
output = model(x)
prediction = output.data.max(1)[1]
```

## Use instead
```python
output = model(x)
prediction = output.detach().max(1)[1]
```

## Fix safety
The fix is safe if no in-place write can reach the memory of `x`: then both are the same. It is unsafe if the value is passed to code
that is not analysed, or stored on an object with methods that are not analysed, and for parameters, which a step writes to.
Intended in-place writes (`p.data.mul_(0.9)`, `p.data -= lr * p.grad`, `p.data = ...`) and reads of a number
(`loss.data.item()`) are not reported.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/#what-about-data
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.sharing import memory_of, origin
from graphfix.analysis.subject import Subject
from graphfix.autograd.graph import Node
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Alias, AliasKind
from graphfix.interpreter.values import Tensor
from graphfix.model import OUTSIDE, Finding, Replace, Severity
from graphfix.repair.fixes import fix, operand, unless
from graphfix.source.quote import short


def find(evidence: Evidence) -> Iterator[Finding]:
    reads: dict[ast.Attribute, list[tuple[Run, Alias]]] = {}
    for run in evidence.tape.runs:
        for alias in run.recording.aliases:
            if alias.kind is AliasKind.DATA and isinstance(alias.site, ast.Attribute) and evidence.program.holds(alias.site):
                reads.setdefault(alias.site, []).append((run, alias))
    written = {run: memory_of(value for value, _ in run.recording.written) for run in evidence.tape.runs if reads}
    for site, seen in reads.items():
        if not isinstance(site.ctx, ast.Load) or not any(cuts(evidence, alias) for _, alias in seen):
            continue
        if any(id(alias.made) in written[run] or is_number(run, alias) for run, alias in seen):
            continue
        safe = all(is_out_of_reach(run, alias) for run, alias in seen)
        text = f"{operand(evidence, site.value)}.detach()"
        doubt = unless(safe, f"{OUTSIDE}may write to this memory in place, which autograd would then notice")
        repair = fix(f"cut the graph with `{short(text)}`", Replace(evidence.program.span(site), text), doubt=doubt)
        story = (evidence.label(site, "autograd does not notice writes to `.data`"),)
        message = f"`{short(evidence.program.source(site))}` cuts the graph, unnoticed by autograd"
        subject = Subject(about=frozenset([site]), nodes=graphs_cut(alias for _, alias in seen))
        yield RULE.finding(evidence, message, evidence.blamed(site), story, repair, optional=True, subject=subject)


def cuts(evidence: Evidence, alias: Alias) -> bool:
    """Whether there is a graph, or a leaf that collects gradients, to cut."""
    if alias.source.node is not None:
        return evidence.facts.is_sure(alias.source.node)
    return isinstance(alias.source, Tensor) and alias.source.leaf is not None and alias.source.leaf.requires_grad


def graphs_cut(aliases: Iterable[Alias]) -> frozenset[Node]:
    """The graphs that end here; none where a leaf is read, which stays one whatever is recorded."""
    nodes = [alias.source.node for alias in aliases]
    return frozenset(node for node in nodes if node is not None) if None not in nodes else frozenset()


def is_number(run: Run, alias: Alias) -> bool:
    """Whether a number is read of it, which has no memory to write into."""
    return any(read.value is alias.made and read.how != "numpy" for read in run.recording.numbers)


def is_out_of_reach(run: Run, alias: Alias) -> bool:
    """Whether all code that may write into the memory is in sight, and none does."""
    if not isinstance(alias.source, Tensor) or alias.source.leaf is not None:
        return False
    whole = origin(alias.source)
    if any(origin(value) is whole for value, _ in run.recording.written):
        return False
    kept = run.recording.kept if not run.entry.is_module else []
    return id(alias.made) not in memory_of((*run.recording.given, *kept))


RULE = rule(
    "GF902",
    "legacy-data",
    globals(),
    find,
    repair="Cut tensors from their graph with .detach() in the place of .data.",
    by_hand="write `.detach()` in place of `.data`",
    shows=(SECOND_WALK,),
    severity=Severity.WARNING,
    yields_to=("GF901", "GF103", "GF903"),
)
