"""What each expression evaluates to, and what it records on the tape."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator

from graphfix.tape.frames import Env
from graphfix.tape.machine import Machine
from graphfix.tape.places import assign, is_hashable, item_of
from graphfix.tape.values import (
    NONE, Class, External, Function, GradMode, Instance, Known, Layer, Mapping, Opaque, Optimizer, Parameters, Plain, Project, Sequence, Tensor, Value,
)  # fmt: skip

LOOP_LIMIT = 4
ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
# https://pytorch.org/docs/stable/notes/autograd.html: sums keep nothing for their backward
NOTHING_SAVED = (ast.Add, ast.Sub)
BUILTINS = frozenset(dir(builtins))


def evaluate(m: Machine, node: ast.expr) -> Value:
    """The abstract value of an expression."""
    value = EXPRESSIONS[type(node)](m, node)
    if m.overrides and node in m.overrides:
        return m.overrides[node](m, node, value)
    return value


def constant(m: Machine, node: ast.Constant) -> Value:
    return Known(node.value)


def name(m: Machine, node: ast.Name) -> Value:
    value = m.frame.env.lookup(node.id)
    if value is not None:
        return value
    if node.id in BUILTINS:
        return External(f"builtins.{node.id}")
    value = Opaque(("name", node.id))
    m.frame.env.top().variables[node.id] = value
    return value


def attribute(m: Machine, node: ast.Attribute) -> Value:
    from graphfix.tape.attributes import get_attribute

    return get_attribute(m, evaluate(m, node.value), node.attr, node)


def call_expression(m: Machine, node: ast.Call) -> Value:
    from graphfix.tape.calls import call_node

    return call_node(m, node)


def key_of(value: Value) -> object:
    """Equal keys mean equal values within a run."""
    if isinstance(value, Known):
        return value.value if is_hashable(value.value) else repr(value.value)
    if isinstance(value, (Plain, Opaque)):
        return value.key
    if isinstance(value, External):
        return value.name
    if isinstance(value, Sequence):
        return ("sequence", id(value), len(value.items))
    return id(value)


def cut_of(*values: Value) -> object:
    """The repair, if any, that turned one of these numbers from a tensor into a number."""
    for value in values:
        if isinstance(value, Plain) and value.cut is not None:
            return value.cut
    return None


def binary(m: Machine, node: ast.BinOp) -> Value:
    left, right = evaluate(m, node.left), evaluate(m, node.right)
    result = arithmetic(m, node, left, right, node.op)
    if not isinstance(result, Known):
        m.note_use(node.left, left)
        m.note_use(node.right, right)
    return result


def arithmetic(m: Machine, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """`left op right`."""
    if isinstance(left, Known) and isinstance(right, Known):
        return fold(op, left, right)
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return sequence_arithmetic(m, site, left, right, op)
    if isinstance(left, Known) and isinstance(left.value, str):
        return Plain(("text", site, m.now()))
    if isinstance(left, Instance) or isinstance(right, Instance):
        return overloaded(m, site, left, right, op)
    saves = not isinstance(op, NOTHING_SAVED)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        tensors = [value for value in (left, right) if isinstance(value, (Tensor, Opaque))]
        single = all(value.single if isinstance(value, Tensor) else False for value in tensors)
        return Tensor(m.record(site, (left, right), saves), single=single)
    key = (type(op).__name__, key_of(left), key_of(right))
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return Opaque(key, m.record(site, (left, right), saves))
    return Plain(key, cut=cut_of(left, right))


def fold(op: ast.operator, left: Known, right: Known) -> Value:
    function = ARITHMETIC.get(type(op))
    one, two = left.value, right.value
    try:
        small = not isinstance(op, (ast.Pow, ast.Mult)) or all(isinstance(v, (int, float)) and abs(v) < 1e6 for v in (one, two))
        if function is not None and small and not (isinstance(op, ast.Pow) and abs(two) > 64):
            return Known(function(one, two))
    except (ArithmeticError, TypeError, ValueError, MemoryError) as error:  # the program's own: its result is not known
        return Plain(("failed", type(error).__name__, repr(one), repr(two)))
    return Plain((type(op).__name__, repr(one)[:80], repr(two)[:80]))


def sequence_arithmetic(m: Machine, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    if isinstance(op, ast.Add):
        items: list[Value] = []
        for part in (left, right):
            if isinstance(part, Sequence):
                items.extend(part.items)
            else:
                items.extend(iterate(m, part, site))
        kind = left.kind if isinstance(left, Sequence) else "list"
        return Sequence(kind, items, getattr(left, "open", True) or getattr(right, "open", True))
    if isinstance(op, ast.Mult):
        part, count = (left, right) if isinstance(left, Sequence) else (right, left)
        assert isinstance(part, Sequence)
        times = count.value if isinstance(count, Known) and isinstance(count.value, int) else 2
        return Sequence(part.kind, part.items * max(0, min(times, LOOP_LIMIT)), open_=not isinstance(count, Known))
    return Opaque(("sequence", site, m.now()), m.record(site, (left, right), True))


def overloaded(m: Machine, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """An operator that a class of the project may define."""
    from graphfix.tape.calls import call

    word = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul"}.get(type(op))
    for this, other, prefix in ((left, right, ""), (right, left, "r")):
        method = this.cls.find(f"__{prefix}{word}__") if isinstance(this, Instance) and word else None
        if isinstance(method, Function):
            return call(m, method, [this, other], {}, site)
    return Opaque(("operator", site, m.now()), m.record(site, (left, right), True))


def in_place(m: Machine, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
    """`left op= right`: a tensor is changed in place, so that every name of it sees the new graph."""
    if isinstance(left, Tensor):
        if left.leaf is not None and left.leaf.requires_grad and not m.grad_enabled:
            left.leaf.version += 1
            return left
        if left.severed == "data":
            return left
        result = arithmetic(m, site, left, right, op)
        left.single = left.single and getattr(result, "single", True)
        if result.node is not None:
            left.node = result.node
        return left
    if isinstance(left, Sequence) and left.kind == "list" and isinstance(op, ast.Add):
        left.items.extend(right.items if isinstance(right, Sequence) else iterate(m, right, site))
        del left.items[40:]
        return left
    if isinstance(left, Instance):
        from graphfix.tape.calls import call

        method = left.cls.find("__iadd__")
        if isinstance(op, ast.Add) and isinstance(method, Function):
            return call(m, method, [left, right], {}, site)
    return arithmetic(m, site, left, right, op)


def unary(m: Machine, node: ast.UnaryOp) -> Value:
    value = evaluate(m, node.operand)
    if isinstance(node.op, ast.Not):
        known = known_truth(value)
        return Plain(("not", key_of(value))) if known is None else Known(not known)
    if isinstance(value, Known) and isinstance(value.value, (int, float)):
        return Known(-value.value if isinstance(node.op, ast.USub) else value.value)
    if isinstance(value, Tensor):
        return Tensor(m.record(node, [value], False), single=value.single)
    if isinstance(value, Opaque):
        return Opaque(("-", value.key), m.record(node, [value], False))
    return Plain(("-", key_of(value)), cut=cut_of(value))


def known_truth(value: Value) -> bool | None:
    """The truth of a value where the program alone tells it."""
    if isinstance(value, Known):
        return bool(value.value)
    if isinstance(value, Plain):
        return None if value.first is None else not value.first
    if isinstance(value, (Sequence, Mapping)):
        return None if value.open else bool(value.items or getattr(value, "rest", None))
    if isinstance(value, (Tensor, Opaque)):
        return None
    if isinstance(value, External):
        return None if value.name.count(".") > 1 else True
    return True


def truth(m: Machine, test: ast.expr, site: ast.AST, negated: bool = False) -> bool:
    """Decide a condition; `site` is the branch that asks. `and`, `or`, `not` are decided part by part."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not truth(m, test.operand, site, not negated)
    if isinstance(test, ast.BoolOp):
        wanted = isinstance(test.op, ast.Or)
        return wanted if any(truth(m, part, site, negated) is wanted for part in test.values) else not wanted
    value = evaluate(m, test)
    known = known_truth(value)
    return known if known is not None else decide_key(m, key_of(value), site, negated)


