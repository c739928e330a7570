"""A one-element tensor is read with the indexing of torch 0.3.

## What it does
Finds `loss.data[0]`, `loss.cpu().data.numpy()[0]` and similar code on a tensor that has no dimension to index, and `total[0]` if
`total += loss.data` has added such tensors up.

## Why is this bad
Since torch 0.4 a loss has no dimensions. Indexing it raises "IndexError: invalid index of a 0-dim tensor", or "too many
indices for array" after conversion to an array.

## Example
```python
loss = F.cross_entropy(model(x), y)
print(loss.data[0])
```

## Use instead
```python
loss = F.cross_entropy(model(x), y)
print(loss.item())
```

## Fix safety
The fix is safe if the tensor is known to have no dimension: a loss with its default reduction, a full `sum()` or `mean()`. The line
raises in every run then. For a helper that reads its argument, all analysed callers count. The fix is unsafe if only
`loss.backward()` shows that the tensor has one element, because a tensor of shape `(1,)` can be indexed, or if another file may
call the helper. `param.data[0]`, `out.data.max(1)[1]` and the rows of a batch are not reported, nor is
code that runs only if `torch.__version__` or `hasattr(loss, "item")` shows that torch is older than 0.4.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.old_numbers import Total, indexed, running_total
from graphfix.analysis.subject import explaining
from graphfix.autograd.symptoms import NO_ELEMENT
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import AliasKind, Read
from graphfix.model import Finding, Fix, Ground, Replace
from graphfix.repair.fixes import fix, operand, unless
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

STRIPPED = frozenset(("cpu", "numpy", "detach", "tolist", "clone", "cuda"))


def find(evidence: Evidence) -> Iterator[Finding]:
    totals: dict[Total, list[ast.Subscript]] = {}
    for site, seen, known in indexed(evidence):
        total = running_total(evidence, site) if known else None
        if total is not None:
            totals.setdefault(total, []).append(site)
            continue
        yield from evidence.told(report, site, known, is_settled(evidence, site, seen))
    for total, sites in totals.items():
        yield from evidence.told(whole_total, total, sites)


def report(evidence: Evidence, site: ast.Subscript, known: bool, settled: bool) -> Finding:
    root = stripped(site.value)
    text = f"{operand(evidence, root)}.item()"
    name = short(evidence.program.source(root))
    doubt = unless(known, f"`{name}` has one element, as backward() shows, but may have a dimension, too")
    doubt = doubt or unless(settled, f"a caller may give `{name}` a value that has an element 0")
    repair = fix(f"read the number with `{short(text)}`", Replace(evidence.program.span(site), text), ground=Ground.RAISES, doubt=doubt)
    return told(evidence, site, repair, data_in(site))


def data_in(site: ast.Subscript) -> Iterator[ast.expr]:
    """The `.data` by which the number is read."""
    return (part for part in subtree(site) if isinstance(part, ast.Attribute) and part.attr == "data")


def told(evidence: Evidence, site: ast.Subscript, repair: Fix, data: Iterable[ast.expr]) -> Finding:
    story = (evidence.label(site, "a tensor without dimensions has no element 0"),)
    message = f"`{short(evidence.program.source(site))}` indexes a tensor that has no dimensions"
    return RULE.finding(evidence, message, evidence.blamed(site), story, repair, subject=explaining(data))


def is_settled(evidence: Evidence, site: ast.Subscript, seen: list[tuple[Run, Read]]) -> bool:
    """Whether no caller in another file can bring something else: the function did not get the value, or this file is started."""
    root = stripped(site.value)
    function = evidence.program.enclosing(site, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    if not isinstance(root, ast.Name) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return True
    signature = function.args
    given = any(argument.arg == root.id for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs))
    return not given or all(run.entry.is_module for run, _ in seen)


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    """What would become a number: the `.data` that is added to something."""
    for run in evidence.tape.runs:
        for alias in run.recording.aliases:
            if alias.kind is AliasKind.DATA and evidence.program.holds(alias.site) and is_added(evidence, alias.site):
                yield alias.site  # type: ignore[misc]


def is_added(evidence: Evidence, node: ast.AST) -> bool:
    statement = evidence.program.parent(node)
    return isinstance(statement, ast.AugAssign) and statement.value is node and isinstance(statement.target, ast.Name)


def whole_total(evidence: Evidence, total: Total, sites: list[ast.Subscript]) -> Finding:
    """Numbers are added, and the total is one."""
    edits = [Replace(evidence.program.span(site), total.name) for site in sites]
    edits += [Replace(evidence.program.span(part), f"{operand(evidence, stripped(part))}.item()") for part in total.added]
    return told(evidence, sites[0], fix(f"add numbers up in `{short(total.name)}`", *edits, ground=Ground.RAISES), total.added)


def stripped(node: ast.expr) -> ast.expr:
    """The tensor itself: without `.data`, `.cpu()`, `.numpy()` behind it."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STRIPPED:
            node = node.func.value
        else:
            return node


RULE = rule(
    "GF901",
    "legacy-scalar",
    globals(),
    find,
    cuts=cuts,
    repair="Read the number of a one-element tensor with .item().",
    by_hand="read the number with `.item()` in place of `{}`",
    shows=(NO_ELEMENT,),
    results=Expected("old"),
)
