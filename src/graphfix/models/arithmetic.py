"""Operators: on numbers they are folded, on tensors they record a node."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator

from graphfix.autograd.graph import Storage
from graphfix.effects.table import OpFacts, facts
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import goes_on, iterate
from graphfix.interpreter.memory import has_grad, keep, note_leaf_write, overwrite
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import operator_shape, unreduced
from graphfix.interpreter.values import (
    MAX_ITEMS,
    MAX_TEXT,
    Constant,
    Counted,
    Function,
    Instance,
    NonTensor,
    Parameters,
    ParametersForm,
    Sequence,
    Tensor,
    Unknown,
    Value,
    content_of_parameters,
    cut_of,
)
from graphfix.models.containers import extend
from graphfix.models.registry import Model, models
from graphfix.models.saving import divided

ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
# a format with a width or precision that is given apart, or has many digits, may make a text of any length
WIDE = re.compile(r"\*|\d{4}")
# https://pytorch.org/docs/stable/notes/autograd.html: sums keep nothing for their backward
NOTHING_SAVED = (ast.Add, ast.Sub)


def arithmetic(m: Interpreter, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """`left op right`."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return fold(op, left, right)
    if isinstance(left, Constant) and isinstance(left.value, (str, bytes)):
        return NonTensor(("text", site, m.now()))
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return sequence_arithmetic(m, site, left, right, op)
    if isinstance(left, Instance) or isinstance(right, Instance):
        return overloaded(m, site, left, right, op)
    if isinstance(left, Parameters) and isinstance(right, Parameters) and left.form is right.form is ParametersForm.ALL:
        return Parameters([*left.owners, *right.owners], some=left.some or right.some)  # two lists of them
    if isinstance(op, ast.Add) and (is_list_of_parameters(left) or is_list_of_parameters(right)):
        return Sequence("list", [each for part in (left, right) for each in listed(m, part, site)], True)
    if (made := content_of_parameters([left, right])) is not None:
        return made
    left, right = (m.parameter(each, site) if isinstance(each, Parameters) else each for each in (left, right))
    saves = not isinstance(op, NOTHING_SAVED)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        tensors = [value for value in (left, right) if value.may_be_tensor]
        single = all(value.single if isinstance(value, Tensor) else False for value in tensors)
        computed = Tensor(m.record(site, (left, right), saves), single=single, shape=operator_shape(left, right))
        if computed.node is None:
            computed.latent = m.latent(site, (left, right))
            computed.severed = severed(m, site, (left, right))
        known = facts("torch.matmul" if isinstance(op, ast.MatMult) else "torch.add") or OpFacts("function")
        computed.unreduced = unreduced(known, [left, right], {})
        keep(computed, [value for value in operands_saved(op, left, right) if isinstance(value, Tensor)])
        if isinstance(op, ast.Pow) and isinstance(left, Constant):
            keep(computed, [computed])
        return computed
    key = (type(op).__name__, left.identity, right.identity)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        result = Unknown(key, m.record(site, (left, right), saves))
        alone = beside_number(site, left, right)
        if alone is not None:
            return result.computed_from(alone, site)
        if result.node is None:
            result.latent = m.latent(site, (left, right))
        return result
    return NonTensor(key, cut=cut_of(left, right))


