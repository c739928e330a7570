"""Where the text of a tensor says that it has a graph: `tensor([0.5], grad_fn=<AddBackward0>)`."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import decorators
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import ITSELF, Held, Old, Part, Place, Reach, Use
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Returns
from graphfix.effects.table import facts
from graphfix.interpreter.shapes import SCALAR, shape_of
from graphfix.lazy_dataclass import dataclass
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.numeric_equivalence import catches_prints, conversions_in, is_shown, own_conversions
from graphfix.obligations.texts import texts_of
from graphfix.source.subtree import subtree

# conversions that write the text of a tensor, and not its number
AS_TEXT = frozenset("sra")
SHOWS = "writes the text of a tensor, which names its `grad_fn`"


@dataclass(frozen=True)
class Shown(Inquiry):
    """Asks the flow of one file which texts show a graph, printed or not.

    `one_number`: the value has no dimension, unless the code shows that it has, so that a plain format gives its number.
    """

    one_number: bool = False

    def graphs(self, reach: Reach) -> Iterator[Open]:
        """The places that write a text of what `reach` says of, in which its graph is named."""
        for place, part in reach.places:
            for use in self.graph.uses.get(place, ()):
                if self.names_graph(use, place, part):
                    yield Open(use.site, SHOWS)
            if part is ITSELF and self.is_output(place):
                yield Open(place, SHOWS)  # type: ignore[arg-type]

    def kept(self, reach: Reach) -> Iterator[Open]:
        """The same, but for those that only show the very value: there, the text gets better."""
        for place, part in reach.places:
            for use in self.graph.uses.get(place, ()):
                if self.names_graph(use, place, part) and not (part is ITSELF and self.is_only_shown(use)):
                    yield Open(use.site, "keeps its text, which shows its graph")

    def is_only_shown(self, use: Use) -> bool:
        """Whether the text of a value is written to where the program does not read it."""
        if use.how == "argument" and library.shows(use.name):
            return not catches_prints(self.flow, use.site)
        return is_shown(self.flow, use.site)

    def names_graph(self, use: Use, place: Place, part: Part) -> bool:
        """Whether a use writes the text of a tensor at `place`, or of one that the object there holds."""
        if part is not ITSELF and not self.tells_of(place, part):
            return False
        if use.how == "handed":  # such as `map(str, losses)`: each that it is given becomes a text
            row = row_of(use.name)
            return row is not None and row.observes in (Observes.TEXT, Observes.MESSAGE)
        if use.how == "text":
            return self.in_text(use, place, part)
        if use.how != "argument" or not isinstance(use.site, ast.Call):
            return False
        if use.name.rpartition(".")[2] == "format":
            return self.formatted(use.site, place, part)
        if use.name == "print" and part is ITSELF and self.is_scalar(place) and not catches_prints(self.flow, use.site):
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
            return bool(use.name) or use.site.format_spec is None and (part is not ITSELF or not self.is_scalar(place))
        if part is not ITSELF and isinstance(place, ast.Tuple):
            return False  # each of its items is a use of its own
        own = own_conversions(self.flow, use.site, place)
        if part is not ITSELF and isinstance(use.site, ast.BinOp):
            own = [found for source in self.graph.sources(use.site.left) for found in conversions_in(source)]
        return not own or any(each[-1] in AS_TEXT for each in own)

    def formatted(self, call: ast.Call, place: Place, part: Part) -> bool:
        """The same, for `format(x, ".3f")` and `"{:.3f}".format(x)`."""
        spread = (*(each.value for each in call.args if isinstance(each, ast.Starred)), *(k.value for k in call.keywords if k.arg is None))
        is_one = part is ITSELF or part.depth == 1 and any(each is place for each in spread)
        gives_number = is_one and self.is_scalar(place)
        if not isinstance(call.func, ast.Attribute):
            return len(call.args) < 2 and not gives_number
        texts = texts_of(self.flow, call.func.value)
        if texts is None:
            return True
        key = part.key if part is not ITSELF and any(each is place for each in spread) else None
        fields = [field for each in texts for field in fields_of(each) if not isinstance(key, str) or field.name in ("", key)]
        return any(field.conversion or not (field.spec or gives_number) for field in fields)  # no container takes a spec

    def logged(self, call: ast.Call, place: Place, part: Part) -> bool:
        """The same, for a message and its arguments: `log.info("loss %.3f", loss)`."""
        if part is not ITSELF:
            return True
        texts = [each for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        behind = call.args[call.args.index(texts[0]) + 1 :] if texts else []
        own = [found for found, value in zip(conversions_in(texts[0]) if texts else (), behind) if value is place]
        return not own or own[0][-1] in AS_TEXT

    def tells_of(self, place: Place, part: Held) -> bool:
        """Whether the text of what is at `place` tells what it holds: that of an object does not tell of its attributes."""
        if part.is_attribute:
            return self.is_record(place)
        return self.may_hold(place) and (not part.hidden or self.has_records)

    @cached_property
    def has_records(self) -> bool:
        """Whether the code makes objects whose text says what their fields hold."""
        return any(is_record_class(part) for document in self.flow.code.documents.values() for part in subtree(document.tree))

    def may_hold(self, place: Place) -> bool:
        """Whether what is at `place` may be a container: what numbers are added to is none."""
        return not all(map(self.is_no_container, self.graph.sources(place)))

    @true_of_itself
    def is_no_container(self, source: Place) -> bool:
        if isinstance(source, ast.AugAssign):
            return not self.may_hold(Old(source))
        if isinstance(source, ast.BinOp):
            joins = isinstance(source.op, (ast.Add, ast.Mult))
            return not joins or not (self.may_hold(source.left) or self.may_hold(source.right))
        if isinstance(source, ast.Call):
            return self.gives_no_container(source)
        return isinstance(source, (ast.Constant, ast.Compare, ast.UnaryOp, ast.JoinedStr, *FUNCTIONS))

    def gives_no_container(self, call: ast.Call) -> bool:
        dotted = self.flow.code.calls.get(call, "")
        is_method = isinstance(call.func, ast.Attribute) and not dotted and call not in self.flow.calls.targets
        known = facts(f"torch.Tensor.{call.func.attr}" if is_method else dotted)  # type: ignore[attr-defined]
        row = row_of(dotted) if dotted else None
        if row is not None and row.returns is Returns.MADE:  # such as `round`: of a number it makes a number
            return not any(map(self.may_hold, call.args))
        gives_one = known is not None and known.result in ("tensor", "number", "bool")
        return gives_one and not (is_method and self.may_hold(call.func.value))  # type: ignore[attr-defined]

    def is_scalar(self, place: Place) -> bool:
        """Whether every tensor at `place` is surely one without a dimension: runs show it, or torch reduces to such a one."""
        return self.one_number or self.gives_scalar(place) or all(map(self.gives_scalar, self.graph.sources(place)))

    def gives_scalar(self, source: Place) -> bool:
        uses = self.evidence.facts.uses.get(source, ()) if isinstance(source, ast.expr) else ()
        if uses:
            return all(shape_of(use.value) == SCALAR for use in uses)
        reduces = isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not (source.args or source.keywords)
        known = facts(f"torch.Tensor.{source.func.attr}") if reduces else None  # type: ignore[attr-defined]
        return known is not None and known.scalar and source not in self.flow.calls.targets

    def is_record(self, place: Place) -> bool:
        """Whether the object at `place` may be one whose text says what its fields hold."""
        if not self.has_records:
            return False
        calls = (source for source in self.graph.sources(place) if isinstance(source, ast.Call))
        return any(map(is_record_class, (each for call in calls for each in self.graph.sources(call.func))))

    def is_output(self, place: Place) -> bool:
        """Whether a notebook may show the value at `place`, as it does with the one that ends a cell."""
        above = self.flow.paths.parents.get(place) if isinstance(place, ast.expr) else None
        if not isinstance(above, ast.Expr) or not isinstance(self.flow.paths.parents.get(above), ast.Module):
            return False
        return any(
            above in document.parents and document.path.endswith(".ipynb") for document in self.flow.code.documents.values()
        )


def is_record_class(part: object) -> bool:
    """Whether a class is one whose objects tell their fields in their text, as dataclasses and named tuples do."""
    if not isinstance(part, ast.ClassDef):
        return False
    return any("dataclass" in each for each in decorators(part)) or any("NamedTuple" in ast.unparse(base) for base in part.bases)


class ReplacementField(NamedTuple):
    """`{name!conversion:spec}` of a template."""

    name: str
    spec: str
    conversion: str


def fields_of(template: str) -> Iterator[ReplacementField]:
    """The replacement fields of a template."""
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError:
        return
    for _, name, spec, conversion in parsed:
        if name is not None:
            yield ReplacementField(name.partition(".")[0].partition("[")[0], spec or "", conversion or "")
