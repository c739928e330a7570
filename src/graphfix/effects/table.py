"""What each torch operation does to the graph, read from the table that `scripts/record_torch.py` records on real torch."""

from __future__ import annotations

import functools
import json
from dataclasses import field
from pathlib import Path
from typing import Any

from graphfix.lazy_dataclass import dataclass, fields


@dataclass(frozen=True)
class OpFacts:
    """Facts of one operation, method, attribute, layer or distribution.

    `kind`: function, method, attribute, layer or distribution. `result`: tensor, tuple, list, number, bool, none, dict
    or other; `items` are the shapes of a tuple's items, `plural` where their number depends on the input. `scalar`:
    the result has one element for any input. `cuts`: the result never requires grad. `factory`: makes a new leaf.
    `inplace` writes into the first argument and returns it, `mutates` writes and returns something else. `alias`: the
    result is the first argument ("self") or shares its storage ("view"), but for input that lies in memory in another order
    where it `copies`. `saves_parameters` holds for an input with a graph, `saves_parameters_plain` for one without. `joins`:
    it goes over a list of tensors. `saved_for`: for each of `saves_inputs`, the positions of the arguments of which one has
    to need a gradient so that it is saved; none where any will do. `saves_nothing_for`: those that, where they alone need a
    gradient, make it save nothing. `keeps_shape`: the result has the shape of the first argument. `elementwise`: it has as
    many elements as the tensors that are given, broadcast. `along`: a number behind the tensor is the dimension that is
    reduced. `sized`: the arguments are the sizes of the result. `reshapes`: the first argument gets another shape.
    `positions`: where `inplace`, `reduce`, `reduction` and `training` stand. `variants`: the facts when a keyword (`dim`,
    `reduction`, `inplace`) is given, an argument is of another kind (`number`, `tensor`, `mask`) or left out (`alone`); `at`
    is the position of that argument. `linear`: of a sum it gives the sum of the results, of a multiple the multiple.
    `statistics`: the layer changes its buffers in a forward pass. `other_formula`: its gradients have other bits where they
    are recorded themselves.
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
    saved_for: tuple[tuple[int, ...], ...] = ()
    saves_nothing_for: tuple[int, ...] = ()
    keeps_shape: bool = False
    elementwise: bool = False
    along: bool = False
    sized: bool = False
    reshapes: bool = False
    positions: dict[str, int] = field(default_factory=dict)
    at: int | None = None
    linear: bool = False
    statistics: bool = False
    other_formula: bool = False
    variants: dict[str, OpFacts] = field(default_factory=dict)

    def ever(self, fact: str) -> bool:
        """Whether a fact holds of the plain call or of one of its variants."""
        return bool(getattr(self, fact)) or any(getattr(changed, fact) for changed in self.variants.values())


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


@functools.cache
def known_fields() -> frozenset[str]:
    return frozenset(field.name for field in fields(OpFacts))


def read(row: dict[str, Any], inherited: dict[str, Any]) -> OpFacts:
    known = {
        key: value for key, value in {**inherited, **row}.items() if key in known_fields() and key != "variants"
    }
    for key in ("saves_inputs", "saves_nothing_for", "items"):
        if key in known:
            known[key] = tuple(known[key])
    if "saved_for" in known:
        known["saved_for"] = tuple(map(tuple, known["saved_for"]))
    kind = {"kind": row.get("kind", inherited.get("kind", "function"))}
    variants = {word: read(change, kind) for word, change in row.get("variants", {}).items()}
    return OpFacts(**known, variants=variants)


@functools.cache
def words_with(fact: str) -> frozenset[str]:
    """The last words of the names of all operations of which a fact holds, of a variant at least."""
    known = ((name, facts(name)) for name in table())
    return frozenset(name.rpartition(".")[2] for name, each in known if each is not None and each.ever(fact))
