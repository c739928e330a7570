"""Numbers that are read as in torch 0.3: with an index on a tensor that has no dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.interpreter.recording import Read
from graphfix.interpreter.shapes import SCALAR, shape_of
from graphfix.interpreter.values import NonTensor, Tensor, Value
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree

# functions that tell of what kind their first argument is, and what a tensor says of its dimensions
KIND_OF = frozenset(("isinstance", "type", "len", "is_tensor", "isscalar", "ndim"))
SHAPE = frozenset(("dim", "ndim", "ndimension", "shape", "size", "numel", "nelement"))


@dataclass(frozen=True)
class Total:
    """A number to which a loop adds `.data` of losses: its name, and what is added."""

    scope: ast.AST
    name: str
    added: tuple[ast.Attribute, ...]


def indexed(evidence: Evidence) -> Iterator[tuple[ast.Subscript, list[tuple[Run, Read]], bool]]:
    """Each `[0]` on what never has a dimension, and whether the tape knows that or only a walk shows one element."""
    reads: dict[ast.Subscript, list[tuple[Run, Read]]] = {}
    for run in evidence.tape.runs:
        for read in run.recording.legacy:
            if evidence.program.holds(read.site):
                reads.setdefault(read.site, []).append((run, read))  # type: ignore[arg-type]
    for site, seen in reads.items():
        known = [no_dimension(evidence.facts, read.value) for _, read in seen]
        if None not in known and not isinstance(site.ctx, ast.Store) and not is_told_apart(evidence, site):
            yield site, seen, all(known)


def is_told_apart(evidence: Evidence, site: ast.Subscript) -> bool:
    """Whether a branch around it has asked of what kind the value is: `if isinstance(loss, tuple): loss = loss[0]`."""
    read = {ast.dump(part) for part in subtree(site.value) if isinstance(part, ast.expr)}
    part: ast.AST = site
    while not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
        above = evidence.program.parent(part)
        if isinstance(above, (ast.If, ast.IfExp)) and part is not above.test:
            if not read.isdisjoint(map(ast.dump, asked_for_kind(above.test))):
                return True
        part = above
    return False


def asked_for_kind(test: ast.expr) -> Iterator[ast.expr]:
    """What a condition asks the type or the shape of."""
    for part in subtree(test):
        if isinstance(part, ast.Call) and part.args and getattr(part.func, "attr", getattr(part.func, "id", "")) in KIND_OF:
            yield part.args[0]
        elif isinstance(part, ast.Attribute) and part.attr in SHAPE:
            yield part.value


def running_total(evidence: Evidence, site: ast.Subscript) -> Total | None:
    """What `total[0]` is the total of, where all that is put there are numbers and `.data` of tensors without dimension."""
    program = evidence.program
    if not isinstance(site.value, ast.Name):
        return None
    scope = program.enclosing(site, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or program.tree_of(site)
    name = site.value.id
    added: list[ast.Attribute] = []
    for part in subtree(scope):
        if not isinstance(part, ast.Name) or part.id != name or isinstance(part.ctx, ast.Load):
            continue
        statement = program.parent(part)
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


def no_dimension(facts: Facts, value: Value) -> bool | None:
    """True: known to have no dimension; False: known to have one element; None: not known."""
    current: Value | None = value.source if isinstance(value, NonTensor) else value
    while current is not None:
        shape = shape_of(current)
        if shape is not None:
            return True if shape == SCALAR else None
        if current.node is not None and current.node.site in facts.single.sites:
            return False if current.node.site not in facts.divided.sites else None
        current = current.base if isinstance(current, Tensor) else None
    return None
