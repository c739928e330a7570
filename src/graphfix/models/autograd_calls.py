"""Every coat in which a backward pass comes, brought to `Interpreter.backward`."""

from __future__ import annotations

import ast

from graphfix.autograd.backward import WalkKind
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Seed, Ungraded, Unused
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Keywords,
    Sequence,
    Tensor,
    Unknown,
    Value,
    leaves_in,
    nodes_in,
)
from graphfix.models.registry import models
from graphfix.models.words import LAUNCHERS


def flags(keywords: Keywords) -> tuple[bool, bool, object]:
    """(retains, creates a graph, the constant given to retain_graph or "unknown", None where it is not given)."""
    creates = is_on(keywords.get("create_graph"))
    given = keywords.get("retain_graph", keywords.get("retain_variables"))
    if given is None or given.is_none:
        return creates, creates, None
    keyword = given.value if isinstance(given, Constant) else "unknown"
    return is_on(given), creates, keyword


def is_on(value: Value | None) -> bool:
    """An unknown flag counts as on: a graph that may be kept is not reported as freed."""
    return value is not None and not value.is_off


def backward_method(m: Interpreter, receiver: Tensor | Unknown, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`loss.backward()`, and `engine.backward(loss)` where the receiver has no graph of its own."""
    assert isinstance(site, ast.Call)
    retains, creates, keyword = flags(keywords)
    roots: list[Value] = [receiver]
    source: ast.expr | None = site.func.value if isinstance(site.func, ast.Attribute) else None
    given = arguments[0] if arguments else None
    if isinstance(receiver, Unknown) and receiver.node is None and given is not None and not given.is_plain:
        roots, source = [given], site.args[0]
    if (
        isinstance(receiver, Unknown)
        and receiver.node is not None
        and not receiver.node.certain
        and given is not None
        and given.node is not None
    ):
        roots, source = [given], site.args[0]
    if len(arguments) > 1 and "retain_graph" not in keywords and roots[0] is receiver:
        retains, creates, keyword = flags({**keywords, "retain_graph": arguments[1]})
    targets = targets_of(m, keywords.get("inputs"), site)
    kind = WalkKind.METHOD if roots[0] is receiver else WalkKind.LAUNCHER
    gradient = given if given is not None else keywords.get("gradient")
    if gradient is not None and roots[0] is receiver:
        m.recording.seeds.append(Seed(site, m.trace(), receiver, gradient))
    m.backward(site, roots, retains=retains, creates=creates, keyword=keyword, kind=kind, receiver=source, targets=targets)
    return NONE


def launcher_backward(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """`self.manual_backward(loss)`; None where it is something else."""
    return launched(m, arguments, keywords, site, proves=True) if name in LAUNCHERS else None


def launched(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST, *, proves: bool = False) -> Value | None:
    """A function that runs the backward pass of its first argument; None where it is given none."""
    if not arguments or not isinstance(site, ast.Call):
        return None
    retains, creates, keyword = flags(keywords)
    m.backward(
        site,
        arguments[:1],
        retains=retains,
        creates=creates,
        keyword=keyword,
        kind=WalkKind.LAUNCHER,
        receiver=site.args[0],
        proves=proves,
    )
    return NONE


@models("torch.autograd.backward")
def autograd_backward(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph)`: one pass over all of them."""
    assert isinstance(site, ast.Call)
    retains, creates, keyword = flags(keywords)
    roots = arguments[:1] or [keywords.get("tensors", NONE)]
    if isinstance(roots[0], Sequence):
        roots = list(roots[0].items)
    m.backward(
        site,
        roots,
        retains=retains,
        creates=creates,
        keyword=keyword,
        kind=WalkKind.FUNCTION,
        targets=targets_of(m, keywords.get("inputs"), site),
    )
    return NONE


@models("torch.autograd.grad")
def autograd_grad(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.autograd.grad(outputs, inputs, ...)`: frees what lies between the two only."""
    assert isinstance(site, ast.Call)
    names = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph")
    given = {**dict(zip(names, arguments)), **keywords}
    retains, creates, keyword = flags(given)
    outputs = given.get("outputs", NONE)
    roots = list(outputs.items) if isinstance(outputs, Sequence) else [outputs]
    inputs = given.get("inputs")
    note_unused(m, site, roots, inputs, given)
    event = m.backward(
        site,
        roots,
        retains=retains,
        creates=creates,
        keyword=keyword,
        kind=WalkKind.GRAD,
        targets=targets_of(m, inputs, site),
    )
    parts = len(inputs.items) if isinstance(inputs, Sequence) and inputs.items else 1
    made: list[Value] = []
    for _ in range(parts):
        node = None
        if creates and event is not None:
            node = m.record(site, [*roots, *(inputs.items if isinstance(inputs, Sequence) else [inputs or NONE])], True)
            event.created.extend([node] if node is not None else [])
        made.append(Tensor(node))
    return Sequence("tuple", made, open_=not isinstance(inputs, (Sequence, Tensor)))


def note_unused(m: Interpreter, site: ast.Call, roots: Arguments, inputs: Value | None, given: Keywords) -> None:
    """Note the inputs to which no way leads from the outputs, which torch refuses unless it is told to allow it.

    No way leads to what is made behind all outputs, nor to what is no part of what they are known to be made of.
    """
    place = site.args[1] if len(site.args) > 1 else next((each.value for each in site.keywords if each.arg == "inputs"), None)
    several = isinstance(inputs, Sequence)
    places = place.elts if several and isinstance(place, (ast.List, ast.Tuple)) else [place]
    values = inputs.items if isinstance(inputs, Sequence) else [inputs]
    is_written = not several or isinstance(place, (ast.List, ast.Tuple))  # what a container holds may differ from run to run
    for value, expression in zip(values, places) if is_written and len(places) == len(values) else ():
        if isinstance(value, Tensor) and expression is not None and not isinstance(expression, ast.Starred) and needs_no_gradient(m, value):
            m.recording.ungraded.append(Ungraded(site, m.trace(), expression, value.leaf))
    if any(is_on(given.get(word)) for word in ("allow_unused", "materialize_grads")):
        return
    known = [root.node for root in roots if isinstance(root, Tensor) and root.node is not None and root.node.certain]
    if not known or len(known) < len(roots) or len(places) != len(values):
        return
    below = history(known)
    is_closed = all(node.certain and node.callee is None for node in below)
    for value, expression in zip(values, places):
        if not isinstance(value, Tensor) or value.node is None or not value.node.certain or expression is None:
            continue
        node = value.node
        is_apart = is_closed and node not in below and not is_handed_on(m, value)
        if all(node.order > root.order for root in known) or is_apart:
            m.recording.unused.append(Unused(site, m.trace(), node, known[0], expression))


def needs_no_gradient(m: Interpreter, value: Tensor) -> bool:
    """Whether a tensor surely requires none: it has no graph, nobody has told it to require grad, and no code out of sight has got hold of it."""
    if value.node is not None or value.latent is not None or value.leaf is not None and value.leaf.requires_grad:
        return False
    return not any(each is value for each in (*m.recording.given, *m.recording.kept)) and not m.recording.thaws


def is_handed_on(m: Interpreter, value: Value) -> bool:
    """Whether a module or code that is not in sight may compute with a tensor in ways that are not followed."""
    return value.node in m.recording.escapes or any(each is value for each in m.recording.kept)


def targets_of(m: Interpreter, inputs: Value | None, site: ast.AST) -> tuple[frozenset[Node], frozenset[Leaf]] | None:
    """The nodes and leaves at which a walk with `inputs=` ends; None where it walks everything."""
    if inputs is None or inputs.is_none:
        return None
    nodes = nodes_in(inputs, attributes=False)
    leaves = list(leaves_in(inputs))
    if not nodes and not leaves:
        return None
    return frozenset(nodes), frozenset(leaves)
