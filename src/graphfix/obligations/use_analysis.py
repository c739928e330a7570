"""How a value is used: its kind, and that of what reads it: a tensor, a number, or something else."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import decorators, name_of
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import ITSELF, Kind, Old, Place, Sink, Use, is_attribute
from graphfix.analysis.flow.spelled import is_text
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.effects.methods import gives_no_tensor, is_of_tensor, rows_of_method, shares_memory
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Puts
from graphfix.effects.table import facts
from graphfix.lazy_dataclass import dataclass
from graphfix.obligations.inquiry import Open
from graphfix.obligations.numeric_equivalence import Numbers
from graphfix.source.subtree import subtree

# what a total, or what is made of it, is asked for as a number: https://docs.python.org/3/library/stdtypes.html#numeric-types-int-float-complex
OF_NUMBERS = frozenset(("real", "imag", "is_integer", "as_integer_ratio", "hex", "__format__", "__float__"))
# decorators after which a function does with its arguments what its body says
PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod property torch.no_grad() torch.enable_grad() torch.inference_mode() abstractmethod".split()
)
# ways to format a value: a tensor of shape (1,) has no format but the empty one
FORMATS = frozenset(("format", "format_map", "vformat", "__format__"))
NO_TENSORS = (
    ast.JoinedStr, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Compare,
    ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


@dataclass(eq=False)
class Readers:
    """Asks the flow of one file. `held`: what was found out of what a place may be taken from."""

    flow: Flow
    held: dict[Place, tuple[Place, ...]] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers(self.flow)

    def no_tensor(self, place: Place, guarded: bool = False, no_number: bool = False) -> ast.AST | None:
        """A source of the value that is, or may well be, something else than a tensor; or a use that no tensor has.

        `guarded`: what is None does not come here; `no_number`: no number does.
        """
        sources = self.origins(place)
        for source in sources:
            nothing = isinstance(source, ast.Constant) and source.value is None
            if nothing and (guarded or not isinstance(place, ast.Name)):
                continue
            if no_number and (isinstance(source, ast.Constant) or isinstance(source, ast.BinOp) and self.is_number(source)):
                continue
            if isinstance(source, ast.AST) and self.is_no_tensor(source):
                return source
        return next((use.site for source in sources for use in self.uses_of(source) if is_of_no_tensor(use)), None)

    def origins(self, place: Place) -> list[Place]:
        """Where the value at `place` comes from, out of containers as well."""
        seen: set[Place] = set()
        pending = list(self.flow.graph.sources(place))
        found = []
        while pending:
            source = pending.pop()
            if source in seen:
                continue
            seen.add(source)
            if source not in self.held:
                self.held[source] = tuple(self.flow.graph.taken_by(source))
            for each in self.held[source]:
                pending.extend(origin for origin in self.flow.graph.sources(each) if origin not in seen)
            if not self.held[source]:
                found.append(source)
        return found

    def is_no_tensor(self, source: ast.AST) -> bool:
        if isinstance(source, (ast.Constant, *NO_TENSORS)):
            return True
        if isinstance(source, ast.BinOp):
            left = self.flow.graph.sources(source.left)
            return is_text(source) or any(is_text(each) for each in left if isinstance(each, ast.expr)) or self.is_number(source)
        if isinstance(source, ast.Call):
            return self.gives_no_tensor(source)
        return False

    def is_number(self, source: ast.BinOp) -> bool:
        """Whether both operands are literal numbers."""
        return all(isinstance(side, ast.Constant) for side in (source.left, source.right))

    def uses_of(self, source: Place) -> Iterator[Use]:
        """What is done with an object under all of its names."""
        seen = {source}
        pending = [source]
        while pending:
            place = pending.pop()
            yield from self.flow.graph.uses.get(place, ())
            for edge in self.flow.graph.edges.get(place, ()):
                if edge.kind is Kind.SAME and not edge.crosses and edge.target not in seen:
                    seen.add(edge.target)
                    pending.append(edge.target)

    def gives_no_tensor(self, call: ast.Call) -> bool:
        dotted = self.flow.code.calls.get(call, "")
        if dotted in ("min", "max"):
            return len(call.args) > 1 or any(keyword.arg == "default" for keyword in call.keywords)
        if dotted in ("round", "abs", "next", "getattr", "pow"):
            return False
        if dotted == "sum":
            return len(call.args) == 1 and not call.keywords  # of nothing it is 0
        row = row_of(dotted)
        if row is not None and row.gives_no_tensor:
            return True
        known = facts(dotted) if row is None else None
        if known is not None and known.kind in ("function", "distribution") and known.result != "tensor":
            return True
        if (
            not dotted
            and isinstance(call.func, ast.Attribute)
            and gives_no_tensor(call.func.attr)
            and call not in self.flow.calls.targets
        ):
            return True
        return any(isinstance(source, ast.ClassDef) for source in self.flow.graph.sources(call.func))

    @cached_property
    def tensors(self) -> set[Place]:
        """The sums and products of which one operand is a tensor whatever the other is: they are tensors, too."""
        made: dict[Place, list[Sequence[Place]]] = {}
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if isinstance(part, ast.BinOp):
                    made[part] = [self.flow.graph.sources(side) for side in (part.left, part.right)]
                elif isinstance(part, ast.AugAssign):
                    made[part] = [self.flow.graph.sources(side) for side in (Old(part), part.value)]
        assumed = set(made)
        while True:
            kept = {place for place in assumed if any(self.are_tensors(side, assumed) for side in made[place])}
            if kept == assumed:
                return kept
            assumed = kept

    def are_tensors(self, sources: Sequence[Place], assumed: set[Place]) -> bool:
        """Whether torch makes each of `sources`, at least one of them of nothing, or it is one of those `assumed` to be tensors."""
        made = [source for source in sources if source not in assumed]
        return bool(made) and all(self.makes_tensor(source) for source in made)

    def makes_tensor(self, source: Place) -> bool:
        known = facts(self.flow.code.calls.get(source, "")) if isinstance(source, ast.Call) else None
        return known is not None and known.factory and known.result == "tensor"

    def needs_tensor(self, expression: ast.expr, told: bool = False) -> Iterator[Open]:
        """The readers of what is put away that may need a tensor, not a number.

        `told`: the project says that what is not in sight takes numbers.
        """
        reach = self.flow.graph.reach([expression], numbers=True, without=self.tensors)
        for arrival in reach.of(*((Sink.ASKED, Sink.WALKED) if told else (Sink.ESCAPES, Sink.ASKED, Sink.WALKED))):
            yield Open(arrival.site, "may need a tensor, not a number")
        kept = self.flow.graph.reach([expression], made=False).places
        if self.numbers.half_precision:
            yield Open(self.numbers.half_precision, "computes in another precision")
        for call in self.flow.calls.reflections:
            yield Open(call, "may need a tensor, not a number")
        for place, part in reach.places:
            for use in self.flow.graph.uses.get(place, ()):
                if self.is_entered(use.site):
                    continue  # its own readers tell
                if told and use.how == "argument" and use.site in self.flow.calls.opaque:
                    continue
                if not takes_number(use.how, use.name, part is ITSELF):
                    yield Open(use.site, "may need a tensor, not a number")
                elif part is ITSELF and (use.how == "text" or use.name in FORMATS) and swallowed(self.flow, use.site):
                    yield Open(use.site, "raises on a tensor with a dimension")
                elif part is ITSELF and not self.numbers.is_alike(use, place, expression, (place, part) not in kept):
                    yield Open(use.site, "may compute another result from a number")
        computed = [place for place, part in reach.places if part is ITSELF and (place, part) not in kept]
        yield from self.written_under_another_name(expression, computed)

    def is_entered(self, site: ast.AST) -> bool:
        """Whether a call leads to code in sight alone."""
        calls = self.flow.calls
        if not isinstance(site, ast.Call) or any(decorators(function) - PLAIN_DECORATORS for function in calls.targets.get(site, ())):
            return False  # `functools.singledispatch` asks for the type
        return site in calls.targets and site not in calls.opaque and site not in calls.library_calls

    def written_under_another_name(self, expression: ast.expr, computed: Sequence[Place]) -> Iterator[Open]:
        """A number does not change where the tensor would: an object that is written to in place and has two names, or is kept."""
        statement = self.flow.paths.statement(expression)
        reached = [
            each for source in self.flow.graph.sources(expression) for each in self.flow.graph.reach([source], made=False).places
        ]
        written = [place for place, part in reached if part is ITSELF and (isinstance(place, Old) or place in self.in_place)]
        others = [place for place in computed if isinstance(place, Old) and place.statement is not statement]
        for place in [*written, *self.held_elsewhere(others, computed)]:
            yield Open(place.statement if isinstance(place, Old) else place, "writes to it through another name")  # type: ignore[arg-type]
        for place in self.sharing(self.flow.graph.sources(expression)):
            if isinstance(place, Old) or place in self.overwritten:
                yield Open(place.statement if isinstance(place, Old) else place, "writes to its memory")  # type: ignore[arg-type]
        total = self.flow.paths.parents.get(expression)
        if not isinstance(statement, ast.AugAssign) and not isinstance(total, ast.AugAssign):
            return
        own = ast.unparse(statement.target) if isinstance(statement, ast.AugAssign) else ""
        for alias in self.aliases(statement):
            if self.keeps(alias, own):
                yield Open(alias if isinstance(alias, ast.AST) else statement, "keeps the total, which is later changed in place")

    def held_elsewhere(self, written: Sequence[Old], computed: Sequence[Place]) -> Iterator[Old]:
        """What is computed of a number is a new number: `shown = total; shown += 1` changes both names where that is one tensor."""
        origins = [place for place in computed if self.flow.graph.sources(place) == (place,)] if written else []
        for old, origin in itertools.product(written, origins):
            own = ast.unparse(old.statement.target)
            # who gets it behind the change has the result
            behind = () if origin is old.statement else (old.statement,)
            held = {place for place, part in self.flow.graph.reach([origin], made=False, without=behind).places if part is ITSELF}
            if old in held and any(self.keeps(place, own) for place in held):
                yield old

    def keeps(self, place: Place, own: str) -> bool:
        """Whether what is at the place is assigned to something else than `own`, or put into a container."""
        if isinstance(getattr(place, "ctx", None), ast.Store):
            return ast.unparse(place) != own  # type: ignore[arg-type]
        return any(edge.kind is Kind.IN and not is_attribute(edge.key) for edge in self.flow.graph.edges.get(place, ()))

    @cached_property
    def in_place(self) -> set[Place]:
        """The receivers of methods that write in place (`div_`)."""
        functions = [call.func for call in self.flow.code.calls if isinstance(call.func, ast.Attribute)]
        return {function.value for function in functions if function.attr.endswith("_") and not function.attr.endswith("__")}

    def sharing(self, sources: Iterable[Place]) -> dict[Place, None]:
        """The places of `sources` and of all that shares memory with them: views, what is detached, arrays."""
        found: dict[Place, None] = {}
        pending = list(sources)
        while pending:
            reached = self.flow.graph.reach(pending, made=False).places
            new = [place for place, part in reached if part is ITSELF and place not in found]
            found.update(dict.fromkeys(new))
            pending = [view for place in new if isinstance(place, ast.AST) and (view := self.view_of(place)) is not None]
        return found

    def view_of(self, place: ast.AST) -> ast.AST | None:
        """The expression around one that gives a part of its memory, or all of it; None where there is none."""
        parents = self.flow.paths.parents
        above = parents.get(place)
        if isinstance(above, ast.Subscript) and above.value is place and isinstance(above.ctx, ast.Load):
            return above
        if isinstance(above, ast.Call) and place in above.args[:1] and self.shares(above):
            return above
        if not isinstance(above, ast.Attribute) or above.value is not place:
            return None
        call = parents.get(above)
        called = isinstance(call, ast.Call) and call.func is above
        return (call if called else above) if shares_memory(above.attr) else None

    def shares(self, call: ast.Call) -> bool:
        """Whether what a call gives may lie in the memory of its first argument."""
        dotted = self.flow.code.calls.get(call, "")
        return library.shares_memory(dotted) if dotted else isinstance(call.func, ast.Attribute) and shares_memory(call.func.attr)

    @cached_property
    def overwritten(self) -> set[Place]:
        """What is written in place: items, `out=`, the first argument of `nn.init`, of operators and of what is told `inplace`."""
        found = set(self.in_place)
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                    found.add(part.value)
        for call, dotted in self.flow.code.calls.items():
            for output in outputs_of(call, dotted):
                found.update(output.elts if isinstance(output, (ast.Tuple, ast.List)) else [output])
        return found

    def aliases(self, place: Place) -> set[Place]:
        """The places that hold the very object."""
        seen = {place}
        pending = [place]
        while pending:
            for edge in self.flow.graph.edges.get(pending.pop(), ()):
                if edge.kind is Kind.SAME and edge.target not in seen:
                    seen.add(edge.target)
                    pending.append(edge.target)
        return seen

    def written(self, place: Place) -> ast.AST | None:
        """A place where what is made of the value may be written to in place."""
        for reached, part in self.flow.graph.reach([place]).places:
            if part is ITSELF and isinstance(reached, Old):
                return reached.statement
            if part is ITSELF and isinstance(reached, ast.AST) and reached in self.receivers:
                return reached
        return None

    @cached_property
    def receivers(self) -> set[Place]:
        """What something is put into: the receivers of `append`, `copy_` or an assignment to an item."""
        filled = {
            edge.target for edges in self.flow.graph.edges.values() for edge in edges if edge.kind in (Kind.IN, Kind.POURED)
        }
        return {place for place in filled | self.in_place if not isinstance(place, NO_TENSORS)}


def outputs_of(call: ast.Call, dotted: str) -> list[ast.expr]:
    """The arguments, or the receiver, that a call writes to in place. `dotted`: the function's qualified name, where it is a library's."""
    name = dotted.rpartition(".")[2] or name_of(call.func)
    outputs = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
    if dotted == "getattr" and len(call.args) > 1:  # the method itself: `getattr(x, "mul_")`
        method = call.args[1]
        writes = isinstance(method, ast.Constant) and str(method.value).endswith("_")
    else:
        told = any(keyword.arg == "inplace" for keyword in call.keywords)
        row = row_of(dotted)
        puts = row is not None and row.puts is not Puts.NOTHING
        writes = told or puts or dotted.endswith("_") or name.startswith("_foreach_") or name == "copyto"
    if writes:
        outputs += call.args[:1]
    if isinstance(call.func, ast.Attribute) and name in ("fill", "itemset"):
        outputs.append(call.func.value)
    return outputs


def is_of_no_tensor(use: Use) -> bool:
    """Whether only what is no tensor is used so: `x["loss"]`, `x.logits`."""
    if use.how == "subscript" and isinstance(use.site, ast.Subscript):
        return isinstance(use.site.slice, ast.Constant) and isinstance(use.site.slice.value, str)
    rows = rows_of_method(use.name) if use.how == "attribute" else ()
    return bool(rows) and not any(map(is_of_tensor, rows))


def takes_number(how: str, name: str, itself: bool) -> bool:
    """Whether a reader works with a number as it does with a tensor of one element."""
    if how in ("hash", "inverted"):
        return False
    if how in ("arithmetic", "text", "comparison", "key"):
        return True
    if how == "attribute":
        if itself:
            return name in OF_NUMBERS
        return True
    if how in ("argument", "handed"):
        return library.takes_numbers(name, itself)
    return how == "subscript" and not itself
