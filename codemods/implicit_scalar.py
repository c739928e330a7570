"""A tensor that requires grad is passed to code that takes a number.

## What it does
Finds `float(loss)`, `int(loss)`, `math.exp(loss)` and the other functions of `math` on a tensor that requires grad.
The finding is optional: it is reported if `--select` names this rule, as in `--select GF9`.

## Why is this bad
The conversion leaves the graph silently. Since torch 2.9 it warns ("Converting a tensor with requires_grad=True to
a scalar may lead to unexpected behavior"), and torch plans to make it an error. `int()` does not warn yet.

## Example
```python
loss = F.cross_entropy(model(x), y)
loss.backward()
total += float(loss)
print("perplexity", math.exp(loss))
```

## Use instead
```python
loss = F.cross_entropy(model(x), y)
loss.backward()
total += loss.item()
print("perplexity", math.exp(loss.item()))
```

## Fix safety
The fix is safe if the value is known to be a tensor: `float()` takes one element and raises for more, exactly as `item()` does, and the
number is the same. It is unsafe if the value comes from a module that is not analysed. Detached tensors, reads under `no_grad`, and
values that may already be numbers are not reported.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import Subject
from graphfix.autograd.symptoms import OLD_NUMBER
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Number
from graphfix.interpreter.values import Tensor, Unknown
from graphfix.model import Append, Finding, Operation, Replace, Severity
from graphfix.repair.fixes import fix, operand, unless
from graphfix.source.quote import short
from graphfix.source.spelling import word

CONVERSIONS = frozenset(("float", "int", "complex"))


def find(evidence: Evidence) -> Iterator[Finding]:
    reads: dict[tuple[ast.Call, int], list[Number]] = {}
    for run in evidence.tape.runs:
        for read in run.recording.numbers:
            if is_implicit(read) and evidence.program.holds(read.site):
                reads.setdefault((read.site, read.position), []).append(read)  # type: ignore[arg-type]
    for (site, position), seen in reads.items():
        argument = site.args[position]
        if argument in evidence.facts.plain or not all(is_tensor(evidence.facts, read) for read in seen):
            continue
        if any(requires_grad(evidence.facts, read) for read in seen):
            yield report(evidence, site, argument, seen)


def is_implicit(read: Number) -> bool:
    """Whether the read is a call of a function that wants a number, written out as such."""
    name = read.how.rsplit(".", 1)[-1]
    return (
        (read.how in CONVERSIONS or read.how.startswith("math."))
        and isinstance(read.site, ast.Call)
        and word(read.site.func) == name
        and read.position < len(read.site.args)
        and not any(isinstance(argument, ast.Starred) for argument in read.site.args)
    )


def is_tensor(facts: Facts, read: Number) -> bool:
    if isinstance(read.value, Tensor):
        return True
    return isinstance(read.value, Unknown) and read.value.node is not None and facts.is_sure(read.value.node)


def requires_grad(facts: Facts, read: Number) -> bool:
    """Whether torch warns here: the tensor is part of a graph, or a leaf that collects gradients."""
    if not read.grad_enabled:
        return False
    if read.value.node is not None:
        return facts.is_sure(read.value.node)
    return isinstance(read.value, Tensor) and read.value.leaf is not None and read.value.leaf.requires_grad


def is_known(facts: Facts, read: Number) -> bool:
    """Whether the value is a tensor for certain, and no object that knows its number itself."""
    return isinstance(read.value, Tensor) or (read.value.node is not None and read.value.node in facts.walked)


def report(evidence: Evidence, site: ast.Call, argument: ast.expr, seen: list[Number]) -> Finding:
    operation: Operation = Append(evidence.program.span(argument), ".item()")
    text = f"{operand(evidence, argument)}.item()"
    if word(site.func) == "float" and "#" not in evidence.program.source(site):
        operation = Replace(evidence.program.span(site), text)
    safe = all(is_known(evidence.facts, read) for read in seen)
    doubt = unless(
        safe,
        f"`{short(evidence.program.source(argument))}` may be an object of another class, which gives its number in its own way",
    )
    repair = fix(f"read the number with `{short(text)}`", operation, doubt=doubt)
    message = f"`{short(evidence.program.source(site))}` converts a tensor that requires grad to a number"
    story = (evidence.label(argument, "this tensor requires grad: torch warns, and plans to raise an error"),)
    nodes = [read.value.node for read in seen]
    graphs = frozenset(node for node in nodes if node is not None) if None not in nodes else frozenset()  # a leaf stays one
    subject = Subject(nodes=graphs, targets=frozenset([site]))
    return RULE.finding(evidence, message, evidence.blamed(site), story, repair, optional=True, subject=subject)


RULE = rule(
    "GF904",
    "implicit-scalar",
    globals(),
    find,
    repair="Read the number of a tensor that requires grad with .item().",
    by_hand="read the number with `.item()`",
    shows=(OLD_NUMBER,),
    severity=Severity.WARNING,
    yields_to=("GF101", "GF102", "GF103", "GF903"),
)
