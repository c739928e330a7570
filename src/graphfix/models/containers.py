"""How lists, deques and dicts are made, and their methods; those of strings and numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.places import made_here, note_store
from graphfix.interpreter.recording import Read, ReadKind, StoreKind
from graphfix.interpreter.values import (
    MAX_ITEMS,
    NONE,
    BoundMethod,
    Constant,
    Function,
    Mapping,
    NonTensor,
    Parameters,
    ParametersForm,
    Sequence,
    TorchModule,
    Unknown,
    Value,
    cut_of,
    identities,
    slot_of,
)
from graphfix.interpreter.versions import string_method
from graphfix.models.registry import models


def as_container(kind: str) -> Callable:
    def make(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
        if not arguments:
            made = Sequence(kind, [])
        elif (
            isinstance(arguments[0], Parameters)
            or isinstance(arguments[0], Unknown)
            and kind_of(arguments[0].key) == "parameters"
        ):
            return arguments[0]
        elif isinstance(arguments[0], TorchModule) and arguments[0].children is not None:
            made = Sequence(kind, list(arguments[0].children))
        elif isinstance(arguments[0], Sequence):
            made = Sequence(kind, list(arguments[0].items), arguments[0].open)
            made.goes_on = arguments[0].goes_on
        else:
            made = Sequence(kind, iterate(m, arguments[0], site), not isinstance(arguments[0], Mapping))
        return made_here(m, made)

    return make


for _kind, _names in (
    ("list", ("builtins.list", "builtins.sorted")),
    ("tuple", ("builtins.tuple",)),
    ("set", ("builtins.set", "builtins.frozenset", "weakref.WeakSet")),
    ("deque", ("collections.deque",)),
):
    models(*_names)(as_container(_kind))


def as_dictionary(kind: str) -> Callable:
    def make(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
        return dictionary(m, kind, arguments, keywords, site)

    return make


for _kind, _names in (
    ("dict", ("builtins.dict", "weakref.WeakKeyDictionary", "weakref.WeakValueDictionary")),
    ("OrderedDict", ("collections.OrderedDict",)),
):
    models(*_names)(as_dictionary(_kind))


def dictionary(m: Interpreter, kind: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    made = made_here(m, Mapping(dict(keywords), kind=kind))
    if arguments and isinstance(arguments[0], Mapping):
        made.items.update(arguments[0].items)
    elif arguments:
        for pair in iterate(m, arguments[0], site):
            if isinstance(pair, Parameters):
                made.items["unknown", site] = Parameters(pair.owners, ParametersForm.ONE, some=True)
            elif isinstance(pair, Sequence) and len(pair.items) == 2:
                key = pair.items[0]
                made.items[slot_of(key)] = pair.items[1]
    return made


@models(
    "collections.defaultdict",
    "collections.Counter",
)
def default_dictionary(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    factory = arguments[0] if arguments and not (isinstance(arguments[0], Constant)) else None
    given = arguments[1] if len(arguments) > 1 else None
    return made_here(m, Mapping(dict(given.items) if isinstance(given, Mapping) else {}, factory, kind="defaultdict"))


def call_container_method(
    m: Interpreter, receiver: Value, name: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST
) -> Value | None:
    """A method of a list, deque, dict, string or number; None where there is no such thing."""
    if isinstance(receiver, Sequence):
        return sequence_method(m, receiver, name, arguments, keywords, site)
    if isinstance(receiver, Mapping):
        return mapping_method(m, receiver, name, arguments, keywords, site)
    if receiver.is_plain:
        if receiver.cut is not None:
            m.recording.misuses.append(Read(site, m.trace(), receiver, ReadKind.AS_TENSOR))
        known = string_method(receiver, name, arguments)
        if known is not None:
            return known
        key = ("method", receiver.identity, name, *identities(arguments))
        return NonTensor(key, cut=cut_of(receiver))
    if isinstance(receiver, (Function, BoundMethod)) and name == "cache_clear":
        function = receiver.function if isinstance(receiver, BoundMethod) else receiver
        m.recording.memos.get(function, {}).clear()  # type: ignore[call-overload]
        return NONE
    if isinstance(receiver, Function):
        return Unknown(("method", receiver.serial, name, m.now()))
    return None


def is_in_further_loop(m: Interpreter, made: Sequence) -> bool:
    """Whether a loop that goes on runs now, and did not where the sequence was made."""
    outer = made.context if isinstance(made.context, tuple) else m.context
    return any(entry.goes_on for entry, _ in m.context[len(outer) :])


def sequence_method(
    m: Interpreter, receiver: Sequence, name: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST
) -> Value | None:
    items = receiver.items
    target = site.func.value if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else site
    if name in ("append", "appendleft", "add", "put", "insert") and arguments:
        value = arguments[-1]
        source = site.args[-1] if isinstance(site, ast.Call) and site.args else None
        note_store(m, target, (receiver, m.now()), value, source, StoreKind.APPENDED, None, receiver)
        receiver.goes_on |= is_in_further_loop(m, receiver)
        if len(items) < MAX_ITEMS:
            items.insert(0 if name in ("appendleft", "insert") else len(items), value)
        return NONE
    if name in ("extend", "extendleft") and arguments:
        source = site.args[0] if isinstance(site, ast.Call) and site.args else None
        extend(m, receiver, arguments[0], source, target, site)
        return NONE
    if name in ("pop", "popleft"):
        if not items:
            return Unknown(("pop", site, m.now()))
        first = name == "popleft" or (arguments and isinstance(arguments[0], Constant) and arguments[0].value == 0)
        return items.pop(0 if first else -1)
    if name == "clear":
        items.clear()
        return NONE
    if name == "copy":
        return made_here(m, receiver.copied())
    if name == "reverse":
        items.reverse()
        return NONE
    if name in ("remove", "discard", "sort", "rotate"):
        return NONE
    if name == "update" and receiver.kind == "set" and arguments:
        items.extend(iterate(m, arguments[0], site)[: MAX_ITEMS - len(items)])
        return NONE
    if name in ("index", "count", "__len__"):
        return NonTensor((name, receiver.serial, len(items)))
    return None


def extend(m: Interpreter, receiver: Sequence, given: Value, source: ast.expr | None, target: ast.AST, site: ast.AST) -> None:
    """Put all that is `given` into a list: each value is known by the part of `source` that makes it, where that is written out."""
    fresh = iterate(m, given, site)
    parts: list[ast.expr | None] = [source] * len(fresh)
    if isinstance(source, (ast.ListComp, ast.GeneratorExp)):
        parts = [source.elt] * len(fresh)
    elif isinstance(source, (ast.List, ast.Tuple)) and len(source.elts) == len(fresh):
        parts = list(source.elts)
    for part, value in zip(parts, fresh):
        if part is not source:
            m.note_use(part, value)
        note_store(m, target, (receiver, m.now()), value, part, StoreKind.EXTENDED, None, receiver)
    receiver.items.extend(fresh[: MAX_ITEMS - len(receiver.items)])


def mapping_method(
    m: Interpreter, receiver: Mapping, name: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST
) -> Value | None:
    key = arguments[0] if arguments else NONE
    slot = slot_of(key)
    if name == "items":
        pairs = [
            Sequence("tuple", [Constant(k) if not isinstance(k, tuple) else NonTensor(k[1]), v])
            for k, v in receiver.items.items()
        ]
        if not pairs and receiver.open:
            pairs = [
                Sequence("tuple", [NonTensor(("key", receiver.serial, i)), Unknown(("value", receiver.serial, i, m.now()))])
                for i in range(2)
            ]
        return Sequence("tuple", list(pairs), receiver.open)
    if name == "keys":
        return Sequence(
            "tuple", [Constant(k) if not isinstance(k, tuple) else NonTensor(k[1]) for k in receiver.items], receiver.open
        )
    if name == "values":
        return Sequence("tuple", list(receiver.items.values()), receiver.open)
    if name in ("get", "setdefault", "pop"):
        fallback = arguments[1] if len(arguments) > 1 else NONE
        if slot in receiver.items:
            return receiver.items.pop(slot) if name == "pop" else receiver.items[slot]
        kept = [value for key, value in receiver.items.items() if isinstance(key, tuple)]
        if isinstance(slot, tuple) and kept:
            return kept[-1]  # one unknown key may be the other
        if name == "setdefault":
            receiver.items[slot] = fallback
        if receiver.open and name == "get":
            return Unknown(("item", receiver.serial, slot))
        return fallback
    if name == "update":
        for source in (*arguments, Mapping(dict(keywords))):
            if isinstance(source, Mapping):
                for inner, value in source.items.items():
                    note_store(m, site, (receiver, inner), value, None, StoreKind.UPDATED, receiver.items.get(inner), receiver)
                    receiver.items[inner] = value
            else:
                receiver.open = True
        return NONE
    if name == "clear":
        receiver.items.clear()
        return NONE
    if name == "copy":
        return made_here(m, receiver.copied())
    return None
