"""Where the text of a tensor says that it has a graph: `tensor([0.5], grad_fn=<AddBackward0>)`."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import decorators
from graphfix.analysis.flow.places import ITSELF, Part, Place, Reach, Use
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes
from graphfix.effects.table import facts
from graphfix.interpreter.shapes import SCALAR, shape_of
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.numeric_equivalence import conversions_in, own_conversions

# conversions that write the text of a tensor, and not its number
AS_TEXT = frozenset("sra")
SHOWS = "writes the text of a tensor, which names its `grad_fn`"


class Shown(Inquiry):
    """Asks the flow of one file which texts show a graph, printed or not."""

    def graphs(self, reach: Reach) -> Iterator[Open]:
        """The places that write a text of what `reach` says of, in which its graph is named."""
        for place, part in reach.places:
            for use in self.graph.uses.get(place, ()):
                if self.names_graph(use, place, part):
                    yield Open(use.site, SHOWS)
            if part is ITSELF and self.is_output(place):
                yield Open(place, SHOWS)  # type: ignore[arg-type]

    def names_graph(self, use: Use, place: Place, part: Part) -> bool:
        """Whether a use writes the text of a tensor at `place`, or of one that the object there holds."""
        if part is not ITSELF and part.is_attribute and not self.is_record(place):
            return False  # the text of an object does not say what it holds
        if use.how == "text":
            return self.in_text(use, place, part)
        if use.how != "argument" or not isinstance(use.site, ast.Call):
            return False
        if use.name.rpartition(".")[2] == "format":
            return self.formatted(use.site, place)
        if use.name == "print" and self.is_scalar(place):
            return False  # a loss that is only printed is shown for its number, which a repaired total shows, too
        told = self.told_by(use.site)
        return Observes.TEXT in told or Observes.MESSAGE in told and self.logged(use.site, place, part)

    def told_by(self, call: ast.Call) -> set[Observes]:
        """What a call of a library tells of what it is given."""
        dotted = self.flow.code.calls.get(call, "")
        if dotted:
            row = row_of(dotted)
            return {row.observes} if row is not None else set()
        if call in self.flow.calls.targets and call not in self.flow.calls.methods.generics:
            return set()  # code in sight, which is followed
        return {row.observes for row in library.methods_of((), call, False)} if isinstance(call.func, ast.Attribute) else set()

    def in_text(self, use: Use, place: Place, part: Part) -> bool:
        """The same, for an f-string and for `%`: a tensor without a dimension gives its number to a format, and no container takes one."""
        if isinstance(use.site, ast.FormattedValue):
            return bool(use.name) or use.site.format_spec is None and not self.is_scalar(place)
        if part is not ITSELF and isinstance(place, ast.Tuple):
            return False  # each of its items is a use of its own
        own = own_conversions(self.flow, use.site, place)
        if part is not ITSELF and isinstance(use.site, ast.BinOp):
            own = [found for source in self.graph.sources(use.site.left) for found in conversions_in(source)]
        return not own or any(each[-1] in AS_TEXT for each in own)

    def formatted(self, call: ast.Call, place: Place) -> bool:
        """The same, for `format(x, ".3f")` and `"{:.3f}".format(x)`."""
        if not isinstance(call.func, ast.Attribute):
            return len(call.args) < 2 and not self.is_scalar(place)
        templates = [each.value for each in self.graph.sources(call.func.value) if isinstance(each, ast.Constant)]
        fields = [field for each in templates for field in fields_of(each)]
        if not fields or any(conversion for _, conversion in fields):
            return True
        return not all(spec for spec, _ in fields) and not self.is_scalar(place)

    def logged(self, call: ast.Call, place: Place, part: Part) -> bool:
        """The same, for a message and its arguments: `log.info("loss %.3f", loss)`."""
        if part is not ITSELF:
            return True
        texts = [each for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        behind = call.args[call.args.index(texts[0]) + 1 :] if texts else []
        own = [found for found, value in zip(conversions_in(texts[0]) if texts else (), behind) if value is place]
        return not own or own[0][-1] in AS_TEXT

    def is_scalar(self, place: Place) -> bool:
        """Whether every tensor at `place` is surely one without a dimension: runs show it, or torch reduces to such a one."""
        return self.gives_scalar(place) or all(map(self.gives_scalar, self.graph.sources(place)))

    def gives_scalar(self, source: Place) -> bool:
        uses = self.evidence.facts.uses.get(source, ()) if isinstance(source, ast.expr) else ()
        if uses:
            return all(shape_of(use.value) == SCALAR for use in uses)
        reduces = isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not (source.args or source.keywords)
        known = facts(f"torch.Tensor.{source.func.attr}") if reduces else None  # type: ignore[attr-defined]
        return known is not None and known.scalar and source not in self.flow.calls.targets

    def is_record(self, place: Place) -> bool:
        """Whether the object at `place` may be one whose text says what its fields hold."""
        calls = (source for source in self.graph.sources(place) if isinstance(source, ast.Call))
        classes = (each for call in calls for each in self.graph.sources(call.func) if isinstance(each, ast.ClassDef))
        return any(
            any("dataclass" in each for each in decorators(cls)) or any("NamedTuple" in ast.unparse(base) for base in cls.bases)
            for cls in classes
        )

    def is_output(self, place: Place) -> bool:
        """Whether a notebook may show the value at `place`, as it does with the one that ends a cell."""
        above = self.flow.paths.parents.get(place) if isinstance(place, ast.expr) else None
        if not isinstance(above, ast.Expr) or not isinstance(self.flow.paths.parents.get(above), ast.Module):
            return False
        return any(
            above in document.parents and document.path.endswith(".ipynb") for document in self.flow.code.documents.values()
        )


def fields_of(template: object) -> Iterator[tuple[str, str]]:
    """The format and the conversion of each replacement field of a template."""
    try:
        parsed = list(string.Formatter().parse(template)) if isinstance(template, str) else []
    except ValueError:
        return
    yield from ((spec or "", conversion or "") for _, name, spec, conversion in parsed if name is not None)
