"""Conditions: what the program decides itself, and the questions that the run decides."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from graphfix.interpreter.identity import is_one_address, is_one_object
from graphfix.interpreter.interning import Key, interned, kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import (
    Constant,
    Counted,
    External,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
    slot_of,
)


def truth(m: Interpreter, test: ast.expr, site: ast.AST, negated: bool = False) -> bool:
    """Decide a condition; `site` is the branch that asks. `and`, `or`, `not` are decided part by part."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not truth(m, test.operand, site, not negated)
    if isinstance(test, ast.BoolOp):
        wanted = isinstance(test.op, ast.Or)
        return wanted if any(truth(m, part, site, negated) is wanted for part in test.values) else not wanted
    value = m.evaluate(test)
    known = value.truth
    return known if known is not None else decide_key(m, value.identity, site, negated)


def decide_key(m: Interpreter, key: object, site: ast.AST, negated: bool) -> bool:
    asked = interned(key)
    opposite = False
    while isinstance(asked, Key) and len(asked.parts) == 2 and asked.parts[0] == "not":
        asked, opposite = asked.parts[1], not opposite
    return m.decide(asked, site, negated is not opposite) is not opposite


def compare_two(left: Value, right: Value, op: ast.cmpop) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)) and right.is_none:
        if not isinstance(left, (Unknown, Constant, External)):
            return Constant(isinstance(op, ast.IsNot))
    if isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)) and (is_foreign_type(left, right) or is_foreign_type(right, left)):
        return Constant(isinstance(op, (ast.NotEq, ast.IsNot)))
    one, two = constant(left), constant(right)
    counts = isinstance(left, Counted) or isinstance(right, Counted)
    if isinstance(left, Counted) and left.up and left.value > 0 and isinstance(right, Constant) and right.value == 0:
        return compare_counter(False, op, left.identity)
    if one is not None and two is not None and not counts:
        known = compare_known(one.value, two.value, op)
        if known is not None:
            return Constant(known)
    is_empty = emptiness(left, right, op)
    if is_empty is not None:
        return Constant(is_empty)
    if isinstance(left, NonTensor) and left.first is not None and isinstance(right, Constant) and right.value == 0:
        return compare_counter(left.first, op, left.identity)
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, Mapping) and slot_of(left) in right.items:
        return Constant(isinstance(op, ast.In))
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (Sequence, Mapping)) and isinstance(left, Constant):
        found = contains(right, left)
        if found is not None:
            return Constant(found is isinstance(op, ast.In))
    first, second = left.identity, right.identity
    goes_on = is_followed(first, second, op, BEFORE_LAST)
    goes_on = is_followed(second, first, op, LAST_BEFORE) if goes_on is None else goes_on
    if goes_on is not None:
        return Constant(goes_on)
    if isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        same = (is_one_object if isinstance(op, (ast.Is, ast.IsNot)) else is_one_address)(left, right)
        if same is not None:
            return Constant(same is isinstance(op, (ast.Is, ast.Eq)))
        key: object = ("==", first, second)
        return NonTensor(key if isinstance(op, (ast.Eq, ast.Is)) else ("not", key))
    if isinstance(op, (ast.In, ast.NotIn)):
        key = ("in", first, second)
        return NonTensor(key if isinstance(op, ast.In) else ("not", key))
    if isinstance(op, ast.Lt):
        return NonTensor(("<", first, second))
    if isinstance(op, ast.Gt):
        return NonTensor(("<", second, first))
    return NonTensor(("not", ("<", first, second) if isinstance(op, ast.GtE) else ("<", second, first)))


def emptiness(left: Value, right: Value, op: ast.cmpop) -> bool | None:
    """What a comparison that asks whether a container is empty answers for one that surely is; None for any other comparison.

    `len(layers) > 0` is `layers` where that is a condition; how long a container becomes is another question.
    """
    for one, two, swapped in ((left, right, False), (right, left, True)):
        if (
            kind_of(one.identity) == "len"
            and one.identity.parts[2:] == (0,)
            and isinstance(two, Constant)
            and two.value in (0, 1)
        ):  # type: ignore[attr-defined]
            answers = {compare_known(*((two.value, length) if swapped else (length, two.value)), op) for length in range(1, 3)}
            if answers == {True} or answers == {False}:  # all that are not empty are alike to it
                empty = compare_known(*((two.value, 0) if swapped else (0, two.value)), op)
                return empty if empty not in answers else None
    return None