def decide_key(m: Machine, key: object, site: ast.AST, negated: bool) -> bool:
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "not":
        return not decide_key(m, key[1], site, not negated)
    return m.decide(key, site, negated)


def boolean(m: Machine, node: ast.BoolOp) -> Value:
    stops_at = isinstance(node.op, ast.Or)
    value: Value = NONE
    keys: list[object] = []
    for part in node.values:
        value = evaluate(m, part)
        known = known_truth(value)
        if known is stops_at:
            return value
        if known is None:
            keys.append(key_of(value))
            if isinstance(value, (Plain, Known)):
                continue
            if part is not node.values[-1] and decide_key(m, key_of(value), node, not stops_at) is stops_at:
                return value
    if isinstance(value, (Plain, Known)) and keys:
        return Plain((type(node.op).__name__, *keys))
    return value


def compare(m: Machine, node: ast.Compare) -> Value:
    left = evaluate(m, node.left)
    rights = [evaluate(m, part) for part in node.comparators]
    if len(rights) != 1:
        return Plain(("compare", key_of(left), *map(key_of, rights)))
    return compare_two(left, rights[0], node.ops[0])


def compare_two(left: Value, right: Value, op: ast.cmpop) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, Known) and right.value is None:
        if not isinstance(left, (Opaque, Known, External)):
            return Known(isinstance(op, ast.IsNot))
    if isinstance(left, Known) and isinstance(right, Known):
        known = compare_known(left.value, right.value, op)
        if known is not None:
            return Known(known)
    if isinstance(left, Plain) and left.first is not None and isinstance(right, Known) and right.value == 0:
        return compare_counter(left.first, op, key_of(left))
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (Sequence, Mapping)) and isinstance(left, Known):
        found = contains(right, left)
        if found is not None:
            return Known(found is isinstance(op, ast.In))
    one, two = key_of(left), key_of(right)
    if isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        key: object = ("==", one, two)
        return Plain(key if isinstance(op, (ast.Eq, ast.Is)) else ("not", key))
    if isinstance(op, (ast.In, ast.NotIn)):
        key = ("in", one, two)
        return Plain(key if isinstance(op, ast.In) else ("not", key))
    if isinstance(op, ast.Lt):
        return Plain(("<", one, two))
    if isinstance(op, ast.Gt):
        return Plain(("<", two, one))
    return Plain(("not", ("<", one, two) if isinstance(op, ast.GtE) else ("<", two, one)))


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


