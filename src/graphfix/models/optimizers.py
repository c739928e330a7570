"""Optimizers: their methods, what they step and clear, and which parameters a step leaves alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from graphfix.autograd.backward import WalkKind
from graphfix.autograd.graph import Leaf
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Keywords,
    Mapping,
    NonTensor,
    Optimizer,
    Parameters,
    Sequence,
    Unknown,
    Value,
    leaves_in,
)
from graphfix.models.registered import reached


def optimizer_method(
    m: Interpreter, receiver: Optimizer, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value:
    if name == "step":
        closure = arguments[0] if arguments else keywords.get("closure")
        made: Value = NONE
        if closure is not None and not isinstance(closure, Constant):
            made = run_closure(m, closure, site, 2 if receiver.kind == "LBFGS" else 1, receiver)
        else:
            bump(m, receiver, site)
        return made
    if name == "add_param_group":
        receiver.parameters.extend((*arguments, *keywords.values()))
    if name == "zero_grad":
        note_update(m, receiver, site, steps=False, zeros=leaves_zeros(arguments, keywords))
    return NonTensor((name, receiver.serial, m.now()))


def note_update(m: Interpreter, optimizer: Optimizer, site: ast.AST, steps: bool, *, zeros: bool = False) -> frozenset[Leaf]:
    """Note a step of the optimizer, or the clearing of its gradients, which may leave `zeros`. Returns the leaves."""
    leaves, guessed = frozenset(leaves_in(optimizer)), guessed_leaves(m, optimizer)
    complete = bool(leaves) and all(is_understood(each, set()) for each in optimizer.parameters[:1])
    m.update(site, steps, leaves, complete, guessed, zeros)
    return leaves | guessed


def guessed_leaves(m: Interpreter, optimizer: Optimizer) -> frozenset[Leaf]:
    """Those that stand for the parameters of modules that are not in sight."""
    owners = owners_of(optimizer.parameters)
    return frozenset(m.recording.optimized[owner] for owner in owners if owner in m.recording.optimized)


def owners_of(parameters: Arguments) -> Iterator[object]:
    """The keys of the modules that are not in sight whose `parameters()` an optimizer is given: as they are, in a list, or in groups."""
    for value in parameters:
        if isinstance(value, Unknown) and kind_of(value.key) == "parameters":
            yield value.key.parts[1]
        elif isinstance(value, (Sequence, Mapping)):
            yield from owners_of(list(value.members()))


def is_understood(value: Value, seen: set[int]) -> bool:
    """Whether the parameters that a value holds are all known."""
    if id(value) in seen:
        return True
    seen.add(id(value))
    if isinstance(value, Parameters) and value.some:
        return False
    if isinstance(value, Unknown):
        return any(True for _ in value.parts()) and all(is_understood(part, seen) for part in value.parts())
    return all(is_understood(part, seen) for part in value.parts())


def bump(m: Interpreter, optimizer: Optimizer, site: ast.AST) -> None:
    """A step: every parameter of the optimizer that may have a gradient has a new version."""
    leaves = note_update(m, optimizer, site, steps=True)
    for leaf in leaves - without_gradient(m, leaves):
        leaf.version += 1
    for leaf in leaves:
        leaf.trained = True


def without_gradient(m: Interpreter, leaves: Collection[Leaf]) -> set[Leaf]:
    """The parameters that a step leaves alone: their gradients are None from the start, or `zero_grad()` has made them so, and nothing has brought one.

    https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html. Code out of sight that has a parameter may bring one,
    and so may earlier calls of the method that is run.
    """
    recording = m.recording
    if recording.sets_gradients:
        return set()
    made = set(leaves).difference(recording.optimized.values()) if recording.receiver is None else ()
    cleared: dict[Leaf, int] = dict.fromkeys(made, -1)
    for update in recording.updates:
        if not (update.steps or update.zeros or update.ahead):
            cleared |= dict.fromkeys(update.leaves.intersection(leaves), update.order)
    for walk in (walk for walk in recording.walks if walk.kind is not WalkKind.GRAD):
        brought = walk.leaves if all(node.certain for node in walk.below) else cleared
        for leaf in [leaf for leaf in brought if cleared.get(leaf, walk.order) < walk.order]:
            del cleared[leaf]
    left = {leaf for leaf in cleared if leaf.module or leaf.is_parameter}
    return left.difference(*(reached(each.values) for each in recording.handed)) if left else left


def leaves_zeros(arguments: Arguments, keywords: Keywords) -> bool:
    """Whether `zero_grad()` is told to leave gradients of zeros, or may be."""
    flag = keywords.get("set_to_none", arguments[0] if arguments else None)
    return flag is not None and not (isinstance(flag, Constant) and flag.value)


def run_closure(m: Interpreter, closure: Value, site: ast.AST, times: int, optimizer: Optimizer | None = None) -> Value:
    """`step(closure)`: the closure runs once, or several times (LBFGS), each in an iteration of the optimizer's loop."""
    made: Value = NONE
    outer = m.context
    entry = m.loop(site)
    for iteration in range(times):
        m.context = (*outer, (entry, iteration))
        try:
            result = m.call(closure, [], {}, site)
        finally:
            m.context = outer
        made = result if iteration == 0 else made
        if optimizer is not None:
            bump(m, optimizer, site)
    return made
