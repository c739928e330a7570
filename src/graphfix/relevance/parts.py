"""The parts of one file: what each says of graphs, and to which others it leads. Nothing but the file itself decides about them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphfix.calls.graph import CallGraph
from graphfix.calls.meanings import UNKNOWN, Bound, Class, Descriptor, Function, Instance, Library, Meaning, Module, Object, Super
from graphfix.calls.program import Program
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.ir.variables import CODES, Home, Scope, Variable
from graphfix.relevance.facts import ATTRIBUTES, METHODS, NAMES, NONE, Fact, Facts, Uses, asks_for_gradient, is_layer, of_item
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BINDINGS = (ast.Assign, ast.AnnAssign)
# of these it is known which attributes they have
KNOWN = (Instance, Class, Super, Object, Library, Module, Bound, Function)
ASKS_KIND = frozenset(("isinstance", "issubclass"))
Definition = ast.FunctionDef | ast.AsyncFunctionDef


Lead = ast.AST | Variable | str


@dataclass(slots=True)
class Said:
    """What some instructions say: their `facts`, to what they lead, and by which full names they come to other files.

    `leads`: functions and classes, variables for all that binds them, and names for all attributes that are called so.
    """

    facts: set[Fact] = field(default_factory=set)
    leads: dict[Lead, None] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)

    def add(self, other: Said) -> None:
        self.facts |= other.facts
        self.leads.update(other.leads)
        self.imports.update(other.imports)

    def __bool__(self) -> bool:
        return bool(self.facts or self.leads or self.imports)


class Parts:
    """The functions of a file, what it binds outside of them, its classes, and the file itself; each is known by its syntax."""

    def __init__(self, document: Document) -> None:
        self.graph = CallGraph(Program(document, lambda name, importing: None))
        self.file = self.graph.program.main
        self.tree = document.tree
        self.parents = document.parents
        self.said: dict[ast.AST, Said] = {self.tree: Said()}
        self._by_instruction: dict[ir.Instruction, Said] = {}
        self._uses: dict[Code, Uses] = {}
        self._of_variable: dict[Variable, Said] = {}
        for node in self.file.lowered.nodes():
            code = self.file.lowered.code(node)
            for each in code.instructions():
                found = self._of(code, each)
                if found is not None:
                    self._by_instruction[each] = found
                    for part in self.parts_of(each.node, node):
                        self.said.setdefault(part, Said()).add(found)
        for node in self.file.lowered.nodes():
            if isinstance(node, DEFINITIONS):
                self.said.setdefault(node, Said())

    # -- which part an instruction belongs to

    def parts_of(self, node: ast.AST, code: ast.AST) -> Iterator[ast.AST]:
        """The parts that a node belongs to which runs in `code`: the functions around it, or what is bound outside of functions.

        The bases of a class say what the class is made of, and nothing of the code in which it stands.
        """
        outside = True
        scope: Scope | None = self.file.lowered.scopes[code]
        while scope is not None:
            if isinstance(scope.node, DEFINITIONS):
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

    @cached_property
    def _silent(self) -> set[ast.AST]:
        """Nodes that are computed and mean nothing: annotations, and the classes that `isinstance` asks for."""
        found: set[ast.AST] = set()
        for node in subtree(self.tree):
            if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
                found.update(subtree(node.annotation))
            elif isinstance(node, DEFINITIONS) and node.returns is not None:
                found.update(subtree(node.returns))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS_KIND:
                found.update(part for each in node.args[1:] for part in subtree(each))
        return found

    # -- what an instruction says

    def _of(self, code: Code, each: ir.Instruction) -> Said | None:
        handler = HANDLERS.get(type(each))
        if handler is None or each.node in self._silent:
            return None
        return handler(self, code, each) or None

    def _name(self, code: Code, each: ir.ReadName) -> Said | None:
        variable = each.variable
        if variable.name == "nn" and self._is_functional(code, each):
            return None
        if variable not in self._of_variable:
            self._of_variable[variable] = self._named_by(variable)
        return self._of_variable[variable]

    def _named_by(self, variable: Variable) -> Said:
        """What it says to read a variable."""
        found = Said(set(NAMES.get(variable.name, NONE)))
        is_shared = variable.home in (Home.GLOBAL, Home.CLASS)
        binders = self.file.binders(variable) if is_shared else self._imports_of(variable)
        for binder in binders:
            self._bound(found, *binder)
        if variable.home is Home.GLOBAL and not binders and self.file.star_imports or variable in self._defaulted:
            for meaning in self.graph.values.of(variable):
                self._meant(found, meaning)
        return found

    @cached_property
    def _defaulted(self) -> set[Variable]:
        """The parameters that a caller may leave out."""
        scopes = self.file.lowered.scopes
        made = (each for code in self.file.codes() for each in code.instructions() if isinstance(each, ir.MakeFunction))
        return {scopes[each.body].variable(default.name or "") for each in made for default in each.defaults}

    def _imports_of(self, variable: Variable) -> list[tuple[Code, ir.Instruction]]:
        """The imports in a function that bind one of its variables."""
        if variable.owner not in self._importing:
            return []
        placed = self.file.binders(variable)
        return [
            (code, each)
            for code, each in placed
            if isinstance(each, ir.WriteName) and isinstance(code.givers[each.value], ir.Import)
        ]

    @cached_property
    def _importing(self) -> set[ast.AST]:
        """The code objects that import something."""
        return {code.node for code in self.file.codes() for each in code.instructions() if isinstance(each, ir.Import)}

    def _is_functional(self, code: Code, each: ir.ReadName) -> bool:
        """Whether only functions are taken out of `nn`: they are given tensors."""
        used = self.uses(code).of.get(each.result, []) if each.result is not None else []
        return bool(used) and all(isinstance(use, ir.ReadAttribute) and use.name == "functional" for use in used)

    def _bound(self, found: Said, code: Code, binder: ir.Instruction) -> None:
        """What it says that a name was bound by an instruction outside of functions, or by an import."""
        giver = code.givers[binder.value] if isinstance(binder, ir.WriteName) else None
        if isinstance(giver, ir.Import):
            for meaning in self.graph.meanings(code, giver.result or 0):
                self._meant(found, meaning, is_named=giver.member is not None)
            found.facts |= NAMES.get(giver.member or "", NONE)
        elif isinstance(binder, ir.WriteName):
            found.leads[binder.variable] = None

    def _meant(self, found: Said, meaning: Meaning, *, is_named: bool = True) -> None:
        if isinstance(meaning, Library) and is_named:
            found.imports[meaning.name] = None
            found.facts.update((Fact.MODULE,) if is_layer(meaning.name) else ())
        elif isinstance(meaning, (Function, Class)):
            found.leads[meaning.node] = None
        elif isinstance(meaning, (Bound, Descriptor)):
            found.leads[meaning.function] = None

    def _attribute(self, code: Code, each: ir.ReadAttribute) -> Said | None:
        found = Said()
        of = self._asked_of(code, each)
        if any(isinstance(meaning, (Library, Module)) for meaning in of):
            found.facts |= NAMES.get(each.name, NONE)
            for meaning in self.graph.meanings(code, each.result or 0):
                self._meant(found, meaning)
            return found
        own = bool(of) and all(self._has(meaning, each.name) for meaning in of)
        if not own:
            found.facts |= NAMES.get(each.name, NONE) | self._read(code, each)
        if not all(isinstance(meaning, KNOWN) for meaning in of):
            found.leads[each.name] = None
        for meaning in of:
            if isinstance(meaning, (Instance, Class, Super)):
                self._leads_of(found, meaning, each.name)
        return found

    def _asked_of(self, code: Code, each: ir.ReadAttribute) -> Collection[Meaning]:
        """What an attribute is asked of: looked for where the file has one of this name, or where the object may be a module."""
        giver = code.givers[each.object]
        if isinstance(giver, ir.ReadName) and self.file.is_imported(giver.variable):
            return self.graph.meanings(code, each.object)
        if isinstance(giver, ir.ReadAttribute) and any(isinstance(of, Library) for of in self._asked_of_chain(code, giver)):
            return self.graph.meanings(code, each.object)
        return self.graph.meanings(code, each.object) if each.name in self._own_names else (UNKNOWN,)

    def _asked_of_chain(self, code: Code, giver: ir.ReadAttribute) -> Collection[Meaning]:
        root: ir.Instruction = giver
        while isinstance(root, ir.ReadAttribute):
            root = code.givers[root.object]
        if isinstance(root, ir.ReadName) and self.file.is_imported(root.variable) and giver.result is not None:
            return self.graph.meanings(code, giver.result)
        return ()

    @cached_property
    def _own_names(self) -> set[str]:
        """The names of what the file gives to classes and their objects."""
        found = set(self.file.attribute_writes)
        for node, scope in self.file.lowered.scopes.items():
            if isinstance(node, ast.ClassDef):
                found.update(scope.bound)
        return found

    def _has(self, meaning: Meaning, name: str) -> bool:
        """Whether an object is known, and has this attribute from the file alone."""
        return isinstance(meaning, (Instance, Class, Super)) and self.graph.has_own(meaning, name)

    def _read(self, code: Code, each: ir.ReadAttribute) -> Facts:
        fact = ATTRIBUTES.get(each.name, NONE)
        if each.name == "data" and each.result is not None and self.uses(code).is_only_written(each.result):
            return NONE
        return fact

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
                part = self._bound_around(each.node) if not isinstance(code.node, DEFINITIONS) else None
                found.setdefault(name, {}).update({part: None} if part is not None else {})
        return found

    def _parts_binding(self, variable: Variable) -> Iterator[ast.AST]:
        for _, binder in self.file.binders(variable):
            if isinstance(binder.node, (*DEFINITIONS, ast.ClassDef)):
                yield binder.node
            elif (part := self._bound_around(binder.node)) is not None:
                yield part

    def _leads_of(self, found: Said, meaning: Instance | Class | Super, name: str) -> None:
        for variable in self.graph.class_variables(meaning, name):
            found.leads[variable] = None

    def _set_attribute(self, code: Code, each: ir.WriteAttribute) -> Said | None:
        return Said({Fact.RECORD}) if each.name == "requires_grad" else None

    def _item(self, code: Code, each: ir.ReadItem) -> Said | None:
        facts = of_item(code, each)
        if facts and each.result is not None and self.uses(code).is_only_written(each.result):
            return None
        return Said(set(facts))

    def _call(self, code: Code, each: ir.Call) -> Said | None:
        called = code.givers[each.function]
        found = Said({Fact.RECORD} if asks_for_gradient(code, each) else set())
        if isinstance(called, ir.ReadAttribute):
            of = self._asked_of(code, called)
            if not of or not all(self._has(meaning, called.name) for meaning in of):
                found.facts |= METHODS.get(called.name, NONE) if not is_module(of) or called.name == "grad" else NONE
        elif isinstance(called, ir.ReadName):
            names = {called.variable.name, *(self._imported_as(called.variable))}
            found.facts.update((Fact.WALK,) if "grad" in names else ())
        return found

    def _imported_as(self, variable: Variable) -> Iterator[str]:
        for code, binder in self.file.binders(variable) if self.file.is_imported(variable) else ():
            giver = code.givers[binder.value] if isinstance(binder, ir.WriteName) else None
            if isinstance(giver, ir.Import) and giver.member is not None:
                yield giver.member

    def uses(self, code: Code) -> Uses:
        """Where the values of a code object are used."""
        if code not in self._uses:
            self._uses[code] = Uses(code)
        return self._uses[code]

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
        return isinstance(part, (*DEFINITIONS, ast.Module))

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
        return [part for part in self.said if isinstance(part, DEFINITIONS)]

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
    if isinstance(part, (*DEFINITIONS, ast.ClassDef)):
        yield part.name
    elif isinstance(part, BINDINGS):
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        yield from (each.id for target in targets for each in subtree(target) if isinstance(each, ast.Name))


def is_module(of: Iterable[Meaning]) -> bool:
    return any(isinstance(meaning, (Library, Module)) for meaning in of)


@functools.lru_cache(maxsize=16)
def parts_of(document: Document) -> Parts:
    """The parts of a file: several questions about it come one after the other."""
    return Parts(document)


_NOTHING = Said()
HANDLERS: dict[type, Callable[[Parts, Code, Any], Said | None]] = {
    ir.ReadName: Parts._name,
    ir.ReadAttribute: Parts._attribute,
    ir.WriteAttribute: Parts._set_attribute,
    ir.ReadItem: Parts._item,
    ir.Call: Parts._call,
}
