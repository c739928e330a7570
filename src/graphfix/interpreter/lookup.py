"""What the program itself defines under a name of a value."""

from __future__ import annotations

from graphfix.interpreter import versions
from graphfix.interpreter.values import (
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Optimizer,
    Project,
    SuperProxy,
    TorchModule,
    Unknown,
    Value,
)


def find_method(receiver: Value, name: str) -> Value | None:
    """What `receiver.name` is where the program defines it; None where it comes from a library."""
    if isinstance(receiver, Instance):
        if name in receiver.attributes:
            return receiver.attributes[name]
        found = receiver.cls.find(name)
        return bind(receiver, receiver.cls, name, found) if found is not None else None
    if isinstance(receiver, Class):
        found = receiver.find(name)
        if isinstance(found, Function) and "classmethod" in found.wrappers:
            return BoundMethod(receiver, name, found)
        return found
    if isinstance(receiver, SuperProxy):
        cls = receiver.receiver.cls if isinstance(receiver.receiver, Instance) else receiver.after
        order = list(cls.linearised())
        start = order.index(receiver.after) + 1 if receiver.after in order else 1
        for base in order[start:]:
            if isinstance(base, Class) and name in base.attributes:
                return bind(receiver.receiver, cls, name, base.attributes[name])
        return None
    if isinstance(receiver, Project):
        return receiver.env.get(name)
    if isinstance(receiver, External):
        return versions.of_library(f"{receiver.name}.{name}")
    if isinstance(receiver, TorchModule):
        return receiver.names.get(name) or receiver.attributes.get(name)
    if isinstance(receiver, (Unknown, Optimizer)):
        return receiver.attributes.get(name)
    return None


def bind(receiver: Value, cls: Class, name: str, found: Value) -> Value:
    if not isinstance(found, Function) or "staticmethod" in found.wrappers:
        return found
    return BoundMethod(cls if "classmethod" in found.wrappers else receiver, name, found)
