"""What each expression evaluates to, and what it records on the tape."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from graphfix.autograd.iteration import Context, LoopEntry
from graphfix.interpreter import versions
from graphfix.interpreter.attributes import get_attribute, get_item
from graphfix.interpreter.boundaries import is_unsettled, note_boundary
from graphfix.interpreter.calls import call_node, note_defaults
from graphfix.interpreter.conditions import compare_two, decide_key, truth
from graphfix.interpreter.frames import STAR, Env
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter, Suspend
from graphfix.interpreter.iteration import goes_on, iterate, next_item, rounds
from graphfix.interpreter.places import assign, made_here
from graphfix.interpreter.recording import Alias, AliasKind, StoreKind
from graphfix.interpreter.refusals import refuse_unbound
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import OTHER
from graphfix.interpreter.values import (
    NONE,
    Constant,
    External,
    Function,
    Mapping,
    NonTensor,
    Pending,
    Sequence,
    Tensor,
    Unknown,
    Value,
    cut_of,
    identities,
    slot_of,
)
from graphfix.source.builtin_names import builtin_of


def evaluate(m: Interpreter, node: ast.expr) -> Value:
    """The abstract value of an expression."""
    value = EXPRESSIONS[type(node)](m, node)
    if m.substitutions and node in m.substitutions:
        return m.substitutions[node](m, node, value)
    return value


def constant(m: Interpreter, node: ast.Constant) -> Value:
    return Constant(node.value)


def name(m: Interpreter, node: ast.Name) -> Value:
    env = m.frames[-1].env
    value = env.variables.get(node.id)
    if value is None or type(value) is Pending:
        value = env.lookup(node.id)
    if value is not None:
        return value
    known = builtin_of(node.id)
    if known is not None:
        return External(f"builtins.{known}")
    library = m.frame.env.top().variables.get(STAR)
    if isinstance(library, External):
        return versions.of_library(f"{library.name}.{node.id}")
    refuse_unbound(m, node.id)
    value = Unknown(("name", node.id))
    m.frame.env.top().variables[node.id] = value
    return value


def attribute(m: Interpreter, node: ast.Attribute) -> Value:
    return get_attribute(m, evaluate(m, node.value), node.attr, node)


def call_expression(m: Interpreter, node: ast.Call) -> Value:
    return call_node(m, node)


def binary(m: Interpreter, node: ast.BinOp) -> Value:
    left, right = evaluate(m, node.left), evaluate(m, node.right)
    result = m.arithmetic(node, left, right, node.op)
    m.note_use(node.left, left)
    m.note_use(node.right, right)
    return result


def unary(m: Interpreter, node: ast.UnaryOp) -> Value:
    value = evaluate(m, node.operand)
    if isinstance(node.op, ast.Not):
        known = value.truth
        return NonTensor(("not", value.identity)) if known is None else Constant(not known)
    if isinstance(value, Constant) and isinstance(value.value, (int, float)):
        return Constant(-value.value if isinstance(node.op, ast.USub) else value.value)
    if isinstance(value, Tensor):
        made = Tensor(m.record(node, [value], False), single=value.single, shape=value.shape)
        made.unreduced = value.unreduced
        if made.node is None:
            made.latent = m.latent(node, [value])
            made.severed = severed(m, node, [value])
        return made
    if isinstance(value, Unknown):
        return Unknown(("-", value.key), m.record(node, [value], False))
    return NonTensor(("-", value.identity), cut=cut_of(value))


def boolean(m: Interpreter, node: ast.BoolOp) -> Value:
    stops_at = isinstance(node.op, ast.Or)
    value: Value = NONE
    keys: list[object] = []
    for part in node.values:
        value = evaluate(m, part)
        known = value.truth
        if known is stops_at:
            return value
        if known is None:
            keys.append(value.identity)
            if value.is_plain:
                continue
            if part is not node.values[-1] and decide_key(m, value.identity, node, not stops_at) is stops_at:
                return value
    if value.is_plain and keys:
        return NonTensor((type(node.op).__name__, *keys))
    return value


ELEMENTWISE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def compare(m: Interpreter, node: ast.Compare) -> Value:
    left = evaluate(m, node.left)
    rights = [evaluate(m, part) for part in node.comparators]
    if len(rights) != 1:
        return NonTensor(("compare", left.identity, *identities(rights)))
    if is_old_type(left, rights[0], node.ops[0]):
        assert isinstance(left, NonTensor) and left.source is not None
        m.recording.aliases.append(Alias(node, m.trace(), left.source, left.source, AliasKind.TYPE))
        return Constant(isinstance(node.ops[0], (ast.Eq, ast.Is)))  # as it was meant: no program relies on the opposite
    compared = next((v for v in (left, rights[0]) if isinstance(v, Tensor) and not v.single), None)
    if compared is not None and isinstance(node.ops[0], ELEMENTWISE) and not (left.is_none or rights[0].is_none):
        for value in (left, rights[0]):
            m.note_choice(value)
        return Tensor(base=compared, shape=OTHER)  # one answer for each element
    return compare_two(left, rights[0], node.ops[0])


def is_old_type(left: Value, right: Value, op: ast.cmpop) -> bool:
    """Whether the type of a tensor is compared with `Variable`, which has been no tensor's type since torch 0.4."""
    if not isinstance(left, NonTensor) or not isinstance(left.source, Tensor) or kind_of(left.key) != "type":
        return False
    old = isinstance(right, External) and right.name in ("torch.autograd.Variable", "torch.autograd.variable.Variable")
    return old and isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot))


