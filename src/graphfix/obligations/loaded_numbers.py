"""Whether a loader makes tensors of 64 bits, as it does of Python's numbers: `DataLoader([(x, 0.5), (y, 0.25)])`.

https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Place, Result
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Returns

GIVES_ITEMS = ("__getitem__", "__iter__")
DEEPEST = 4  # containers in containers


def loads_doubles(flow: Flow) -> bool:
    """Whether items that a loader is given may hold numbers with a fraction."""
    given = (call.args[:1] for call, dotted in flow.code.calls.items() if (row := row_of(dotted)) is not None and row.collates)
    return any(may_be_fraction(flow, item) for places in given for item in items_in(flow, places, DEEPEST))


def items_in(flow: Flow, places: Iterable[Place], depth: int) -> Iterator[Place]:
    """What the containers at these places hold, and what that holds."""
    held: dict[Place, None] = {}
    for place in places:
        sources = flow.graph.sources(place)
        held.update(dict.fromkeys(flow.graph.put_into(sources, None)))
        held.update(dict.fromkeys(result for source in sources for result in results_of(flow, source)))
    for each in held:
        yield from flow.graph.sources(each)
    if held and depth:
        yield from items_in(flow, held, depth - 1)


def results_of(flow: Flow, dataset: Place) -> Iterator[Result]:
    """What an object of a class in sight gives as its items."""
    classes = flow.graph.sources(dataset.func) if isinstance(dataset, ast.Call) else ()
    for cls in classes:
        for name in GIVES_ITEMS if isinstance(cls, ast.ClassDef) else ():
            yield from map(Result, flow.code.lookup.found(cls, name))


@true_of_itself
def is_whole(flow: Flow, source: Place) -> bool:
    """Whether what is computed, as far as it is a number, has no fraction."""
    if isinstance(source, ast.Constant):
        return not isinstance(source.value, float)
    if isinstance(source, ast.BinOp):
        sides = (each for side in (source.left, source.right) for each in flow.graph.sources(side))
        return not isinstance(source.op, ast.Div) and all(is_whole(flow, each) for each in sides)
    if not isinstance(source, ast.Call) or not gives_number(flow, source):
        return True
    row = row_of(flow.code.calls.get(source, ""))
    return row is not None and row.whole  # it becomes a tensor of integers


def gives_number(flow: Flow, call: ast.Call) -> bool:
    """Whether a call gives a number of Python."""
    dotted = flow.code.calls.get(call, "")
    row = row_of(dotted) if dotted and not dotted.startswith("torch.") else None
    if row is None:
        return not dotted and isinstance(call.func, ast.Attribute) and call.func.attr == "item"
    return row.draws or row.takes_numbers and row.returns is Returns.NUMBER and row.observes is Observes.NOTHING


def may_be_fraction(flow: Flow, item: Place) -> bool:
    """Whether an item is a number of Python with a fraction, and no tensor."""
    return isinstance(item, (ast.Constant, ast.BinOp, ast.Call)) and not is_whole(flow, item) and holds_no_tensor(flow, item)


@true_of_itself
def holds_no_tensor(flow: Flow, source: Place) -> bool:
    """Whether nothing of what is computed comes from torch."""
    if isinstance(source, ast.BinOp):
        return all(holds_no_tensor(flow, each) for side in (source.left, source.right) for each in flow.graph.sources(side))
    return not isinstance(source, ast.Call) or gives_number(flow, source)
