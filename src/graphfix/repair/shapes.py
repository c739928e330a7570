"""An expression for what a place holds, without its graph, by the shape of it: a tensor, a tuple, a named tuple, a dict.

What is made anew is of the class that it was: `OrderedDict`, `defaultdict` and named tuples stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.interpreter.values import NONE, Instance, Mapping, Sequence, Tensor, Unknown, Value

MOST_FIELDS = 4  # of a record that is made anew
VARIABLES = "stuwxyz"  # of comprehensions in one another


def detached(value: Value, text: str) -> str | None:
    """An expression for `value`, which is written `text`, without its graph; None where its shape is not known."""
    if isinstance(value, Unknown) and value.is_object:
        return None  # it has no `detach()`
    if isinstance(value, Tensor) or (isinstance(value, Unknown) and value.node is not None and value.node.certain):
        return f"{text}.detach()"
    if value.is_plain:
        return text
    if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.items:
        return detached_sequence(value, text)
    if isinstance(value, Instance) and value.cls.is_tuple():
        return detached_named_tuple(value, text)
    if isinstance(value, Instance) and value.cls.fields and not value.is_module() and len(value.cls.fields) <= MOST_FIELDS:
        fields = {name: detached(value.attributes.get(name, NONE), f"{text}.{name}") for name in value.cls.fields}
        return (
            f"type({text})({', '.join(f'{name}={part}' for name, part in fields.items())})"
            if None not in fields.values()
            else None
        )
    if isinstance(value, Mapping) and value.items and not value.rest:
        made = detached_mapping(value, text)
        return of_its_kind(value, text, made) if made not in (None, text) else made
    return None


def of_its_kind(value: Mapping, text: str, made: str | None) -> str:
    """A dict as one of the class that `value`, which is written `text`, is of."""
    if value.kind == "dict":
        return made
    factory = f"{text}.default_factory, " if value.kind == "defaultdict" else ""
    return f"type({text})({factory}{made})"


def detached_named_tuple(value: Instance, text: str) -> str | None:
    """The same for a named tuple: all of its items in the same way, or those that have a graph."""
    variable = unused(text)
    common = in_common(value.attributes.values(), variable)
    if common == variable:
        return text
    if common is not None:
        return f"type({text})(*({common} for {variable} in {text}))"
    fields = {name: detached(item, f"{text}.{name}") for name, item in value.attributes.items() if has_graph(item)}
    if not fields or len(fields) > MOST_FIELDS or None in fields.values():
        return None
    return f"{text}._replace({', '.join(f'{name}={part}' for name, part in fields.items())})"


def detached_mapping(value: Mapping, text: str) -> str | None:
    """The same for a dict as a plain one: all of its values in the same way, or those that have a graph."""
    common = in_common(value.items.values(), "v")
    if common == "v":
        return text
    if common is not None:
        return f"{{k: {common} for k, v in {text}.items()}}"
    keys = [key for key, item in value.items.items() if has_graph(item)]
    if not keys or len(keys) > MOST_FIELDS or not all(isinstance(key, str) for key in keys):
        return None
    parts = {key: detached(value.items[key], f'{text}["{key}"]') for key in keys}
    if None in parts.values():
        return None
    fields = ", ".join(f'"{key}": {part}' for key, part in parts.items())
    return f"{{**{text}, {fields}}}"


def has_graph(value: Value) -> bool:
    """Whether a value has a graph, or may, in itself or in what it holds."""
    return value.node is not None if isinstance(value, (Tensor, Unknown)) else any(map(has_graph, value.members()))


def detached_sequence(value: Sequence, text: str) -> str | None:
    variable = unused(text)
    common = in_common(value.items, variable)
    if common == variable:
        return text
    if common is not None:
        return f"tuple({common} for {variable} in {text})" if value.kind == "tuple" else f"[{common} for {variable} in {text}]"
    parts = [detached(item, f"{text}[{index}]") for index, item in enumerate(value.items)]
    if value.open or None in parts:
        return None
    joined = ", ".join(map(str, parts))
    return f"({joined})" if value.kind == "tuple" else f"[{joined}]"


def in_common(items: Iterable[Value], variable: str) -> str | None:
    """The one expression for all items of a container, each of which is called `variable`; None where they differ, or are not known."""
    made = {detached(item, variable) for item in items}
    return made.pop() if len(made) == 1 else None


def unused(text: str) -> str:
    """A variable for the items of what is written `text`."""
    return next((each for each in VARIABLES if text.partition(".")[0].partition("[")[0] != each), VARIABLES[-1])
