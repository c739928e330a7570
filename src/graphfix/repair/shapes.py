"""An expression for what a place holds, without its graph, by the shape of it: a tensor, a tuple, a named tuple, a dict."""

from __future__ import annotations

from graphfix.interpreter.values import NONE, Instance, Mapping, Sequence, Tensor, Unknown, Value

MOST_FIELDS = 4  # of a record that is made anew


def detached(value: Value, text: str) -> str | None:
    """An expression for `value`, which is written `text`, without its graph; None where its shape is not known."""
    if isinstance(value, Tensor) or (isinstance(value, Unknown) and value.node is not None and value.node.certain):
        return f"{text}.detach()"
    if value.is_plain:
        return text
    if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.items:
        return detached_sequence(value, text)
    if isinstance(value, Instance) and value.cls.is_tuple():
        parts = {detached(item, "s") for item in value.attributes.values()}
        part = parts.pop() if len(parts) == 1 else None
        return f"type({text})(*({part} for s in {text}))" if part is not None else None
    if isinstance(value, Instance) and value.cls.fields and not value.is_module() and len(value.cls.fields) <= MOST_FIELDS:
        fields = {name: detached(value.attributes.get(name, NONE), f"{text}.{name}") for name in value.cls.fields}
        return f"type({text})({', '.join(f'{name}={part}' for name, part in fields.items())})" if None not in fields.values() else None
    if isinstance(value, Mapping) and value.items and not value.rest:
        if all(isinstance(item, Tensor) for item in value.items.values()):
            return f"{{k: v.detach() for k, v in {text}.items()}}"
        return detached_mapping(value, text)
    return None


def detached_mapping(value: Mapping, text: str) -> str | None:
    """The same for a dict whose values are of several kinds: only those that have a graph are made anew."""
    if len(value.items) == 1:
        part = detached(next(iter(value.items.values())), "v")
        return f"{{k: {part} for k, v in {text}.items()}}" if part is not None else None
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
    variable = "s" if text != "s" else "t"
    parts = [detached(item, variable) for item in value.items]
    if None in parts:
        return None
    if len(set(parts)) == 1:
        return (
            f"tuple({parts[0]} for {variable} in {text})" if value.kind == "tuple" else f"[{parts[0]} for {variable} in {text}]"
        )
    if value.open:
        return None
    texts = [str(detached(item, f"{text}[{index}]")) for index, item in enumerate(value.items)]
    return f"({', '.join(texts)})" if value.kind == "tuple" else f"[{', '.join(texts)}]"
