"""Whether each iteration of a loop that takes items out of a container takes another item."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.flow import SIZED
from graphfix.analysis.flow.places import Place
from graphfix.effects.methods import gives_no_graph
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.obligations.inquiry import Inquiry, Open

# what hands on the items of its only argument, each once


class Drawn(Inquiry):
    """Asks the flow of one file."""

    def again(self, root: ast.expr) -> Iterator[Open]:
        """The place where `root`, or what it is made of, is taken out of something that may give it once more."""
        for place in self.names_below(root):
            above = self.evidence.program.parent(place)
            while isinstance(above, (ast.Tuple, ast.List, ast.Starred)):
                above = self.evidence.program.parent(above)
            if isinstance(above, (ast.For, ast.AsyncFor, ast.comprehension)) and place is not above.iter:
                if not self.gives_each_once(above.iter):
                    yield Open(above.iter, "may yield the same item more than once")
        for source in self.graph.sources(root):
            if isinstance(source, ast.Call) and self.flow.code.calls.get(source) in ("next", "random.choice"):
                yield Open(source, "may yield the same item more than once")
            elif isinstance(source, ast.Subscript) and not self.counts(source.slice):
                yield Open(source, "may yield the same item more than once")

    def names_below(self, root: ast.expr) -> list[ast.Name]:
        """The names through which graph, or the very object, may get to `root`."""
        seen: dict[Place, None] = dict.fromkeys([root, *self.flow.below(root, ())])
        pending: list[Place] = [root]
        while pending:
            new = [source for source in self.graph.brought(pending.pop()) if source not in seen]
            seen.update(dict.fromkeys(new))
            pending.extend(new)
        return [place for place in seen if isinstance(place, ast.Name) and isinstance(place.ctx, ast.Store)]

    @true_of_itself
    def gives_each_once(self, items: ast.expr) -> bool:
        return all(self.is_plain(source) for source in self.graph.sources(items))

    def is_plain(self, source: object) -> bool:
        """Whether an iterable is a container with each of its items once, as far as a run shows what is put there."""
        if not isinstance(source, ast.Call):
            return isinstance(source, (*SIZED, ast.GeneratorExp)) or not isinstance(source, ast.expr)
        dotted = self.flow.code.calls.get(source, "")
        if dotted == "zip":
            parts = [set(self.graph.sources(each)) for each in source.args]
            shared = any(one & two for index, one in enumerate(parts) for two in parts[index + 1 :])
            return not shared and all(self.gives_each_once(each) for each in source.args if not isinstance(each, ast.Starred))
        row = row_of(dotted)
        if row is not None and row.holds and row.iterates and not row.repeats:
            return all(self.gives_each_once(each) for each in source.args[:1])
        if isinstance(source.func, ast.Attribute) and not dotted:
            method = source.func.attr
            if gives_no_graph(method) or method in ("modules", "children", "named_modules", "named_children"):
                return True  # parameters have no graph that a walk frees
            return facts(f"torch.Tensor.{method}") is not None or method in ("values", "items")
        return dotted == "range" or dotted.startswith("torch.")

    def counts(self, index: ast.expr) -> bool:
        """Whether a subscript is a constant, or what a loop over a range counts."""
        if isinstance(index, (ast.Constant, ast.Slice)):
            return True
        definitions = self.graph.values.get(index, {})
        for source in definitions:
            above = self.evidence.program.parent(source)  # type: ignore[arg-type]
            while isinstance(above, ast.Tuple):
                above = self.evidence.program.parent(above)
            over = above.iter if isinstance(above, (ast.For, ast.comprehension)) else None
            if not isinstance(over, ast.Call) or self.flow.code.calls.get(over) not in ("range", "enumerate"):
                return False
        return bool(definitions)