def conditional(m: Interpreter, node: ast.IfExp) -> Value:
    taken = truth(m, node.test, node)
    m.recording.covered[node, taken] = m.frame.definition
    branch = node.body if taken else node.orelse
    value = evaluate(m, branch)
    m.note_use(branch, value)
    return value


def subscript(m: Interpreter, node: ast.Subscript) -> Value:
    return get_item(m, evaluate(m, node.value), node.slice, node)


def displayed(m: Interpreter, kind: str, parts: list[ast.expr]) -> Sequence:
    """What `[a, *b]`, and a tuple or set so written, holds."""
    made = Sequence(kind, [])
    for part in parts:
        value = evaluate(m, part.value if isinstance(part, ast.Starred) else part)
        made.goes_on = isinstance(part, ast.Starred) and goes_on(value)
        if isinstance(part, ast.Starred):
            made.items.extend(iterate(m, value, part))
        else:
            m.note_use(part, value)
            made.items.append(value)
    return made


def tuple_display(m: Interpreter, node: ast.Tuple) -> Value:
    return displayed(m, "tuple", node.elts)


def list_display(m: Interpreter, node: ast.List) -> Value:
    return made_here(m, displayed(m, "list", node.elts))


def set_display(m: Interpreter, node: ast.Set) -> Value:
    return made_here(m, displayed(m, "set", node.elts))


def dict_display(m: Interpreter, node: ast.Dict) -> Value:
    made = made_here(m, Mapping({}))
    for key, part in zip(node.keys, node.values):
        value = evaluate(m, part)
        if key is None:
            if isinstance(value, Mapping):
                made.items.update(value.items)
            else:
                made.open = True
            continue
        index = evaluate(m, key)
        slot = slot_of(index)
        m.note_use(part, value)
        made.items[slot] = value
    return made