def is_foreign_type(asked: Value, kind: Value) -> bool:
    """Whether the type of a tensor, `type(x)`, is compared with a class of another library than torch: `np.ndarray`, `list`.

    What a backward pass went through is a tensor, or holds some.
    """
    if not isinstance(asked, NonTensor) or kind_of(asked.key) != "type" or not isinstance(kind, External):
        return False
    source = asked.source
    if isinstance(source, Unknown):
        return source.node is not None and bool(source.node.walks) and kind.name.startswith("numpy.")
    return isinstance(source, Tensor) and not kind.name.startswith("torch.")


def constant(value: Value, depth: int = 3) -> Constant | None:
    """A value that the program spells out: a small tuple of such ones is one, too. A list grows by more than two iterations show."""
    if isinstance(value, Sequence) and value.kind == "tuple" and not value.open and depth and len(value.items) <= 10:
        parts = [constant(item, depth - 1) for item in value.items]
        made = tuple(part.value for part in parts if part is not None)
        return Constant(made) if len(made) == len(parts) else None
    return value if isinstance(value, Constant) else None


def compare_known(left: object, right: object, op: ast.cmpop) -> bool | None:
    tests: dict[type, Callable[[object, object], object]] = {
        ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le,
        ast.GtE: operator.ge, ast.Is: lambda a, b: a is b or a == b, ast.IsNot: lambda a, b: not (a is b or a == b),
        ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    }  # fmt: skip
    try:
        return bool(tests[type(op)](left, right))
    except TypeError:
        return None


# What a counter, on the left or on the right, gives against the number of iterations before the last one.
BEFORE_LAST: dict[type, bool] = {ast.Lt: True, ast.LtE: True, ast.NotEq: True, ast.Eq: False, ast.Gt: False, ast.GtE: False}
LAST_BEFORE: dict[type, bool] = {ast.Gt: True, ast.GtE: True, ast.NotEq: True, ast.Eq: False, ast.Lt: False, ast.LtE: False}


def is_followed(counter: object, number: object, op: ast.cmpop, answers: dict[type, bool]) -> bool | None:
    """The answer to "is this the last iteration?" (`i < len(losses) - 1`) in one that another iteration follows; None for other questions."""
    counter, ahead = without_offset(counter)
    number, behind = without_offset(number)
    if not isinstance(counter, Key) or kind_of(counter) != "counter" or len(counter.parts) != 3:
        return None
    loop, index = counter.parts[1], counter.parts[2]
    if not isinstance(loop, Key) or len(loop.parts) != 4 or not isinstance(index, int):
        return None
    counted, last = loop.parts[2:]
    if counted is None or index >= last or not (number == counted or is_length(number, counted)):
        return None
    # before the last iteration `i + 1` is below the number of them; `i + 1 < n - 1` asks for the last but one
    return answers.get(type(op)) if ahead - behind <= 1 else None


def without_offset(key: object) -> tuple[object, int]:
    """`n` and -1 of `n - 1`, `i` and 1 of `i + 1`; what has no such offset, and 0."""
    if isinstance(key, Key) and kind_of(key) in ("Add", "Sub") and len(key.parts) == 3 and key.parts[2] == 1:
        return key.parts[1], 1 if kind_of(key) == "Add" else -1
    return key, 0


def is_length(key: object, counted: object) -> bool:
    """Whether a number is `len(x)`, `x.shape[0]` or `x.size(0)` of what is counted."""
    forms = (("len", counted), ("size", counted, 0), ("item", ("size", counted), 0), ("item", ("shape", counted), 0))
    return isinstance(key, Key) and (key in map(interned, forms) or kind_of(key) == "len" and key.parts[1] == counted)


def compare_counter(first: bool, op: ast.cmpop, key: object) -> Value:
    """A loop counter against zero: 0 in the first iteration, above it later."""
    answers = {
        ast.Eq: first,
        ast.NotEq: not first,
        ast.Gt: not first,
        ast.LtE: first,
        ast.Is: first,
        ast.GtE: True,
        ast.Lt: False,
    }
    answer = answers.get(type(op))
    return Constant(answer) if answer is not None else NonTensor(("counter", key))


def contains(holder: Sequence | Mapping, item: Constant) -> bool | None:
    if isinstance(holder, Mapping):
        if item.value in holder.items:
            return True
        return None if holder.open or holder.rest or any(isinstance(k, tuple) for k in holder.items) else False
    if all(isinstance(part, Constant) for part in holder.items) and not holder.open:
        return any(part.value == item.value for part in holder.items if isinstance(part, Constant))
    return None
