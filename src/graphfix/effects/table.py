"""What each torch operation does to the graph, read from the table that `scripts/record_torch.py` records on real torch."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpFacts:
    """Facts of one operation, method, attribute, layer or distribution.

    `kind`: function, method, attribute, layer or distribution. `result`: tensor, tuple, list, number, bool, none, dict
    or other; `items` are the shapes of a tuple's items, `plural` where their number depends on the input. `scalar`:
    the result has one element for any input. `cuts`: the result never requires grad. `factory`: makes a new leaf.
    `inplace` writes into the first argument and returns it, `mutates` writes and returns something else. `alias`: the
    result is the first argument ("self") or shares its storage ("view"), but for input that lies in memory in another order
    where it `copies`. `saves_parameters` holds for an input with a graph, `saves_parameters_plain` for one without. `joins`:
    it goes over a list of tensors. `variants`: the facts when a keyword (`dim`, `reduction`, `inplace`) is given or an
    argument is of another kind (`number`, `tensor`, `mask`).
    """

    kind: str
    result: str = "other"
    differentiable: bool = False
    saves: bool = False
    saves_inputs: tuple[int, ...] = ()
    saves_output: bool = False
    saves_parameters: bool = False
    saves_parameters_plain: bool = False
    parameters: bool = False
    inplace: bool = False
    mutates: bool = False
    scalar: bool = False
    cuts: bool = False
    factory: bool = False
    random: bool = False
    plural: bool = False
    joins: bool = False
    copies: bool = False
    alias: str = ""
    items: tuple[object, ...] = ()
    variants: dict[str, OpFacts] = field(default_factory=dict)


@functools.cache
def table() -> dict[str, Any]:
    """The recorded table: qualified name to facts as plain data."""
    recorded: dict[str, Any] = json.loads(Path(__file__).with_name("torch_table.json").read_bytes())
    return recorded


@functools.cache
def facts(name: str) -> OpFacts | None:
    """What is known of the torch operation with this qualified name (`torch.Tensor.sum`), or None."""
    row = table().get(name)
    return read(row, {}) if isinstance(row, dict) else None


def read(row: dict[str, Any], inherited: dict[str, Any]) -> OpFacts:
    known = {
        key: value for key, value in {**inherited, **row}.items() if key in OpFacts.__dataclass_fields__ and key != "variants"
    }
    for key in ("saves_inputs", "items"):
        if key in known:
            known[key] = tuple(known[key])
    kind = {"kind": row.get("kind", inherited.get("kind", "function"))}
    variants = {word: read(change, kind) for word, change in row.get("variants", {}).items()}
    return OpFacts(**known, variants=variants)
