"""What a method does whose receiver is not known: what each class says that has one of its name, tensors among them."""

from __future__ import annotations

import functools

from graphfix.effects.project_rows import kept_by_name
from graphfix.effects.rows import files, methods_named
from graphfix.effects.schema import Observes, Puts, Returns, Row
from graphfix.effects.table import OpFacts, facts

TENSOR = "torch.Tensor"
RECORDED = "recorded from torch: scripts/record_torch.py"
NO_GRAPH = ("number", "bool", "other", "none")


@kept_by_name
def rows_of_method(name: str) -> tuple[Row, ...]:
    """The rows of all methods and attributes of this name; empty where no class that is known has one."""
    written = methods_named(name)
    known = facts(f"{TENSOR}.{name}")
    return (*written, recorded(name, known)) if known is not None and not any(map(is_of_tensor, written)) else written


def is_of_tensor(row: Row) -> bool:
    """Whether it is a method or attribute of tensors."""
    return row.of_class == TENSOR


def is_common(row: Row) -> bool:
    """Whether it is of a class of Python or torch, which an object of which nothing is known may well be of."""
    return f"{row.of_class.partition('.')[0]}.toml" not in files() or row.of_class.startswith("torch.")


def recorded(name: str, known: OpFacts) -> Row:
    """The row of a tensor's method or attribute, as torch was seen to do it."""
    row = functools.partial(Row, f"{TENSOR}.{name}", source=RECORDED, of_class=TENSOR, attribute=known.kind == "attribute")
    if known.inplace:
        return row(Returns.ITSELF, puts=Puts.ITEM, writes=True)
    given = known.variants.get("tensor") if known.cuts else None
    if given is not None and not given.cuts:
        return row(Returns.ELEMENT, of_arguments=True)  # `x.new(loss)`
    if known.cuts and known.result in ("tensor", "tuple"):
        return row(Returns.CUT)
    if known.cuts or known.result in NO_GRAPH:
        return row(Returns.NUMBER, writes=known.mutates, puts=Puts.ITEM if known.mutates else Puts.NOTHING)
    return row(Returns.MADE if known.result == "tensor" else Returns.SEVERAL, writes=known.mutates)


@kept_by_name
def gives_no_graph(name: str) -> bool:
    """Whether what a method or attribute of this name gives is never part of a graph, whatever has it."""
    rows = rows_of_method(name)
    return bool(rows) and all(row.gives_no_graph for row in rows)


@kept_by_name
def gives_no_tensor(name: str) -> bool:
    """Whether what a method of this name gives is no tensor itself, whatever has it."""
    rows = rows_of_method(name)
    return bool(rows) and all(row.gives_no_tensor for row in rows)


@kept_by_name
def observes_graph(name: str) -> bool:
    """Whether a method or attribute of this name tells something of a graph."""
    return any(row.observes is Observes.GRAPH for row in rows_of_method(name))


@kept_by_name
def writes(name: str) -> bool:
    """Whether a method of this name may change what it is called on, or what it is given, or is not known."""
    rows = rows_of_method(name)
    return not rows or any(row.writes or row.calls or row.keeps or row.draws for row in rows)


@kept_by_name
def shares_memory(name: str) -> bool:
    """Whether what a method or attribute of this name gives may lie in the memory of what has it."""
    rows = rows_of_method(name)
    return shares(f"{TENSOR}.{name}") or any(row.shares or row.returns is Returns.ITSELF for row in rows)


@functools.cache
def shares(name: str) -> bool:
    """Whether what torch gives here may lie in the memory of its first argument, as was recorded, or is that."""
    known = facts(name)
    return known is not None and any(each.alias for each in (known, *known.variants.values()))
