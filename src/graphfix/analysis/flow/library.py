"""What code that is not in sight, but well known, does with what it is given."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from graphfix.effects.methods import is_common, is_of_tensor, rows_of_method, shares
from graphfix.effects.rows import has_methods, row_of
from graphfix.effects.schema import Observes, Puts, Returns, Row
from graphfix.effects.table import facts

# what the table has rows of beside operations
GIVES = {"layer": "torch.nn.Module", "distribution": "torch.distributions.Distribution"}

# results that are part of no graph
PLAIN = ("bool", "number", "none")


def lets_go(dotted: str) -> bool:
    """Whether a function of this name neither walks nor keeps what it is given."""
    row = row_of(dotted)
    if row is not None:
        return not row.keeps
    return facts(dotted) is not None


def only_computes(dotted: str) -> bool:
    """Whether a function of this name does nothing but compute something of what it is given, so that it matters to nobody who calls it."""
    row, known = row_of(dotted), facts(dotted)
    if row is None:
        return known is not None and known.kind == "function" and not (known.inplace or known.mutates)
    does = (row.keeps, row.calls, row.backward, row.writes, row.iterates, row.runs, row.pickles, row.swallows, row.attributes, row.hashes, row.compares)
    return not any(does) and row.puts is Puts.NOTHING and row.observes is Observes.NOTHING


def walks_nothing(dotted: str) -> bool:
    """Whether a function of this name neither walks what it is given nor calls it."""
    row = row_of(dotted)
    return not (row.backward or row.calls) if row is not None else facts(dotted) is not None


def goes_backward(dotted: str) -> bool:
    """Whether a function of this name runs a backward pass from what it is given."""
    row = row_of(dotted)
    return row is not None and row.backward


def holds_contents(dotted: str) -> bool:
    """Whether what a function of this name gives holds what its arguments hold."""
    row = row_of(dotted)
    return row is not None and row.returns in (Returns.CONTENTS, Returns.COPY)


def is_layer(dotted: str) -> bool:
    """Whether a class of this name is a layer of torch."""
    known = facts(dotted)
    return known is not None and known.kind == "layer"


def may_swallow(dotted: str) -> bool:
    """Whether a context manager of this name may keep an error from going further: where nothing is known of it, it may."""
    row = row_of(dotted)
    return row.swallows if row is not None else facts(dotted) is None


def may_give_itself(dotted: str) -> bool:
    """Whether what a function of this name gives may be what it is given, or as that."""
    row = row_of(dotted)
    return row is not None and row.returns is Returns.COPY


def binds(dotted: str) -> bool:
    """Whether a function of this name makes a method of a function, which is called where that method is."""
    row = row_of(dotted)
    return row is not None and row.binds


def gives_batches(dotted: str) -> bool:
    """Whether what a function of this name gives are parts of what it is given, in each iteration."""
    row = row_of(dotted)
    return row is not None and row.batches


def holds_pairs(dotted: str) -> bool:
    """Whether it holds tuples of what they hold."""
    row = row_of(dotted)
    return row is not None and row.returns is Returns.PAIRS


def is_container(dotted: str) -> bool:
    """Whether what a function of this name gives is a container, or goes over one, of what it is given."""
    row = row_of(dotted)
    return row is not None and row.holds


def iterates(dotted: str) -> bool:
    """Whether a function of this name goes over what it is given."""
    row, known = row_of(dotted), facts(dotted)
    return row is not None and row.iterates or known is not None and known.joins


def calls_argument(dotted: str) -> bool:
    """Whether a function of this name calls a function that it is given."""
    row = row_of(dotted)
    return row is not None and row.calls


def takes_numbers(name: str, itself: bool) -> bool:
    """Whether a function, or a method, of this name does the same with a number as with a tensor of one element.

    `itself`: it is given the number, and not what holds it, whose text would be another.
    """
    row = row_of(name)
    if row is not None:
        return row.takes_numbers
    rows = rows_of_method(name)
    return bool(rows) and all(takes_number(each, itself) for each in rows)


def takes_number(row: Row, itself: bool) -> bool:
    return row.puts is not Puts.NOTHING or row.takes_numbers and (itself or row.observes is Observes.NOTHING)


def is_made_of_numbers(dotted: str) -> bool:
    """Whether a layer of torch of this name calls nothing that it is made with."""
    known = facts(dotted)
    return known is not None and known.kind == "layer" and row_of(dotted) is None


def is_tensor_method(name: str) -> bool:
    """Whether tensors have a method of this name."""
    return facts(f"torch.Tensor.{name}") is not None


def is_method(name: str) -> bool:
    """Whether a class of torch, Python or a library that is well known has a method or attribute of this name."""
    return bool(rows_of_method(name))


def rows_named(name: str) -> tuple[Row, ...]:
    """The rows of the function of this name, or of all methods of it."""
    row = row_of(name)
    return (row,) if row is not None else rows_of_method(name)


def rows_at(call: ast.Call) -> tuple[Row, ...]:
    """The rows of the method that is called: those that are given texts only are not meant where it may be given something else."""
    assert isinstance(call.func, ast.Attribute)
    rows = rows_of_method(call.func.attr)
    texts = all(isinstance(each, (ast.Constant, ast.JoinedStr)) for each in [*call.args, *(keyword.value for keyword in call.keywords)])
    return rows if texts else tuple(row for row in rows if not row.of_texts)


def methods_of(makers: tuple[str, ...], call: ast.Call, is_open: bool) -> tuple[Row, ...]:
    """The rows of the method that is called; none where it may be one that has no row.

    `makers`: the classes of the object, or what has made it, if they are all that may. Each says which rows hold. `is_open`: nothing is
    known of the object, which may well be one of Python or torch. Of any other object it may be any class that has such a method.
    """
    made = [made_by(maker, call) for maker in makers]
    if made and all(made):
        called = tuple(dict.fromkeys(row for rows in made for row in rows))
    else:
        called = tuple(row for row in rows_at(call) if is_common(row) or not is_open)
    return tuple(row for row in called if not row.attribute) or called


def made_by(maker: str, call: ast.Call) -> tuple[Row, ...]:
    """The rows of the method that is called for an object of the class `maker`, or of a class of the library of that."""
    assert isinstance(call.func, ast.Attribute)
    rows = rows_of_method(call.func.attr)
    root = f"{maker.partition('.')[0]}."
    return tuple(row for row in rows if row.of_class == maker) or tuple(row for row in rows_at(call) if row.of_class.startswith(root))


def puts(name: str) -> bool:
    """Whether a method of this name puts what it is given into the object that it is called on."""
    return any(row.puts is not Puts.NOTHING for row in rows_of_method(name))


def fills(name: str) -> bool:
    """The same for an object that is no tensor: what is put into it is there as it is."""
    return any(row.puts is not Puts.NOTHING and not is_of_tensor(row) for row in rows_of_method(name))


def takes_out(name: str) -> bool:
    """Whether a method of this name takes something out of the object that it is called on."""
    return any(row.takes_out for row in rows_of_method(name))


def changes(owner: str, name: str) -> bool:
    """Whether a method of this name changes an object of the class `owner`."""
    return any(row.of_class == owner and row.writes for row in rows_of_method(name))


def shares_memory(dotted: str) -> bool:
    """Whether what a function of this name gives may lie in the memory of its first argument."""
    row = row_of(dotted)
    return row.shares or row.returns is Returns.COPY if row is not None else shares(dotted)


def class_given(dotted: str) -> str:
    """The class of a library whose object a function of this name gives, by its full name; empty where that is not known."""
    known = facts(dotted)
    if known is not None:
        return GIVES.get(known.kind, "torch.Tensor" if known.result == "tensor" and known.kind == "function" else "")
    return dotted if has_methods(dotted) else f"builtins.{dotted}" if has_methods(f"builtins.{dotted}") else ""


def shows(name: str) -> bool:
    """Whether a function, or each method, of this name only writes the text of what it is given."""
    rows = rows_named(name)
    return bool(rows) and all(each.shows for each in rows)


def gives_no_graph(dotted: str) -> bool:
    """Whether what a function of this name returns is never part of a graph."""
    row = row_of(dotted)
    if row is not None:
        return row.gives_no_graph
    known = facts(dotted)
    return known is not None and (known.cuts or known.factory or known.result in PLAIN)


def gives_numbers_at(call: ast.Call, dotted: str, key: Hashable) -> bool:
    """Whether what a call gives holds, under this key, what is never part of a graph: the places that `x.max(1)` gives with its values.

    `dotted`: the function of a library that is called, if it is one.
    """
    method = not dotted and isinstance(call.func, ast.Attribute)
    known = facts(f"torch.Tensor.{call.func.attr}" if method else dotted)  # type: ignore[attr-defined]
    if known is not None and asks_for_dimension(call, 0 if method else 1):
        known = known.variants.get("dim", known)
    index = 1 if key == ".indices" else key
    return known is not None and isinstance(index, int) and 0 <= index < len(known.items) and known.items[index] == "cut"


def asks_for_dimension(call: ast.Call, position: int) -> bool:
    """Whether a call spells a dimension: by its name, or as a number where a second tensor may stand (`torch.max(x, y)`)."""
    given = call.args[position] if position < len(call.args) else None
    given = given.operand if isinstance(given, ast.UnaryOp) else given
    spelled = isinstance(given, ast.Constant) and isinstance(given.value, int)
    return spelled or any(keyword.arg == "dim" for keyword in call.keywords)


def reads_no_graph(name: str) -> bool:
    """Whether an attribute of this name is never part of a graph, whatever has it, and no method, which would hold its object."""
    rows = rows_of_method(name)
    return bool(rows) and all(row.attribute and row.gives_no_graph for row in rows)
