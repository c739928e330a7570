"""A one-element tensor is read with the indexing of torch 0.3.

## What it does
Finds `loss.data[0]`, `loss.cpu().data.numpy()[0]` and the like on a tensor that has no dimension to index.

## Why is this bad
Since torch 0.4 a loss has no dimensions. Indexing it raises "IndexError: invalid index of a 0-dim tensor", or "too many
indices for array" where it has been turned into an array.

## Example
```python
loss = F.cross_entropy(model(x), y)
print(loss.data[0])
```

## Use instead
```python
print(loss.item())
```

## Fix safety
Safe where the tensor is known to have no dimension: a loss with its default reduction, a full `sum()` or `mean()`. The line
raises in every run there. Unsafe where only `loss.backward()` shows that it has one element, as a tensor of shape `(1,)` can be
indexed. `param.data[0]`, `out.data.max(1)[1]` and the rows of a batch are left alone.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.codemods.base import Evidence, fix, rule, safe_if, short
from graphfix.model import Finding, Replace
from graphfix.tape.contributors import Facts
from graphfix.tape.evidence import Read
from graphfix.tape.shapes import SCALAR, shape_of
from graphfix.tape.values import Plain, Tensor, Value

STRIPPED = frozenset(("cpu", "numpy", "detach", "tolist", "clone", "cuda"))


def find(evidence: Evidence) -> Iterator[Finding]:
    reads: dict[ast.AST, list[Read]] = {}
    for run in evidence.tape.runs:
        for read in run.evidence.legacy:
            if evidence.holds(read.site):
                reads.setdefault(read.site, []).append(read)
    for site, seen in reads.items():
        assert isinstance(site, ast.Subscript)
        known = [no_dimension(evidence.facts, read.value) for read in seen]
        if None in known or isinstance(site.ctx, ast.Store):
            continue
        root = stripped(site.value)
        text = f"{in_parentheses(evidence.program.source(root), root)}.item()"
        statement = evidence.program.statement_of(site)
        repair = fix(safe_if(all(known)), f"read the number with `{short(text)}`", Replace(evidence.span(site), text))
        story = (evidence.label(site, "a tensor without dimensions has no element 0"),)
        message = f"`{short(evidence.program.source(site))}` indexes a tensor that has no dimension"
        yield Finding("GF901", "legacy-scalar", message, evidence.program.path, evidence.span(statement), story, repair)


def no_dimension(facts: Facts, value: Value) -> bool | None:
    """True: known to have no dimension; False: known to have one element; None: not known."""
    current: Value | None = value.source if isinstance(value, Plain) else value
    while current is not None:
        shape = shape_of(current)
        if shape is not None:
            return True if shape == SCALAR else None
        if current.node is not None and current.node.site in facts.proven:
            return False
        current = current.base if isinstance(current, Tensor) else None
    return None


def in_parentheses(text: str, node: ast.expr) -> str:
    """The source of an expression so that an attribute can follow."""
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def stripped(node: ast.expr) -> ast.expr:
    """The tensor itself: without `.data`, `.cpu()`, `.numpy()` behind it."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STRIPPED:
            node = node.func.value
        else:
            return node


RULE = rule("GF901", "legacy-scalar", globals(), find)
