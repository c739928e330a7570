"""A one-element tensor is read with the indexing of torch 0.3.

## What it does
Finds `loss.data[0]`, `loss.cpu().data.numpy()[0]` and the like on a tensor that has no dimension to index, and `total[0]` where
`total += loss.data` added such tensors up.

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
raises in every run there. A helper that reads its argument is judged by what all callers in sight pass. Unsafe where only
`loss.backward()` shows that it has one element, as a tensor of shape `(1,)` can be indexed, or where a helper may be called from
another file. `param.data[0]`, `out.data.max(1)[1]` and the rows of a batch are left alone, and so is
what runs only where `torch.__version__` or `hasattr(loss, "item")` says that torch is older than 0.4.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Read
from graphfix.interpreter.values import Plain, Tensor, Value
from graphfix.model import Applicability, Finding, Fix, Replace
from graphfix.models.shapes import SCALAR, shape_of
from graphfix.repairs.fixes import fix, operand, safe_if, short

STRIPPED = frozenset(("cpu", "numpy", "detach", "tolist", "clone", "cuda"))


def find(evidence: Evidence) -> Iterator[Finding]:
    totals: dict[Total, list[ast.Subscript]] = {}
    for site, seen, known in indexed(evidence):
        total = running_total(evidence, site) if known else None
        if total is not None:
            totals.setdefault(total, []).append(site)
            continue
        yield report(evidence, site, known and is_settled(evidence, site, seen))
    for total, sites in totals.items():
        yield whole_total(evidence, total, sites)


def indexed(evidence: Evidence) -> Iterator[tuple[ast.Subscript, list[tuple[Run, Read]], bool]]:
    """Each `[0]` on what never has a dimension, and whether the tape knows that or only a walk shows one element."""
    reads: dict[ast.Subscript, list[tuple[Run, Read]]] = {}
    for run in evidence.tape.runs:
        for read in run.recording.legacy:
            if evidence.holds(read.site):
                reads.setdefault(read.site, []).append((run, read))  # type: ignore[arg-type]
    for site, seen in reads.items():
        known = [no_dimension(evidence.facts, read.value) for _, read in seen]
        if None not in known and not isinstance(site.ctx, ast.Store):
            yield site, seen, all(known)


def summed_up(evidence: Evidence) -> set[ast.expr]:
    """The `.data` that totals are made of which this rule repairs as a whole."""
    totals = [running_total(evidence, site) for site, _, known in indexed(evidence) if known]
    return {part for total in totals if total is not None for part in total.added}


def report(evidence: Evidence, site: ast.Subscript, safe: bool) -> Finding:
    root = stripped(site.value)
    text = f"{operand(evidence, root)}.item()"
    repair = fix(safe_if(safe), f"read the number with `{short(text)}`", Replace(evidence.span(site), text))
    return told(evidence, site, repair)


def told(evidence: Evidence, site: ast.Subscript, repair: Fix) -> Finding:
    story = (evidence.label(site, "a tensor without dimensions has no element 0"),)
    message = f"`{short(evidence.program.source(site))}` indexes a tensor that has no dimension"
    return Finding("GF901", "legacy-scalar", message, evidence.program.path, evidence.blamed(site), story, repair)


def is_settled(evidence: Evidence, site: ast.Subscript, seen: list[tuple[Run, Read]]) -> bool:
    """Whether no caller in another file can bring something else: the function did not get the value, or this file is started."""
    root = stripped(site.value)
    function = evidence.program.enclosing(site, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    if not isinstance(root, ast.Name) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return True
    signature = function.args
    given = any(argument.arg == root.id for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs))
    return not given or all(run.entry == "module" for run, _ in seen)


@dataclass(frozen=True)
class Total:
    """A number to which a loop adds `.data` of losses: its name, and what is added."""

    scope: ast.AST
    name: str
    added: tuple[ast.Attribute, ...]


def running_total(evidence: Evidence, site: ast.Subscript) -> Total | None:
    """What `total[0]` is the total of, where all that is put there are numbers and `.data` of tensors without dimension."""
    program = evidence.program
    if not isinstance(site.value, ast.Name):
        return None
    scope = program.enclosing(site, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or program.tree
    name = site.value.id
    added: list[ast.Attribute] = []
    for part in ast.walk(scope):
        if not isinstance(part, ast.Name) or part.id != name or isinstance(part.ctx, ast.Load):
            continue
        statement = program.parents[part]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            if not is_scalar_data(evidence, statement.value):
                return None
            added.append(statement.value)  # type: ignore[arg-type]
        elif not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)):
            return None
    if not added or evidence.needs_tensor is None or evidence.needs_tensor & set(added):
        return None
    return Total(scope, name, tuple(added))


def is_scalar_data(evidence: Evidence, node: ast.expr) -> bool:
    """Whether `node` reads the `.data` of something that never has a dimension."""
    seen = [alias for run in evidence.tape.runs for alias in run.recording.aliases if alias.site is node]
    return bool(seen) and isinstance(node, ast.Attribute) and all(shape_of(alias.source) == SCALAR for alias in seen)


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    """What would become a number: the `.data` that is added to something."""
    for run in evidence.tape.runs:
        for alias in run.recording.aliases:
            if alias.how == "data" and evidence.holds(alias.site) and is_added(evidence, alias.site):
                yield alias.site  # type: ignore[misc]


def is_added(evidence: Evidence, node: ast.AST) -> bool:
    statement = evidence.program.parents[node]
    return isinstance(statement, ast.AugAssign) and statement.value is node and isinstance(statement.target, ast.Name)


def whole_total(evidence: Evidence, total: Total, sites: list[ast.Subscript]) -> Finding:
    """Numbers are added, and the total is one."""
    edits = [Replace(evidence.span(site), total.name) for site in sites]
    edits += [Replace(evidence.span(part), f"{operand(evidence, stripped(part))}.item()") for part in total.added]
    return told(evidence, sites[0], fix(Applicability.SAFE, f"add numbers up in `{short(total.name)}`", *edits))


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


def stripped(node: ast.expr) -> ast.expr:
    """The tensor itself: without `.data`, `.cpu()`, `.numpy()` behind it."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STRIPPED:
            node = node.func.value
        else:
            return node


RULE = rule("GF901", "legacy-scalar", globals(), find, cuts=cuts, witnessed=True)
