"""What has to hold so that a statement may detach what an iteration passes to the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.freed import LOOPS, Loop
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Cell, Field, Place, Reach, Sink
from graphfix.dataflow.definitions import Definitions
from graphfix.dataflow.iterations import leaving
from graphfix.model import Ground, InsertAfter, InsertBefore
from graphfix.obligations.identity_sensitivity import Objects, is_identity
from graphfix.obligations.inquiry import NO_TENSOR, Inquiry, Open
from graphfix.obligations.recorded import Recorded
from graphfix.obligations.shown import Shown
from graphfix.obligations.use_analysis import Readers
from graphfix.source.subtree import subtree

# methods by which a dict gets, or loses, items


class Left(Inquiry):
    """Asks about statements that a fix inserts."""

    @cached_property
    def readers(self) -> Readers:
        return Readers(self.flow)

    def inserted(self, operation: InsertBefore | InsertAfter, ground: Ground) -> Iterator[Open]:
        """A statement that detaches a variable: what it holds is freed there, or nobody walks it."""
        program = self.evidence.program
        anchor = next((p for p in program.lying_at(operation.span) if isinstance(p, ast.stmt)), None)
        target = detached_target(operation.text)
        if anchor is None or target is None:
            return
        loop = program.enclosing(anchor, (*LOOPS, *FUNCTIONS))
        item = ast.parse(target, mode="eval").body
        if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant):
            yield from self.item(item, item.slice.value, anchor, loop)
            return
        if "[" in target:  # a module in a container: who else holds it is not followed by name
            yield Open(anchor, "may leave a graph here that is not freed yet")
            return
        yield from self.replaced(operation, anchor, loop, target)
        if ground is Ground.FREED:
            yield from Recorded(self.evidence).unknown()
        if "." in target:  # which object an attribute belongs to is not followed
            yield from (Open(each, "compares it by identity") for each in self.compared_by_is(target.rpartition(".")[2]))
        until = anchor if isinstance(operation, InsertAfter) else None
        if not operation.text.startswith("if "):
            yield from self.may_be_none(loop, target, until)
        freed = isinstance(loop, LOOPS) and self.flow.freed.before_next(loop, target, until)
        starts = [place for place, _ in self.flow.freed.left_by(loop, target)] if isinstance(loop, ast.stmt) else []
        if not starts:
            yield Open(anchor, "may leave a graph here that is not freed yet")
        reach = self.graph.reach(starts)
        if ground is Ground.UNUSED:
            yield from (Open(each, "may call backward() on it") for each in self.looking_up(reach))
        for arrival in reach.arrivals:
            if operation.text.endswith(".requires_grad_()") and ends_at(arrival.site, target):
                continue
            if not freed or arrival.sink is Sink.ASKED and asks_for_graph(arrival.site):
                # a run that walked there, and nothing of this, is a witness
                nobody = ground is Ground.UNUSED and arrival.sink is Sink.WALKED and arrival.site not in self.walked
                yield Open(arrival.site, arrival.sink.value, nobody)

    def replaced(self, operation: InsertBefore | InsertAfter, anchor: ast.stmt, loop: ast.AST | None, target: str) -> Iterator[Open]:
        """What a variable holds is a tensor, and takes the place of another object, or it is a container that is made anew."""
        bound = [place for place in self.bindings(None, loop, target) if isinstance(place, ast.expr)]
        if not re.fullmatch(r"(?:if .*\n\s*)?([\w.]+) = \1\.detach\(\)(\.requires_grad_\(\))?", operation.text):
            yield from (each for place in bound for each in Objects(self.flow).compared(place))
            return
        for place in self.bindings(anchor if isinstance(operation, InsertAfter) else None, loop, target):
            other = self.readers.no_tensor(place, operation.text.startswith("if "))
            if other is not None:
                yield Open(other, NO_TENSOR)
        for place in bound:
            yield from Objects(self.flow).told_apart(place)
            yield from Shown(self.evidence).kept(self.graph.reach([place]))

    def looking_up(self, reach: Reach) -> list[ast.Call]:
        """What may read, by its name, a variable to which a value gets: a global one, an attribute, or one of the same function."""
        program = self.evidence.program
        places = [place for place, _ in reach.places]
        if any(isinstance(place, Field) or isinstance(place, Cell) and isinstance(place.scope, ast.Module) for place in places):
            return self.flow.calls.reflections[:1]
        around = {program.enclosing(place, FUNCTIONS) for place in places if isinstance(place, ast.AST) and program.holds(place)}
        return [each for each in self.flow.calls.reflections if program.enclosing(each, FUNCTIONS) in around][:1]

    def item(self, item: ast.Subscript, key: object, anchor: ast.stmt, loop: ast.AST | None) -> Iterator[Open]:
        """An item of a dict that is detached: only the loop's body puts it there, surely, and no None; a walk of it follows.

        `anchor`: the statement behind which it is detached.
        """
        text = ast.unparse(item)
        if not isinstance(loop, LOOPS):
            yield Open(anchor, "may leave a graph here that is not freed yet")
            return
        body = loop.body
        before = body[: body.index(anchor)] if anchor in body else []
        writers = [part for part in self.subscripts(ast.Store, ast.Del) if not is_other_key(part, key)]
        stores = [self.flow.paths.statement(part) for part in writers if ast.unparse(part) == text]
        reads = [part for part in self.subscripts(ast.Load) if ast.unparse(part) == text]
        freed = any(self.flow.freed.backward_follows(loop, read, store, anchor) for read in reads for store in stores)
        displays = self.displays(item.value, key, loop)
        if displays and not writers:
            stores, freed = list(displays), all(self.is_freed_by(loop, value, anchor) for value in displays.values())
        if len(writers) + len(displays) != 1 or len(stores) != 1 or stores[0] not in before or not freed:
            yield Open(anchor, "may leave a graph here that is not freed yet")
            return
        holders = {source for read in reads for source in self.graph.sources(read.value)}
        for call in self.flow.code.calls:
            function = call.func
            if (
                isinstance(function, ast.Attribute)
                and library.changes("builtins.dict", function.attr)
                and holders & set(self.graph.sources(function.value))
            ):
                yield Open(call, "may store another value there")
        for statement in before[before.index(stores[0]) + 1 :] + [anchor]:
            for code in self.flow.reached(statement):
                if any(rebinds(part, item.value) for part in subtree(code)):
                    yield Open(statement, "may replace the dict")
        sources = [displays[stores[0]]] if displays else self.bound_to(writers[0], stores[0])
        constant = (isinstance(each, ast.Constant) for source in sources or () for each in self.readers.origins(source))
        if sources is None or any(constant):
            yield Open(stores[0], "may be None there")
        for arrival in self.graph.reach([*reads, *displays.values()]).of(Sink.ASKED):
            if asks_for_graph(arrival.site):
                yield Open(arrival.site, arrival.sink.value)
        yield from (each for value in displays.values() for each in Objects(self.flow).compared(value))

    def displays(self, holder: ast.expr, key: object, loop: ast.stmt) -> dict[ast.stmt, ast.expr]:
        """The statements in a loop that make a dict anew where it is held, each with what that has under the key."""
        found: dict[ast.stmt, ast.expr] = {}
        for part in subtree(loop):
            if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Dict):
                continue
            held = {each.value: value for each, value in zip(part.value.keys, part.value.values) if isinstance(each, ast.Constant)}
            if list(map(ast.unparse, part.targets)) == [ast.unparse(holder)] and key in held and len(held) == len(part.value.keys):
                found[part] = held[key]
        return found

    def is_freed_by(self, loop: Loop, value: ast.expr, anchor: ast.stmt) -> bool:
        """Whether what a name holds is surely freed by the end of a statement of the loop's body, wherever that made it."""
        made = [place for place in self.graph.values.get(value, ()) if isinstance(place, ast.Name)] if isinstance(value, ast.Name) else []
        return bool(made) and all(
            self.flow.freed.backward_follows(loop, each, self.flow.paths.statement(each), anchor) for each in made
        )

    def compared_by_is(self, attribute: str) -> Iterator[ast.Compare]:
        """Where an attribute of this name is compared with another object, and not with a constant."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                sides = [part.left, *part.comparators] if is_identity(part) and isinstance(part, ast.Compare) else []
                if any(isinstance(s, ast.Attribute) and s.attr == attribute for s in sides):
                    if not any(isinstance(s, ast.Constant) for s in sides) and isinstance(part, ast.Compare):
                        yield part

    def subscripts(self, *contexts: type[ast.expr_context]) -> Iterator[ast.Subscript]:
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if isinstance(part, ast.Subscript) and isinstance(part.ctx, contexts):
                    yield part

    def bound_to(self, target: ast.expr, statement: ast.stmt) -> list[ast.expr] | None:
        """What an assignment binds to `target`: its value, or what functions in sight return at that position.

        Nothing where a layer of torch returns it; None where not all of it is in sight.
        """
        if not isinstance(statement, ast.Assign):
            return None
        for whole in statement.targets:
            if whole is target:
                return [statement.value]
            if isinstance(whole, ast.Tuple) and target in whole.elts:
                values: list[ast.expr | None] = [statement.value]
                if isinstance(statement.value, ast.Call):
                    codes = self.flow.calls.targets.get(statement.value, ())
                    values = [part.value for code in codes for part in subtree(code) if isinstance(part, ast.Return)]
                    if statement.value in self.flow.calls.opaque:
                        return None
                at = whole.elts.index(target)
                alike = [value for value in values if isinstance(value, ast.Tuple) and len(value.elts) == len(whole.elts)]
                return [value.elts[at] for value in alike] if len(alike) == len(values) else None
        return None

    def bound_by(self, until: ast.stmt, name: str) -> set[ast.AST] | None:
        """Where a name may have got what it means behind a statement; None where that has become no instruction."""
        ways = self.flow.paths.ways(until)
        definitions, variable = Definitions(ways), ways.code.scope.variable(name)
        ends = list(leaving(ways, self.flow.paths.within(until)))
        return {found.definition.node for end in ends for found in definitions.behind(end, variable)} if ends else None

    def may_be_none(self, loop: ast.AST | None, target: str, until: ast.stmt | None) -> Iterator[Open]:
        """Where what is detached is set to None: a name within the loop, an attribute anywhere but where its object is made.

        `until`: the statement of the loop's body behind which a name is detached, so that only what it means there matters.
        """
        reaching = self.bound_by(until, target) if until is not None and isinstance(loop, LOOPS) and "." not in target else None
        word = target.rpartition(".")[2]
        inside = set(subtree(loop)) if loop is not None else set()
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if not isinstance(part, (ast.Name, ast.Attribute)) or not isinstance(part.ctx, ast.Store):
                    continue
                if "." in target:
                    made = getattr(document.enclosing(part, FUNCTIONS), "name", "__init__") == "__init__"
                    concerned = isinstance(part, ast.Attribute) and part.attr == word and not made
                else:
                    concerned = isinstance(part, ast.Name) and part.id == word and part in inside
                    concerned = concerned and (reaching is None or part in reaching)
                for source in self.readers.origins(part) if concerned else ():
                    if isinstance(source, ast.Constant) and source.value is None:
                        yield Open(part, "may be None there")

    def bindings(self, just_before: ast.stmt | None, loop: ast.AST | None, target: str) -> list[Place]:
        """What may be in a variable: what the statement `just_before` binds to it, or else all that the code around does."""
        if isinstance(just_before, ast.Assign) and any(ast.unparse(each) == target for each in just_before.targets):
            return [just_before.value]
        if "." in target:
            return [Field(target.rpartition(".")[2])]
        around = self.evidence.program.enclosing(loop, (*FUNCTIONS, ast.Module)) if loop is not None else None
        named = (
            (part for part in subtree(around) if isinstance(part, ast.Name) and part.id == target) if around is not None else ()
        )
        return [part for part in named if isinstance(part.ctx, ast.Store)]


def rebinds(part: ast.AST, holder: ast.expr) -> bool:
    """Whether a store, in whatever function, may bind another object to the name or attribute `holder`."""
    if isinstance(holder, ast.Attribute):
        return isinstance(part, ast.Attribute) and part.attr == holder.attr and not isinstance(part.ctx, ast.Load)
    return (
        isinstance(holder, ast.Name)
        and isinstance(part, ast.Name)
        and part.id == holder.id
        and not isinstance(part.ctx, ast.Load)
    )


def is_other_key(part: ast.Subscript, key: object) -> bool:
    """Whether another item than that under `key` is meant."""
    return isinstance(part.slice, ast.Constant) and part.slice.value != key


def detached_target(text: str) -> str | None:
    """The variable that statements such as `h = h.detach()`, or `h = repackage(h)`, detach; None for other statements."""
    for part in subtree(ast.parse(text)):
        if isinstance(part, ast.Assign) and ("detach()" in ast.unparse(part.value) or gives_itself(part)):
            return ast.unparse(part.targets[0])
    return None


def gives_itself(assigned: ast.Assign) -> bool:
    """Whether a variable is bound to what a function of the project makes of it."""
    value = assigned.value
    return isinstance(value, ast.Call) and list(map(ast.unparse, value.args)) == list(map(ast.unparse, assigned.targets))


def ends_at(site: ast.AST, target: str) -> bool:
    """Whether a walk ends at the variable `target`, and frees nothing below: `torch.autograd.grad(loss, target)`."""
    if not isinstance(site, ast.Call) or name_of(site.func) != "grad":
        return False
    inputs = [*site.args[1:2], *(keyword.value for keyword in site.keywords if keyword.arg == "inputs")]
    listed = inputs[0].elts if inputs and isinstance(inputs[0], (ast.Tuple, ast.List)) else inputs
    return len(listed) == 1 and ast.unparse(listed[0]) == target


def asks_for_graph(site: ast.AST) -> bool:
    """Whether a reader looks at the graph itself."""
    return isinstance(site, ast.Attribute) and site.attr in ("requires_grad", "grad_fn", "is_leaf", "next_functions")
