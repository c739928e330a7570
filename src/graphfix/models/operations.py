"""What a torch operation returns and records, by the facts of the recorded table."""

from __future__ import annotations

import ast
from dataclasses import replace

from graphfix.autograd.graph import Leaf, Node
from graphfix.effects.table import OpFacts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.memory import has_grad, keep, overwrite, view
from graphfix.interpreter.places import note_store
from graphfix.interpreter.recording import Read, ReadKind, StoreKind
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import (
    ONE,
    OTHER,
    SCALAR,
    leaves_no_dimension,
    names_second_dimension,
    result_shape,
    sized,
    unreduced,
)
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Keywords,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
    identities,
)
from graphfix.models.saving import operands, save, saved_inputs

# with any other argument, `axis` for one, a reduction may leave dimensions
REDUCES_ALL = frozenset(("dtype", "input", "out"))
# which give back the very tensor where it is what they would make of it; a leaf that requires gradients is, as a rule
# https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
GIVES_BACK = frozenset(("float", "contiguous"))


def operation(m: Interpreter, known: OpFacts | None, values: Arguments, keywords: Keywords, site: ast.AST, name: str) -> Value:
    """The result of a torch operation by the facts recorded for it."""
    for value in values:
        wanted_tensor(m, value, site)
    out = keywords.get("out")
    if isinstance(out, (Tensor, Unknown, Sequence)):
        return refilled(m, out, site)
    if known is None:
        node = m.record(site, values, True, certain=False)
        return Unknown((name, site, m.now()), node)
    word = name.rsplit(".", 1)[-1]
    first = values[0] if values else None
    if word in GIVES_BACK and isinstance(first, Tensor) and first.leaf is not None:
        return first
    positional = values[: len(values) - len(keywords)]
    known = variant(known, keywords, [] if compares_two(word, values) else positional)
    if (known.inplace or known.mutates) and values:
        m.recording.written.append((values[0], known.reshapes or any(value.node is not None for value in values)))
    if known.factory:
        made = new_leaf(m, known, keywords, site)
        made.shape = sized(known, positional, keywords)
        return made
    plain = reduces_nothing(keywords) or ("reduction" in known.variants and reduces_nothing_at(known, positional))
    single = known.scalar and not plain and not compares_two(word, values)
    if known.keeps_shape:
        single = any(value.single for value in values[:1])
    single = single or leaves_no_dimension(known, positional, keywords)
    shape = result_shape(known, word, values, single)
    single |= shape in (SCALAR, ONE)
    if shape is None and names_second_dimension(known, word, positional, keywords):
        shape = OTHER
    if known.result in ("number", "bool"):
        return NonTensor((name, *identities(values)))
    if known.result in ("none", "dict"):
        return NONE
    if word == "size":
        return NonTensor(("size", *identities(values)))
    if known.result == "other" and not known.differentiable:
        return NonTensor((name, site, m.now()))
    if known.cuts or "cut" in (known.items or ()):
        for value in values:
            m.note_choice(value)
    if known.cuts or not known.differentiable:
        made = Tensor(single=single, base=values[0] if values else None, shape=OTHER if shape is None else shape)
        made.severed = severed(m, site, values) if known.cuts else None
        return made
    node = m.record(site, values, saves_surely(known, positional, keywords))
    if node is not None and known.random:
        node.random = True
    if known.result in ("tuple", "list"):
        return several(known, node, keywords, positional, first, name)
    if node is None and values and isinstance(values[0], Tensor) and known.alias and not known.inplace:
        # a shape that is not known is that of the base, unless the operation may have changed it
        shape = OTHER if shape is None and not known.keeps_shape and word != "squeeze" else shape
        made = Tensor(None, None, single, values[0], values[0].is_data, shape)
        made.severed = severed(m, site, values)
        return view(made, values[0], name)
    made = Tensor(node, None, single, shape=shape)
    if not single:
        is_loss = "reduction" in known.variants and is_unreduced(keywords, values)
        made.unreduced = site if is_loss else unreduced(known, positional, keywords)
    if node is None:
        made.latent = m.latent(site, values)
        made.severed = severed(m, site, values)
    if known.inplace and isinstance(first, Tensor):
        return written(m, known, made, first, positional, values[1:], site)
    save(made, known, positional, name)
    return view(made, first, name) if known.alias and first is not None else made