def compare_counter(first: bool, op: ast.cmpop, key: object) -> Value:
    """A loop counter against zero: 0 in the first iteration, above it later."""
    answers = {ast.Eq: first, ast.NotEq: not first, ast.Gt: not first, ast.LtE: first, ast.Is: first, ast.GtE: True, ast.Lt: False}
    answer = answers.get(type(op))
    return Known(answer) if answer is not None else Plain(("counter", key))


def contains(holder: Sequence | Mapping, item: Known) -> bool | None:
    if isinstance(holder, Mapping):
        if item.value in holder.items:
            return True
        return None if holder.open or holder.rest or any(isinstance(k, tuple) for k in holder.items) else False
    if all(isinstance(part, Known) for part in holder.items) and not holder.open:
        return any(part.value == item.value for part in holder.items if isinstance(part, Known))
    return None


def conditional(m: Machine, node: ast.IfExp) -> Value:
    taken = truth(m, node.test, node)
    m.evidence.covered.add((node, taken))
    return evaluate(m, node.body if taken else node.orelse)


def subscript(m: Machine, node: ast.Subscript) -> Value:
    from graphfix.tape.attributes import get_item

    return get_item(m, evaluate(m, node.value), node.slice, node)


def items_of(m: Machine, parts: list[ast.expr]) -> list[Value]:
    items: list[Value] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            items.extend(iterate(m, evaluate(m, part.value), part))
        else:
            value = evaluate(m, part)
            m.note_use(part, value)
            items.append(value)
    return items


def tuple_display(m: Machine, node: ast.Tuple) -> Value:
    return Sequence("tuple", items_of(m, node.elts))


def list_display(m: Machine, node: ast.List) -> Value:
    made = Sequence("list", items_of(m, node.elts))
    made.context = m.context
    return made


def set_display(m: Machine, node: ast.Set) -> Value:
    return Sequence("set", items_of(m, node.elts))


def dict_display(m: Machine, node: ast.Dict) -> Value:
    made = Mapping({})
    made.context = m.context
    for key, part in zip(node.keys, node.values):
        value = evaluate(m, part)
        if key is None:
            if isinstance(value, Mapping):
                made.items.update(value.items)
            else:
                made.open = True
            continue
        index = evaluate(m, key)
        slot = index.value if isinstance(index, Known) and is_hashable(index.value) else ("unknown", key_of(index))
        m.note_use(part, value)
        made.items[slot] = value
    return made


def counter(key: object, index: int) -> Plain:
    return Plain(("counter", key, index), first=index == 0)


def iterate(m: Machine, value: Value, site: ast.AST) -> list[Value]:
    """What a loop over `value` sees: the known items, or two unknown ones."""
    if isinstance(value, Sequence) and (value.items or not value.open):
        return value.items[:LOOP_LIMIT] if value.kind != "generator" else value.items[: 2 * LOOP_LIMIT]
    if isinstance(value, Mapping) and (value.items or not value.open):
        return [Known(key) if not isinstance(key, tuple) else Plain(key) for key in list(value.items)[:LOOP_LIMIT]]
    if isinstance(value, Known) and isinstance(value.value, (str, tuple, bytes)):
        return [Known(item) for item in value.value[:2]]
    if isinstance(value, Tensor):
        return [Tensor(m.record(site, [value], False), single=False) for _ in range(2)]
    if isinstance(value, Layer) and value.children is not None:
        return value.children[:LOOP_LIMIT]
    if isinstance(value, Parameters):
        return [value]
    if isinstance(value, Instance):
        return iterate_instance(m, value, site)
    if isinstance(value, Plain):
        return [Plain(("item", value.key, i, m.context)) for i in range(2)]
    key = key_of(value)
    return [Opaque(("item", key, i, m.now()), value.node) for i in range(2)]