def comprehend(m: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[bool]:
    """Bind the targets for each combination of items that passes the conditions. Yields whether more follow than are simulated."""
    frame, outer_env, outer = m.frame, m.frame.env, m.context
    frame.env = Env(outer_env.document, outer_env)
    entry, walks = m.loop(node), len(m.recording.walks)
    try:
        for count, _ in enumerate(combinations(m, node.generators, entry, outer)):
            if count and len(m.recording.walks) > walks:  # it is a loop that trains
                note_boundary(m, entry, {})
            m.context = (*outer, (entry, count))
            yield entry.goes_on
    finally:
        frame.env, m.context = outer_env, outer


def combinations(m: Interpreter, generators: list[ast.comprehension], entry: LoopEntry, outer: Context) -> Iterator[None]:
    """Bind the targets of the first generator, and for each of its items those of the others."""
    if not generators:
        yield
        return
    first, *others = generators
    over = evaluate(m, first.iter)
    entry.goes_on |= goes_on(over)
    for index, item in enumerate(rounds_of(m, over, first.iter, entry, outer)):
        m.context = (*outer, (entry, index))
        assign(m, first.target, item, None, StoreKind.ITEM)
        if all(truth(m, test, test) for test in first.ifs):
            yield from combinations(m, others, entry, outer)


def rounds_of(m: Interpreter, over: Value, site: ast.expr, entry: LoopEntry, outer: Context) -> Iterator[Value]:
    """The items that a comprehension goes over: as a loop does, one more where only that meets what the last one walked."""
    items = iterate(m, over, site)
    yield from items
    if len(items) == rounds(site):
        m.context = outer
        further = next_item(m, over, items, site) if is_unsettled(m, entry, len(items) - 1) else None
        if further is not None:
            entry.further = len(items)
            yield further


def list_comprehension(m: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    items: list[tuple[Value, bool]] = []
    for follow in comprehend(m, node):
        items.append((evaluate(m, node.elt), follow))
        m.note_use(node.elt, items[-1][0])
    kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
    made = Sequence(kind, [item for item, _ in items])
    made.goes_on = any(follow for _, follow in items)
    return made_here(m, made)


def dict_comprehension(m: Interpreter, node: ast.DictComp) -> Value:
    made = made_here(m, Mapping({}))
    for _ in comprehend(m, node):
        key = evaluate(m, node.key)
        slot = slot_of(key)
        made.items[slot] = evaluate(m, node.value)
        m.note_use(node.value, made.items[slot])
    return made


def lambda_expression(m: Interpreter, node: ast.Lambda) -> Value:
    function = Function(node, m.frame.env)
    note_defaults(m, function)
    return function


def text(m: Interpreter, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            evaluate(m, part.value)
    return NonTensor(("text", node, m.context))


def walrus(m: Interpreter, node: ast.NamedExpr) -> Value:
    value = evaluate(m, node.value)
    assign(m, node.target, value, node.value, StoreKind.ASSIGNED)
    return value


def starred(m: Interpreter, node: ast.Starred) -> Value:
    return evaluate(m, node.value)


def awaited(m: Interpreter, node: ast.Await) -> Value:
    return evaluate(m, node.value)


def yielded(m: Interpreter, node: ast.Yield) -> Value:
    value = evaluate(m, node.value) if node.value is not None else NONE
    if m.frame.waits:
        raise Suspend(value, m.grad_enabled)
    m.frame.yielded.append((value, m.grad_enabled))
    m.frame.yields_on |= any(entry.goes_on for entry, _ in m.context[len(m.frame.context) :])
    return Unknown(("sent", node, m.now()))


def yielded_from(m: Interpreter, node: ast.YieldFrom) -> Value:
    for item in iterate(m, evaluate(m, node.value), node):
        if m.frame.waits:
            raise Suspend(item, m.grad_enabled)
        m.frame.yielded.append((item, m.grad_enabled))
    return NONE


def slice_expression(m: Interpreter, node: ast.Slice) -> Value:
    parts = [evaluate(m, part) if part is not None else NONE for part in (node.lower, node.upper, node.step)]
    if all(isinstance(part, Constant) for part in parts):
        return Constant(slice(*(part.value for part in parts if isinstance(part, Constant))))
    return NonTensor(("slice", *identities(parts)))


EXPRESSIONS: dict[type, Callable[[Interpreter, ast.expr], Value]] = {
    ast.Constant: constant, ast.Name: name, ast.Attribute: attribute, ast.Call: call_expression, ast.BinOp: binary,
    ast.UnaryOp: unary, ast.BoolOp: boolean, ast.Compare: compare, ast.IfExp: conditional, ast.Subscript: subscript,
    ast.Tuple: tuple_display, ast.List: list_display, ast.Set: set_display, ast.Dict: dict_display,
    ast.ListComp: list_comprehension, ast.SetComp: list_comprehension, ast.GeneratorExp: list_comprehension,
    ast.DictComp: dict_comprehension, ast.Lambda: lambda_expression, ast.JoinedStr: text, ast.NamedExpr: walrus,
    ast.Starred: starred, ast.Await: awaited, ast.Yield: yielded, ast.YieldFrom: yielded_from, ast.Slice: slice_expression,
}  # fmt: skip
if hasattr(ast, "TemplateStr"):
    EXPRESSIONS[ast.TemplateStr] = text