def refilled(m: Interpreter, out: Value, site: ast.AST) -> Value:
    """What an operation is given as `out`: it gets new content and no graph.

    torch raises where it would have to record one: https://docs.pytorch.org/docs/stable/notes/autograd.html.
    """
    for tensor in out.items if isinstance(out, Sequence) else [out]:
        if isinstance(tensor, Tensor):
            m.recording.written.append((tensor, False))
            tensor.single, tensor.shape = False, None
            if tensor.leaf is None and not tensor.is_data:
                overwrite(m, tensor, site, None)
        if isinstance(tensor, (Tensor, Unknown)) and m.grad_enabled:
            tensor.node = None
    return out


def written(
    m: Interpreter, known: OpFacts, made: Tensor, target: Tensor, positional: Arguments, given: Arguments, site: ast.AST
) -> Value:
    """The tensor `target`, in which an operation has put what it `made`."""
    if known.reshapes:
        target.shape = None
    keep(made, [value for value in saved_inputs(known, positional, "") if isinstance(value, Tensor)])
    changed = changed_in_place(m, target, made, given, site)
    if known.saves_output and made.node is not None:
        keep(made, [changed])
    return changed


def several(known: OpFacts, node: Node | None, keywords: Keywords, positional: Arguments, first: Value | None, name: str) -> Value:
    """The results of an operation that gives several."""
    made = structure(known, node, keywords)
    if isinstance(made, Sequence) and made.items and isinstance(made.items[0], Tensor):
        save(made.items[0], replace(known, saves_output=False), positional, name)
    for part in made.items if known.alias and first is not None and isinstance(made, Sequence) else ():
        if isinstance(part, Tensor):
            view(part, first, name)
            if known.plural and isinstance(first, Tensor):
                part.storage.leaf = first.storage.leaf
    return made


def compares_two(word: str, values: Arguments) -> bool:
    """`torch.max(a, b)` works element by element."""
    return word in ("max", "min") and len(values) > 1 and values[1].may_be_tensor


def variant(known: OpFacts, keywords: Keywords, positional: Arguments) -> OpFacts:
    """The facts for these arguments."""
    for word, changed in known.variants.items():
        place = known.positions.get(word, len(positional)) if word == "inplace" else len(positional)
        given = positional[place] if place < len(positional) else keywords.get(word)
        if given is not None and word not in ("reduction", "training", "p=0", "eval"):
            if isinstance(given, Constant) and given.value in (False, None) and word in ("inplace", "return_indices"):
                continue
            return changed
        # a norm's order, too: then more is known than is said
        if word == "dim" and known.scalar and (len(positional) > 1 or keywords.keys() - REDUCES_ALL):
            return changed
        at = positional[changed.at] if changed.at is not None and changed.at < len(positional) else None
        if word == "number" and isinstance(at, (Constant, NonTensor)) or word == "tensor" and isinstance(at, Tensor):
            return changed
    return known


def saves_surely(known: OpFacts, positional: Arguments, keywords: Keywords) -> bool:
    """Whether an operation saves something with these arguments, that its graph is freed by a walk."""
    if not known.saves or not all(changed.saves or is_other(word, changed, positional, keywords) for word, changed in known.variants.items()):
        return False
    carrying = [*(value for place, value in enumerate(positional) if place not in known.saves_nothing_for), *keywords.values()]
    return not known.saves_nothing_for or any(map(has_grad, carrying))


