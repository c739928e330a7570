"""The parts of one file, and which of them lead to which others."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from graphfix.calls.graph import CallGraph
from graphfix.calls.program import Program
from graphfix.ir import instructions as ir
from graphfix.ir.variables import CODES, Scope, Variable
from graphfix.relevance.sayings import Lead, Said, Sayings
from graphfix.source.document import Document
from graphfix.source.spelling import FUNCTIONS, Definition
from graphfix.source.subtree import subtree

BINDINGS = (ast.Assign, ast.AnnAssign)


class Parts:
    """The functions of a file, what it binds outside of them, its classes, and the file itself; each is known by its syntax."""

    def __init__(self, document: Document) -> None:
        self.graph = CallGraph(Program(document, lambda name, importing: None))
        self.file = self.graph.program.main
        self.tree = document.tree
        self.parents = document.parents
        self.said: dict[ast.AST, Said] = {self.tree: Said()}
        self._by_instruction: dict[ir.Instruction, Said] = {}
        sayings = Sayings(self.graph)
        for node in self.file.lowered.nodes():
            code = self.file.lowered.code(node)
            for each in code.instructions():
                found = sayings.of(code, each)
                if found is not None:
                    self._by_instruction[each] = found
                    for part in self.parts_of(each.node, node):
                        self.said.setdefault(part, Said()).add(found)
        for node in self.file.lowered.nodes():
            if isinstance(node, FUNCTIONS):
                self.said.setdefault(node, Said())

    # -- which part an instruction belongs to

    def parts_of(self, node: ast.AST, code: ast.AST) -> Iterator[ast.AST]:
        """The parts that a node belongs to which runs in `code`: the functions around it, or what is bound outside of functions.

        The bases of a class say what the class is made of, and nothing of the code in which it stands.
        """
        outside = True
        scope: Scope | None = self.file.lowered.scopes[code]
        while scope is not None:
            if isinstance(scope.node, FUNCTIONS):
                outside = False
                yield scope.node
            scope = scope.outer
        if outside:
            part = self._bound_around(node)
            if part is not None:
                yield part
            if not isinstance(part, ast.ClassDef):
                yield self.tree

    def _bound_around(self, node: ast.AST) -> ast.AST | None:
        """The statement of a module or class body that binds what a node computes, or the class of whose bases it is one."""
        below: ast.AST | None = None
        above: ast.AST | None = node
        while above is not None and not isinstance(above, ast.Module):
            if isinstance(above, BINDINGS):
                return above
            if isinstance(above, ast.ClassDef):
                return above if below in above.bases or below in above.keywords else None
            below, above = above, self.parents.get(above)
        return None

    def led_to(self, lead: Lead) -> Iterable[ast.AST]:
        """The parts that are meant; whoever makes an object of a class runs what makes it."""
        if isinstance(lead, str):
            return self._by_name.get(lead, {})
        parts = list(self._parts_binding(lead)) if isinstance(lead, Variable) else [lead]
        return [
            *parts,
            *(code for part in parts if isinstance(part, ast.ClassDef) for code in self.graph.resolve_class(part).codes),
        ]

    @cached_property
    def _by_name(self) -> dict[str, dict[ast.AST, None]]:
        """The methods of each name, and what classes and objects outside of functions have under it."""
        found: dict[str, dict[ast.AST, None]] = {}
        for node, scope in self.file.lowered.scopes.items():
            for name in scope.bound if isinstance(node, ast.ClassDef) else ():
                found.setdefault(name, {}).update((part, None) for part in self._parts_binding(scope.of_own(name)))
        for name, written in self.file.attribute_writes.items():
            for code, each in written:
                part = self._bound_around(each.node) if not isinstance(code.node, FUNCTIONS) else None
                found.setdefault(name, {}).update({part: None} if part is not None else {})
        return found

    def _parts_binding(self, variable: Variable) -> Iterator[ast.AST]:
        for _, binder in self.file.binders(variable):
            if isinstance(binder.node, (*FUNCTIONS, ast.ClassDef)):
                yield binder.node
            elif (part := self._bound_around(binder.node)) is not None:
                yield part

    # -- what is asked of the whole

    def naming(self, words: Collection[str], nodes: Iterable[ast.AST] | None = None) -> set[ast.AST]:
        """The parts that spell one of the `words` as a name or attribute; `nodes`: those of them that lie in a piece of code."""
        found: set[ast.AST] = set()
        within = None if nodes is None else {part for node in nodes for part in subtree(node)}
        for code in self.file.codes() if words else ():
            for each in code.instructions():
                name = each.variable.name if isinstance(each, ir.ReadName) else getattr(each, "name", "")
                if (
                    name in words
                    and isinstance(each, (ir.ReadName, ir.ReadAttribute))
                    and (within is None or each.node in within)
                ):
                    found.update(self.parts_of(each.node, code.node))
        return found

    def said_in(self, nodes: Iterable[ast.AST]) -> Said:
        """What a piece of code says, functions that are defined in it included."""
        found = Said()
        for node in nodes:
            for part in subtree(node):
                if isinstance(part, CODES):
                    for each in self.file.lowered.code(part).instructions():
                        found.add(self._by_instruction.get(each, _NOTHING))
                for each in self._placed.get(part, ()):
                    found.add(self._by_instruction[each])
        return found

    @cached_property
    def _placed(self) -> dict[ast.AST, list[ir.Instruction]]:
        found: dict[ast.AST, list[ir.Instruction]] = {}
        for each in self._by_instruction:
            found.setdefault(each.node, []).append(each)
        return found

    def leading_to(self, begin: Iterable[ast.AST], steps: int | None = None, *, through_variables: bool = False) -> set[ast.AST]:
        """The parts that come to one of those in `begin`, and these themselves. `steps`: in so many calls at most.

        `through_variables`: or by what is bound outside of functions.
        """
        found: set[ast.AST] = set()
        level = {part for part in begin if through_variables or self.is_code(part)}
        while level and (steps is None or steps >= 0):
            found |= level
            further = {other for lead in self.leads_to(level) for other in self._saying[lead]} - found
            level = {part for part in further if through_variables or self.is_code(part)}
            steps = None if steps is None else steps - 1
        return found

    def leads_to(self, parts: Iterable[ast.AST]) -> set[Lead]:
        """All by which others lead to some parts."""
        return {lead for part in parts for lead in self._leads_to.get(part, ())}

    def is_code(self, part: ast.AST) -> bool:
        """Whether a part is a function, or the file."""
        return isinstance(part, (*FUNCTIONS, ast.Module))

    @cached_property
    def _saying(self) -> dict[Lead, list[ast.AST]]:
        """The parts that lead to something, by that."""
        found: dict[Lead, list[ast.AST]] = {}
        for part, said in self.said.items():
            for lead in said.leads:
                found.setdefault(lead, []).append(part)
        return found

    @cached_property
    def _leads_to(self) -> dict[ast.AST, list[Lead]]:
        """That by which others lead to each part."""
        found: dict[ast.AST, list[Lead]] = {}
        for lead in self._saying:
            for part in self.led_to(lead):
                found.setdefault(part, []).append(lead)
        return found

    def class_of(self, part: ast.AST) -> ast.ClassDef | None:
        """The class in whose body a part stands."""
        around = self.parents.get(part)
        return around if isinstance(around, ast.ClassDef) else None

    @cached_property
    def definitions(self) -> list[Definition]:
        return [part for part in self.said if isinstance(part, FUNCTIONS)]

    @cached_property
    def spelled(self) -> Said:
        """What the whole file says."""
        found = Said()
        for said in self.said.values():
            found.add(said)
        return found

    def offered(self, parts: Collection[ast.AST]) -> set[str]:
        """The names of the module by which other files come to these parts, or to an object that has one."""
        found = {
            part.name for part in self.tree.body if isinstance(part, ast.ClassDef) and any(each in parts for each in part.body)
        }
        for part in parts:
            found.update(names_of(part) if self.class_of(part) is None else ())
        return found


def names_of(part: ast.AST) -> Iterator[str]:
    """The names that a part binds."""
    if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
        yield part.name
    elif isinstance(part, BINDINGS):
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        yield from (each.id for target in targets for each in subtree(target) if isinstance(each, ast.Name))


def parts_of(document: Document) -> Parts:
    """The parts of a file, whichever programs ask for them, and whatever it is imported as."""
    return _parts_of(document.first)


@functools.lru_cache(maxsize=100)
def _parts_of(document: Document) -> Parts:
    return Parts(document)


def forget_parts() -> None:
    """Read all files anew from now on."""
    _parts_of.cache_clear()


_NOTHING = Said()
