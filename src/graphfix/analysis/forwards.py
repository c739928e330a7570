"""How a forward pass is run: by which call, and of whose module."""

from __future__ import annotations

import ast

from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import Context, split_loop
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.recording import Recording
from graphfix.interpreter.values import Class, Instance, TorchModule, Unknown, Value, leaves_in, nodes_in
from graphfix.source.subtree import kept_with_node, subtree

PASSES = ("forward", "__call__")


def is_module_call(frame: Frame) -> bool:
    """Whether the frame is a module's forward pass."""
    return getattr(frame.definition, "name", "") in PASSES and is_of_module(frame)


def context_of_call(node: Node) -> Context:
    """The iterations in which a module was called to make the node: the loops inside of its forward pass are its own affair."""
    return next((frame.context for frame, _ in node.trace if is_module_call(frame)), node.context)


def is_forward_pass(cls: Class, method: str) -> bool:
    """Whether a method of this name is the forward pass of the objects of `cls`."""
    return method in PASSES and may_be_module(cls)


def is_resumed(frame: Frame) -> bool:
    """Whether the frame is a generator that is sent values: its caller goes on while it waits."""
    return isinstance(frame.definition, (ast.FunctionDef, ast.AsyncFunctionDef)) and takes_what_is_sent(frame.definition)


@kept_with_node
def takes_what_is_sent(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the value of a `yield` is used."""
    inner = list(subtree(function))
    dropped = {part.value for part in inner if isinstance(part, ast.Expr)}
    return any(isinstance(part, ast.Yield) and part not in dropped for part in inner)


def is_of_module(frame: Frame) -> bool:
    """Whether the frame is a method of a module."""
    return isinstance(frame.receiver, Instance) and may_be_module(frame.receiver.cls)


def may_be_module(cls: Class) -> bool:
    """Whether the objects of a class are modules, as far as its bases are known."""
    return cls.is_module() or cls.is_open()


def is_score(node: Node) -> bool:
    """Whether a value adds up, or joins, what a loop computes in evaluation mode: over a loader that is a score, and no objective."""
    made = history([node])
    adds = any(split_loop(parent.context, below.context) is not None for below in made for parent in below.parents)
    joins = any(
        split_loop(one.context, two.context) is not None for below in made for one, two in zip(below.parents, below.parents[1:])
    )
    return (adds or joins) and any(below.training is False and below.context for below in made)


def trained_by_method(module: object, walked: set[object]) -> bool:
    """Whether the walks go through other methods of a module out of sight, as `model.loss(x)`, and never through calls of itself.

    What a call of it does is another thing then: it may be there to sample, under `no_grad`.
    """
    methods = (key for key in walked if isinstance(key, Key) and kind_of(key) == "method" and len(key.parts) > 1)
    return module not in walked and any(key.parts[1] == module for key in methods)


def rated_at(recording: Recording) -> set[ast.AST]:
    """The calls of which but a number is read, or what is detached, and which rate what a module gives in evaluation mode.

    They are those of a criterion that is not in sight: what goes backward gives back nothing, and trains.
    """
    pending = [*(node for number in recording.numbers for node in nodes_in(number.value)), *recording.cuts]
    asked: list[Node] = []
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node not in seen and node.training is not False:  # a module may be given what no criterion makes
            seen.add(node)
            asked += [node] if node.callee is not None else []
            pending += node.parents
    return {node.site for node in asked if any(below.training is False for below in history([node]))}


def calls_module(frame: Frame, node: Node) -> bool:
    """Whether `frame` itself runs the module that made `node`, and no function of another file does."""
    below = [inner for inner, _ in node.trace if inner.depth > frame.depth]
    return not below or is_of_module(below[0])


def has_own_module(frame: Frame, node: Node) -> bool:
    """Whether the module that made `node` is a local variable of the call: what builds or loads it is no evaluation alone."""
    arguments = getattr(frame.definition, "args", None)
    given = {a.arg for a in subtree(arguments) if isinstance(a, ast.arg)} if arguments is not None else set()
    variables, leaves = frame.env.variables, leaves_below(node)
    return any(made(v, node, leaves) for n, v in variables.items() if n not in given) and not any(
        made(variables[n], node, leaves) for n in given if n in variables
    )


def leaves_below(node: Node) -> set[Leaf]:
    return {leaf for below in history([node]) for leaf in below.leaves}


def made(value: Value | None, node: Node, leaves: set[Leaf]) -> bool:
    """Whether `value` is the module by which, or by part of which, `node` with its `leaves` was made."""
    if isinstance(value, Unknown):
        return node.callee is not None and value.key == node.callee
    return isinstance(value, (TorchModule, Instance)) and not leaves.isdisjoint(leaves_in(value))


def module_called(frame: Frame, statement: ast.stmt, node: Node) -> ast.expr | None:
    """The module that `statement`, in `frame`, calls for `node`, where it has a name there."""
    leaves = leaves_below(node)
    calls = (part for part in subtree(statement) if isinstance(part, ast.Call))
    return next((call.func for call in calls if made(named(frame, call.func), node, leaves)), None)


def named(frame: Frame, expression: ast.expr) -> Value | None:
    """What a name, or an attribute of what has one, is at the end of the call."""
    if isinstance(expression, ast.Name):
        return frame.env.lookup(expression.id)
    holder = named(frame, expression.value) if isinstance(expression, ast.Attribute) else None
    return getattr(holder, "attributes", {}).get(expression.attr) if isinstance(expression, ast.Attribute) else None