def is_other(word: str, changed: OpFacts, positional: Arguments, keywords: Keywords) -> bool:
    """Whether a call is not the one of the variant `word`, which saves nothing."""
    given = operands(positional)
    at = given[changed.at] if changed.at is not None and changed.at < len(given) else None
    if word == "number":
        return isinstance(at, Tensor)
    if word == "alone":
        return at is not None
    if word not in ("p=0", "training"):
        return True  # told by keywords that are not there
    at = keywords.get(word.partition("=")[0], at)
    return at is None or isinstance(at, Constant) and bool(at.value)


def is_unreduced(keywords: Keywords, compared: Arguments) -> bool:
    """Whether a loss gives a value for each sample of what is `compared`: that of one number is one number."""
    reduction = keywords.get("reduction")
    return isinstance(reduction, Constant) and reduction.value == "none" and not any(value.single for value in compared[:1])


def reduces_nothing(keywords: Keywords) -> bool:
    """`reduction="none"` and the older `reduce=False`, or a reduction that is not known."""
    reduction = keywords.get("reduction")
    if reduction is not None:
        return not (isinstance(reduction, Constant) and reduction.value in ("mean", "sum", "batchmean", "elementwise_mean"))
    return "reduce" in keywords


def reduces_nothing_at(known: OpFacts, given: Arguments) -> bool:
    """The same, by position: `given` to a loss function or its module."""
    if any(isinstance(value, Constant) and value.value == "none" for value in given):
        return True
    places = (known.positions.get(name, len(given)) for name in ("reduce", "reduction"))
    reduce, reduction = (given[place] if place < len(given) else NONE for place in places)
    keeps = isinstance(reduce, Constant) and reduce.value in (None, True)
    return not keeps or not (isinstance(reduction, Constant) and reduction.value in (None, "mean", "sum", "batchmean"))


def new_leaf(m: Interpreter, known: OpFacts, keywords: Keywords, site: ast.AST) -> Tensor:
    wanted = keywords.get("requires_grad")
    if wanted is not None and not wanted.is_off:
        made = Tensor(leaf=Leaf("tensor", True, site))
        m.recording.asks.append(m.trace())
    else:
        made = Tensor()
    device = keywords.get("device", NONE)
    made.storage.device = None if device.is_none else device.identity
    return made


def structure(known: OpFacts, node: object, keywords: Keywords) -> Value:
    """The tuple that an operation returns, nested as recorded."""

    def build(shape: object) -> Value:
        if isinstance(shape, (list, tuple)):
            return Sequence("tuple", [build(part) for part in shape])
        if shape in ("tensor", "cut"):
            return Tensor(node if shape == "tensor" else None)  # type: ignore[arg-type]
        return NonTensor(("item", shape))

    shapes = known.items if not known.plural else (known.items or ("tensor",)) * 2
    return Sequence("tuple", [build(shape) for shape in (shapes or ("tensor", "tensor"))], known.plural)


def changed_in_place(
    m: Interpreter, target: Tensor, made: Tensor, values: Arguments | tuple[Value, ...] = (), site: ast.AST | None = None
) -> Tensor:
    """`x.add_(y)`: every name of `x` sees the new graph."""
    m.recording.written.append((target, made.node is not None))
    if site is not None and target.leaf is None and not target.is_data:
        overwrite(
            m, target, site, site.func.value if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else None
        )
    if target.leaf is not None and target.leaf.requires_grad:
        m.write_leaf(target.leaf, site)
        return target
    if made.node is not None and not target.is_data:
        if (
            isinstance(site, ast.Call)
            and isinstance(site.func, ast.Attribute)
            and any(value.node is not None for value in values)
        ):
            note_store(
                m,
                site.func.value,
                (target, "in place"),
                made,
                site.args[0] if site.args else None,
                StoreKind.WRITTEN,
                Tensor(target.node),
            )
        target.node = made.node
    return target


def wanted_tensor(m: Interpreter, value: Value, site: ast.AST) -> None:
    """torch does not take a list of numbers where it wants tensors: a repair that made them would break this call."""
    items = value.items if isinstance(value, Sequence) else [value]
    for item in items:
        if item.cut is not None:
            m.recording.misuses.append(Read(site, m.trace(), item, ReadKind.AS_TENSOR))