def as_function(op: ast.operator) -> Model:
    """The operator as a function: `pow(x, 2)` is `x ** 2`."""

    def apply(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
        return arithmetic(m, site, arguments[0], arguments[1], op) if len(arguments) == 2 else None

    return apply


for _names, _op in (
    (("builtins.pow", "operator.pow"), ast.Pow()),
    (("operator.add", "operator.concat"), ast.Add()),
    (("operator.sub",), ast.Sub()),
    (("operator.mul",), ast.Mult()),
    (("operator.truediv",), ast.Div()),
    (("operator.floordiv",), ast.FloorDiv()),
    (("operator.mod",), ast.Mod()),
    (("operator.matmul",), ast.MatMult()),
):
    models(*_names)(as_function(_op))


def is_list_of_parameters(value: Value) -> bool:
    return isinstance(value, Parameters) and value.form in (ParametersForm.ALL, ParametersForm.NAMED)


def listed(m: Interpreter, part: Value, site: ast.AST) -> list[Value]:
    """What a list gets of a part of a sum of lists; the parameters of a module that is not in sight stay known as its."""
    if isinstance(part, Unknown) and kind_of(part.key) == "parameters":
        return [part]
    return iterate(m, part, site)


def beside_number(site: ast.AST, left: Value, right: Value) -> Value | None:
    """The one operand that may be a tensor, where the other is a number as it is written there.

    A variable that holds a number now (`loss = 0`, a default) may hold the very tensor in the run that works.
    """
    if isinstance(site, ast.BinOp):
        first, second = site.left, site.right
    elif isinstance(site, ast.AugAssign):
        first, second = site.target, site.value
    else:
        return None
    return left if is_number(second) else right if is_number(first) else None


def is_number(expression: ast.expr) -> bool:
    """Whether an expression is written as a number."""
    if isinstance(expression, ast.UnaryOp):
        return is_number(expression.operand)
    if isinstance(expression, ast.BinOp):
        return is_number(expression.left) and is_number(expression.right)
    return isinstance(expression, ast.Constant) and isinstance(expression.value, (int, float, complex))


def operands_saved(op: ast.operator, left: Value, right: Value) -> Iterator[Value]:
    """The operands that the backward of `left op right` needs."""
    if isinstance(op, (ast.Mult, ast.MatMult)):
        if has_grad(right):
            yield left
        if has_grad(left):
            yield right
    elif isinstance(op, ast.Div):
        yield from divided(left, right)
    elif isinstance(op, ast.Pow):
        yield from (left, right)


def fold(op: ast.operator, left: Constant, right: Constant) -> Value:
    function = ARITHMETIC.get(type(op))
    one, two = left.value, right.value
    counts = isinstance(left, Counted) or isinstance(right, Counted)
    if counts and isinstance(op, (ast.Mod, ast.FloorDiv)):  # which turn it is
        return NonTensor((type(op).__name__, left.identity, right.identity))
    try:
        if function is not None and is_small(op, one, two):
            return (Counted if counts else Constant)(function(one, two))
    except (ArithmeticError, TypeError, ValueError, MemoryError) as error:  # the program's own: its result is not known
        return NonTensor(("failed", type(error).__name__, repr(one), repr(two)))
    return NonTensor((type(op).__name__, repr(one)[:80], repr(two)[:80]))


def is_small(op: ast.operator, left: object, right: object) -> bool:
    """Whether the result needs little time and memory, however often the program computes on with it."""
    if isinstance(op, (ast.Pow, ast.Mult)):
        numbers = all(isinstance(value, (int, float)) and abs(value) < 1e6 for value in (left, right))
        return numbers and not (isinstance(op, ast.Pow) and isinstance(right, (int, float)) and abs(right) > 64)
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        return WIDE.search(left if isinstance(left, str) else left.decode("latin-1")) is None
    return sum(len(value) for value in (left, right) if isinstance(value, (str, bytes, tuple))) <= MAX_TEXT


def sequence_arithmetic(m: Interpreter, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    if isinstance(op, ast.Add):
        items: list[Value] = []
        for part in (left, right):
            if isinstance(part, Sequence):
                items.extend(part.items)
            else:
                items.extend(iterate(m, part, site))
        kind = left.kind if isinstance(left, Sequence) else "list"
        most = max(MAX_ITEMS, *(len(part.items) for part in (left, right) if isinstance(part, Sequence)))
        is_open = getattr(left, "open", True) or getattr(right, "open", True) or len(items) > most
        made = Sequence(kind, items[:most], is_open)
        made.goes_on = is_open or goes_on(left) or goes_on(right)
        return made
    if isinstance(op, ast.Mult):
        part, count = (left, right) if isinstance(left, Sequence) else (right, left)
        assert isinstance(part, Sequence)
        times = count.value if isinstance(count, Constant) and isinstance(count.value, int) else 2
        repeats = max(0, min(times, 4))
        fitting = max(1, MAX_ITEMS // max(1, len(part.items)))
        return Sequence(part.kind, part.items * min(repeats, fitting), open_=not isinstance(count, Constant) or fitting < repeats)
    return Unknown(("sequence", site, m.now()), m.record(site, (left, right), True))


def overloaded(m: Interpreter, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """An operator that a class of the project may define."""
    word = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul"}.get(type(op))
    for this, other, prefix in ((left, right, ""), (right, left, "r")):
        method = this.cls.find(f"__{prefix}{word}__") if isinstance(this, Instance) and word else None
        if isinstance(method, Function):
            return m.call(method, [this, other], {}, site)
    return Unknown(("operator", site, m.now()), m.record(site, (left, right), True))


def in_place(m: Interpreter, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """`left op= right`: a tensor is changed in place, so that every name of it sees the new graph."""
    if isinstance(left, Tensor):
        m.recording.written.append((left, right.node is not None))
        if left.leaf is not None and left.leaf.requires_grad and not m.grad_enabled:
            m.write_leaf(left.leaf, site)
            return left
        if left.is_data:
            return left
        note_leaf_write(m, left, site, site.target if isinstance(site, ast.AugAssign) else None, right)
        kept, left.storage = left.storage, Storage()  # the write itself saves no more than a copy of what it overwrites
        result = arithmetic(m, site, left, right, op)
        left.storage = kept
        if right is left and isinstance(op, (ast.Mult, ast.Div)) and result.node is not None:
            result.node.save(kept)
        overwrite(m, left, site, site.target if isinstance(site, ast.AugAssign) else None)
        left.single = left.single and getattr(result, "single", True)
        if result.node is not None:
            left.node = result.node
        return left
    if isinstance(left, Sequence) and left.kind == "list" and isinstance(op, ast.Add):
        assert isinstance(site, ast.AugAssign)
        extend(m, left, right, site.value, site.target, site)
        return left
    if isinstance(left, Instance):
        method = left.cls.find("__iadd__")
        if isinstance(op, ast.Add) and isinstance(method, Function):
            return m.call(method, [left, right], {}, site)
    return arithmetic(m, site, left, right, op)
