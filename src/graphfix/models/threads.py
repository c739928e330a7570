"""Threads: what they run is simulated where it is started, as a walk of its own thread.

Grad mode belongs to the thread: a worker starts with gradients on, whatever the thread that starts it has set. See "Multithreaded
Autograd", https://pytorch.org/docs/stable/notes/autograd.html#multithreaded-autograd.
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    BoundMethod,
    Instance,
    Keywords,
    Mapping,
    Partial,
    Sequence,
    Unknown,
    Value,
)
from graphfix.models.registry import models

# Methods of a pool, by how they hand over the arguments of the function
SUBMITS = frozenset(("submit", "apply_async", "apply"))
MAPS = frozenset(("map", "imap", "imap_unordered", "map_async", "starmap", "starmap_async"))


@models(
    "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool",
    "multiprocessing.dummy.Pool",
)  # fmt: skip
def pool(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    return Unknown(("pool", site, m.now()))


@models("threading.Thread", "multiprocessing.dummy.Process")
def thread(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """`threading.Thread(target=f, args=(...))`."""
    return made_thread(m, {**dict(zip(("group", "target", "name", "args", "kwargs"), arguments)), **keywords}, site)


@models("threading.Timer")
def timer(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """`threading.Timer(5, f)`."""
    return made_thread(m, {**dict(zip(("interval", "target"), arguments)), **keywords}, site)


def made_thread(m: Interpreter, given: dict[str, Value], site: ast.AST) -> Value:
    inputs, named = given.get("args", NONE), given.get("kwargs", NONE)
    made = Unknown(("thread", site, m.now()))
    made.attributes["run"] = Partial(
        given.get("target", NONE),
        list(inputs.items) if isinstance(inputs, Sequence) else [],
        {str(k): v for k, v in named.items.items()} if isinstance(named, Mapping) else {},
    )
    return made


def thread_method(
    m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """A method of a thread or of a pool; None where it is something else."""
    if isinstance(receiver, Instance):
        run = receiver.cls.find("run") if "threading.Thread" in receiver.cls.external_bases() else None
        return in_thread(m, BoundMethod(receiver, "run", run), [], {}, site) if name == "start" and run is not None else None
    kind = kind_of(receiver.key) if isinstance(receiver, Unknown) else None
    if kind == "thread" and name == "start" and isinstance(receiver, Unknown):
        return in_thread(m, receiver.attributes["run"], [], {}, site)
    if kind == "future" and name in ("result", "get") and isinstance(receiver, Unknown):
        return receiver.items["result"]
    if kind != "pool" or not arguments:
        return None
    if name in SUBMITS:
        return submit(m, name, arguments, keywords, site)
    if name in MAPS:
        return spread(m, name, arguments, site)
    return None


def submit(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    inputs = arguments[1:]
    if name != "submit":
        given = inputs[0] if inputs else keywords.get("args", NONE)
        inputs, keywords = (list(given.items) if isinstance(given, Sequence) else []), {}
    result = in_thread(m, arguments[0], inputs, keywords, site)
    if name == "apply":
        return result
    made = Unknown(("future", site, m.now()))
    made.items["result"] = result
    return made


def spread(m: Interpreter, name: str, arguments: Arguments, site: ast.AST) -> Value:
    """`pool.map(f, items)`: one call for each item."""
    columns = [iterate(m, value, site) for value in arguments[1:]]
    results: list[Value] = []
    for row in zip(*columns):
        inputs = list(row)
        if name.startswith("starmap") and isinstance(row[0], Sequence):
            inputs = list(row[0].items)
        results.append(in_thread(m, arguments[0], inputs, {}, site))
    made = Sequence("list", results)
    if not name.endswith("_async"):
        return made
    future = Unknown(("future", site, m.now()))
    future.items["result"] = made
    return future


def in_thread(m: Interpreter, function: Value, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call `function` as a thread of its own would."""
    thread, mode = m.thread, m.grad_enabled
    m.thread, m.grad_enabled = (site, m.now()), True
    try:
        return m.call(function, arguments, keywords, site)
    finally:
        m.thread, m.grad_enabled = thread, mode
