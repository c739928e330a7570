"""What a torch operation returns and records, by the facts of the recorded table."""

from __future__ import annotations

import ast
from dataclasses import replace

from graphfix.autograd.graph import Leaf, Node
from graphfix.effects.table import OpFacts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.memory import keep, overwrite, view
from graphfix.interpreter.places import note_store
from graphfix.interpreter.recording import Read, ReadKind, StoreKind
from graphfix.interpreter.severed import severed
from graphfix.interpreter.shapes import (
    KEEPS_SHAPE,
    ONE,
    OTHER,
    RESHAPES,
    SCALAR,
    leaves_no_dimension,
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
from graphfix.models.saving import save, saved_inputs

# with any other argument, `axis` for one, a reduction may leave dimensions
REDUCES_ALL = frozenset(("dtype", "input", "out"))
# which save nothing where a weight or divisor is a number, an input needs no gradient, or nothing is dropped: that they free
# something proves nothing
SAVE_AT_TIMES = frozenset(
    "lerp lerp_ dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout einsum fmod remainder addcmul addcmul_ addr addmm "
    "addmv addbmm baddbmm addcdiv".split()
)
# which give back the very tensor where it is what they would make of it; a leaf that requires gradients is, as a rule
# https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
GIVES_BACK = frozenset(("float", "contiguous"))
# where losses take `reduce`, counted from behind the input and the target; `reduction` follows, `size_average` lies before
REDUCE_AT = {
    "cross_entropy": 3, "nll_loss": 3, "binary_cross_entropy": 2, "binary_cross_entropy_with_logits": 2,
    "multilabel_soft_margin_loss": 2, "hinge_embedding_loss": 2, "margin_ranking_loss": 3, "cosine_embedding_loss": 3,
    "triplet_margin_loss": 6, "ctc_loss": 9,
    "CrossEntropyLoss": 3, "NLLLoss": 3, "NLLLoss2d": 3, "BCELoss": 2, "BCEWithLogitsLoss": 2, "MultiLabelSoftMarginLoss": 2,
    "HingeEmbeddingLoss": 2, "MarginRankingLoss": 2, "CosineEmbeddingLoss": 2, "TripletMarginLoss": 5, "CTCLoss": 9,
}  # fmt: skip


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
        reshapes = name.rsplit(".", 1)[-1] in RESHAPES
        m.recording.written.append((values[0], reshapes or any(value.node is not None for value in values)))
    if known.factory:
        made = new_leaf(m, known, keywords, site)
        made.shape = sized(word, positional, keywords)
        return made
    plain = reduces_nothing(keywords) or ("reduction" in known.variants and reduces_nothing_at(word, positional[2:]))
    single = known.scalar and not plain and not compares_two(word, values)
    if word in KEEPS_SHAPE:
        single = any(value.single for value in values[:1])
    single = single or leaves_no_dimension(word, positional, keywords)
    shape = result_shape(word, values, single)
    single |= shape in (SCALAR, ONE)
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
    node = m.record(site, values, known.saves and name.rpartition(".")[2] not in SAVE_AT_TIMES)
    if node is not None and known.random:
        node.random = True
    if known.result in ("tuple", "list"):
        return several(known, node, keywords, positional, first, name)
    if node is None and values and isinstance(values[0], Tensor) and known.alias and not known.inplace:
        # a shape that is not known is that of the base, unless the operation may have changed it
        shape = OTHER if shape is None and word not in KEEPS_SHAPE and word != "squeeze" else shape
        made = Tensor(None, None, single, values[0], values[0].is_data, shape)
        made.severed = severed(m, site, values)
        return view(made, values[0], name)
    made = Tensor(node, None, single, shape=shape)
    if not single:
        is_loss = "reduction" in known.variants and is_unreduced(keywords, values)
        made.unreduced = site if is_loss else unreduced(word, positional, keywords)
    if node is None:
        made.latent = m.latent(site, values)
        made.severed = severed(m, site, values)
    if known.inplace and isinstance(first, Tensor):
        return written(m, known, made, first, positional, values[1:], site, word)
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
    m: Interpreter, known: OpFacts, made: Tensor, target: Tensor, positional: Arguments, given: Arguments, site: ast.AST, word: str
) -> Value:
    """The tensor `target`, in which an operation has put what it `made`."""
    if word in RESHAPES:
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
    for word, changed in known.variants.items():
        if word in keywords and word not in ("reduction", "training", "p=0", "eval"):
            given = keywords[word]
            if isinstance(given, Constant) and given.value in (False, None) and word in ("inplace", "return_indices"):
                continue
            return changed
        # a norm's order, too: then more is known than is said
        if word == "dim" and known.scalar and (len(positional) > 1 or keywords.keys() - REDUCES_ALL):
            return changed
    return known


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


def reduces_nothing_at(word: str, given: Arguments) -> bool:
    """The same, by position: `given` to the loss function or module `word` behind the tensors that it compares."""
    if any(isinstance(value, Constant) and value.value == "none" for value in given):
        return True
    place = REDUCE_AT.get(word, 1)
    reduce, reduction = (*given[place : place + 2], NONE, NONE)[:2]
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