def iterate_instance(m: Machine, value: Instance, site: ast.AST) -> list[Value]:
    from graphfix.tape.calls import call

    if value.cls.fields is not None and value.cls.find("__iter__") is None:
        return [value.attributes.get(field, NONE) for field in value.cls.fields]
    method = value.cls.find("__iter__")
    if isinstance(method, Function):
        result = call(m, method, [value], {}, site)
        if result is value:
            step = value.cls.find("__next__")
            if isinstance(step, Function):
                return [call(m, step, [value], {}, site) for _ in range(2)]
        return iterate(m, result, site) if not isinstance(result, Instance) else [Opaque(("item", site, i, m.now())) for i in range(2)]
    method = value.cls.find("__getitem__")
    if isinstance(method, Function):
        return [call(m, method, [value, counter(("index", site), i)], {}, site) for i in range(2)]
    return [Opaque(("item", id(value), i, m.now())) for i in range(2)]


def comprehend(m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[None]:
    """Bind the targets for each combination of items that passes the conditions."""
    frame, outer_env, outer = m.frame, m.frame.env, m.context
    frame.env = Env(outer_env.program, outer_env)
    entry = m.loop(node)
    count = 0

    def level(depth: int) -> Iterator[None]:
        nonlocal count
        if depth == len(node.generators):
            m.context = (*outer, (entry, count))
            count += 1
            yield
            return
        generator = node.generators[depth]
        for item in iterate(m, evaluate(m, generator.iter), generator.iter):
            assign(m, generator.target, item, None, "for")
            if all(truth(m, test, test) for test in generator.ifs):
                yield from level(depth + 1)

    try:
        yield from level(0)
    finally:
        frame.env, m.context = outer_env, outer


def list_comprehension(m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    items = [evaluate(m, node.elt) for _ in comprehend(m, node)]
    kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
    return Sequence(kind, items)


def dict_comprehension(m: Machine, node: ast.DictComp) -> Value:
    made = Mapping({})
    for _ in comprehend(m, node):
        key = evaluate(m, node.key)
        slot = key.value if isinstance(key, Known) and is_hashable(key.value) else ("unknown", key_of(key))
        made.items[slot] = evaluate(m, node.value)
    return made


def lambda_expression(m: Machine, node: ast.Lambda) -> Value:
    from graphfix.tape.statements import note_defaults

    function = Function(node, m.frame.env)
    note_defaults(m, function)
    return function


def text(m: Machine, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            evaluate(m, part.value)
    return Plain(("text", node, m.context))


def walrus(m: Machine, node: ast.NamedExpr) -> Value:
    value = evaluate(m, node.value)
    assign(m, node.target, value, node.value, "=")
    return value


def starred(m: Machine, node: ast.Starred) -> Value:
    return evaluate(m, node.value)


def awaited(m: Machine, node: ast.Await) -> Value:
    return evaluate(m, node.value)


def yielded(m: Machine, node: ast.Yield) -> Value:
    value = evaluate(m, node.value) if node.value is not None else NONE
    m.frame.yielded.append((value, m.grad_enabled))
    return Opaque(("sent", node, m.now()))


def yielded_from(m: Machine, node: ast.YieldFrom) -> Value:
    for item in iterate(m, evaluate(m, node.value), node):
        m.frame.yielded.append((item, m.grad_enabled))
    return NONE


def slice_expression(m: Machine, node: ast.Slice) -> Value:
    parts = [evaluate(m, part) if part is not None else NONE for part in (node.lower, node.upper, node.step)]
    if all(isinstance(part, Known) for part in parts):
        return Known(slice(*(part.value for part in parts if isinstance(part, Known))))
    return Plain(("slice", *map(key_of, parts)))


EXPRESSIONS: dict[type, Callable[[Machine, ast.expr], Value]] = {
    ast.Constant: constant, ast.Name: name, ast.Attribute: attribute, ast.Call: call_expression, ast.BinOp: binary,
    ast.UnaryOp: unary, ast.BoolOp: boolean, ast.Compare: compare, ast.IfExp: conditional, ast.Subscript: subscript,
    ast.Tuple: tuple_display, ast.List: list_display, ast.Set: set_display, ast.Dict: dict_display,
    ast.ListComp: list_comprehension, ast.SetComp: list_comprehension, ast.GeneratorExp: list_comprehension,
    ast.DictComp: dict_comprehension, ast.Lambda: lambda_expression, ast.JoinedStr: text, ast.NamedExpr: walrus,
    ast.Starred: starred, ast.Await: awaited, ast.Yield: yielded, ast.YieldFrom: yielded_from, ast.Slice: slice_expression,
}  # fmt: skip
if hasattr(ast, "TemplateStr"):
    EXPRESSIONS[ast.TemplateStr] = text
