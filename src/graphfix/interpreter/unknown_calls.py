"""Calls that cannot be entered: what they give depends on all that they are given, and they may keep that, or call it."""

from __future__ import annotations

import ast

from graphfix.autograd.graph import Node
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.networks import hand_over, records
from graphfix.interpreter.recording import Foreign, Handed
from graphfix.interpreter.values import Arguments, BoundMethod, Function, Instance, Keywords, Manager, Unknown, Value, given

OF_DICTS = frozenset(("items", "values", "keys"))


def call_unknown(m: Interpreter, callee: Value, arguments: Arguments, keywords: Keywords, site: ast.AST, key: object) -> Value:
    """A call that cannot be entered: its result depends on all arguments, and it may keep them."""
    values = given(arguments, keywords)
    source = callee.receiver if isinstance(callee, BoundMethod) else callee
    if isinstance(source, Unknown) and source.outside:
        return Unknown(("call", site, m.now()), outside=True)
    is_network = records(m, callee)
    hand_on(m, values, site, key, callee.receiver if isinstance(callee, BoundMethod) else None)
    if isinstance(callee, BoundMethod) and callee.name not in OF_DICTS:
        hand_over(m, [source])  # `model.apply(freeze)`
    call_back_from_outside(m, values, site)
    force = isinstance(callee, (Unknown, Instance)) or (
        isinstance(callee, BoundMethod) and isinstance(callee.receiver, (Unknown, Instance))
    )
    if isinstance(callee, BoundMethod) and isinstance(source, Unknown) and source.node is None and callee.name in OF_DICTS:
        force = False  # what a dict of data gives is data
    # what is called is no tensor: of an unknown object, only a graph that it is known to hold surely goes on
    is_bare = isinstance(source, Unknown) and source.node is not None and is_unproven(source.node)
    node = m.record(site, values if is_bare else [source, *values], True, certain=False, callee=key, force=force)
    if node is not None:
        node.certain = is_network or node.certain
        node.training = m.mode_of(callee)
        node.perhaps = source.node if is_bare else None
        leaf = m.recording.optimized.get(callee.key) if isinstance(callee, Unknown) else None
        node.trained = leaf is not None and callee.identity not in m.recording.frozen
        if leaf is not None and (node.parents or node.leaves):
            node.guessed = (leaf, leaf.version)
    of_dict = isinstance(callee, BoundMethod) and isinstance(source, Unknown) and not force and callee.name in OF_DICTS
    made = Unknown((callee.name, source.key) if of_dict else ("call", site, m.now()), node)
    if m.hooked_at is not None and not isinstance(callee, BoundMethod):
        m.escape(made, m.hooked_at, "hook")
    served = () if is_own_service(m, callee) else (source,)
    m.recording.handed.append(Handed(m.now(), (*served, *values), made))
    return made


def is_own_service(m: Interpreter, callee: Value) -> bool:
    """Whether an object calls what it has of a class of a library, from its own code: that knows nothing of what the object adds."""
    return isinstance(callee, BoundMethod) and isinstance(callee.receiver, Instance) and m.frame.receiver is callee.receiver


def hand_on(m: Interpreter, values: Arguments, site: ast.AST, key: object, receiver: Value | None = None) -> None:
    """Note that code which is not followed (its `key`) gets values: it may keep them, or walk their graphs."""
    m.recording.foreign.append(Foreign(site, m.trace(), key, m.now(), receiver))
    hand_over(m, values)
    for value in values:
        m.escape(value, site, "argument")
        m.note_reader(value, site)


def is_unproven(node: Node) -> bool:
    """Whether a graph is only what an unknown value would have if it were a tensor."""
    return not (node.certain or node.parents or node.leaves)


def call_back_from_outside(m: Interpreter, values: list[Value], site: ast.AST) -> None:
    """Code that is not followed calls the functions that it is given, and gets what they return: it may walk that, or keep it."""
    for result in run_callbacks(m, values, site):
        m.escape(result, site, "returned")
        m.note_reader(result, site)


def run_callbacks(m: Interpreter, values: list[Value], site: ast.AST) -> list[Value]:
    """A function of the project that is handed over is called, once, by whoever gets it: but not where it is only being decorated.

    And a context that begins where it is entered is entered. Gives what the functions return.
    """
    results = []
    for value in values:
        if isinstance(value, Manager) and not m.decorates:
            m.within(value, site, lambda entered: m.escape(entered, site, "argument"))
        elif (
            not m.decorates
            and isinstance(value, Function)
            and isinstance(value.definition, ast.FunctionDef)
            and m.active.get(value.definition, 0) == 0
        ):
            results.append(m.call(value, [], {}, site))
    return results
