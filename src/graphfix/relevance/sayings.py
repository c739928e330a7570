"""What the instructions of one file say of graphs, and to what they lead. Nothing but the file itself decides about it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from functools import cached_property
from typing import Any

from graphfix.calls.graph import CallGraph
from graphfix.calls.implicit import asked_by
from graphfix.calls.meanings import UNKNOWN, Bound, Class, Descriptor, Function, Instance, Library, Meaning, Module, Object, Super
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.ir.variables import Home, Variable
from graphfix.lazy_dataclass import dataclass
from graphfix.relevance.facts import ATTRIBUTES, METHODS, NAMES, NONE, Fact, Facts, Uses, asks_for_gradient, is_layer, of_item
from graphfix.source.spelling import FUNCTIONS
from graphfix.source.subtree import subtree

# of these it is known which attributes they have
KNOWN = (Instance, Class, Super, Object, Library, Module, Bound, Function)
ASKS_KIND = frozenset(("isinstance", "issubclass"))
# a function or class, a variable for all that binds it, or a name for all attributes that are called so
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


class Sayings:
    """Asks the call graph of a file what each of its instructions says."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self.file = graph.program.main
        self._uses: dict[Code, Uses] = {}
        self._of_variable: dict[Variable, Said] = {}

    def of(self, code: Code, each: ir.Instruction) -> Said | None:
        """What an instruction of a code object says; None where it says nothing."""
        if each.node in self._silent:
            return None
        handler = HANDLERS.get(type(each))
        found = handler(self, code, each) if handler is not None else None
        runs = self._run_by_itself(code, each) if self._special else ()
        if runs:
            found = found or Said()
            found.leads.update(dict.fromkeys(runs))
        return found or None

    def _run_by_itself(self, code: Code, each: ir.Instruction) -> Collection[ast.AST]:
        """The special methods of the file that an instruction may run; what a name says is kept, and runs none."""
        if any(name in self._special for asked in asked_by(each) for name in asked.methods):
            return self.graph.resolve(code, each).codes
        return ()

    @cached_property
    def _special(self) -> set[str]:
        """The special methods that classes of the file define, but for those of an object that is made."""
        return {name for name in self._own_names if name.startswith("__") and name.endswith("__")} - {
            "__init__",
            "__annotations__",
        }

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
            found.facts |= NAMES.get(each.name, NONE) | (NONE if self._is_module(code, each.object) else self._read(code, each))
            for meaning in self.graph.meanings(code, each.result or 0):
                self._meant(found, meaning)
            return found
        own = bool(of) and all(self._has(meaning, each.name) for meaning in of)
        if not own:
            found.facts |= NAMES.get(each.name, NONE) | self._read(code, each)
        if not of or not all(isinstance(meaning, KNOWN) for meaning in of):
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

    def _is_module(self, code: Code, value: ir.Value) -> bool:
        """Whether a value is surely a module: what `import` binds, or one in torch, where they are in lower case (PEP 8).

        Other names that are imported, and what lies in a module of the project, may be tensors or networks.
        """
        giver, parts = code.givers[value], []
        while isinstance(giver, ir.ReadAttribute):
            parts.append(giver.name)
            giver = code.givers[giver.object]
        if (
            not isinstance(giver, ir.ReadName)
            or not self.file.is_imported(giver.variable)
            or any(self._imported_as(giver.variable))
        ):
            return False
        return not parts or giver.variable.name == "torch" and all(map(str.islower, parts))

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
                is_member = self._is_module(code, called.object) and called.name != "grad"
                found.facts |= METHODS.get(called.name, NONE) if not is_member else NONE
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

    @cached_property
    def _silent(self) -> set[ast.AST]:
        """Nodes that are computed and mean nothing: annotations, and the classes that `isinstance` asks for."""
        found: set[ast.AST] = set()
        for node in subtree(self.file.tree):
            if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
                found.update(subtree(node.annotation))
            elif isinstance(node, FUNCTIONS) and node.returns is not None:
                found.update(subtree(node.returns))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS_KIND:
                found.update(part for each in node.args[1:] for part in subtree(each))
        return found


HANDLERS: dict[type, Callable[[Sayings, Code, Any], Said | None]] = {
    ir.ReadName: Sayings._name,
    ir.ReadAttribute: Sayings._attribute,
    ir.WriteAttribute: Sayings._set_attribute,
    ir.ReadItem: Sayings._item,
    ir.Call: Sayings._call,
}
