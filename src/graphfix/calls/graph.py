"""The one call graph: which code of the program an instruction may run, and which function of a library."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from graphfix.calls.attributes import accessors, class_of, class_variables, held_by
from graphfix.calls.classes import MAKES_CONSTRUCTOR, REPLACES, Line, line_of, makers
from graphfix.calls.equations import solved
from graphfix.calls.implicit import ATTRIBUTES, DESCRIBES, ITERATES, RUN_BY, SPELLS, asked_by
from graphfix.calls.meanings import (
    Bound,
    Class,
    Descriptor,
    Display,
    Function,
    Instance,
    Library,
    Meaning,
    Module,
    Object,
    Super,
    Unknown,
)
from graphfix.calls.program import Program
from graphfix.calls.results import CALLED, CODE
from graphfix.calls.values import Field
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.ir.variables import Variable
from graphfix.lazy_dataclass import dataclass

GOES_OVER = (ir.Iterate, ir.Next, ir.Unpack)


@dataclass(slots=True)
class Targets:
    """What an instruction may run: `codes` of the program, functions of `libraries` by their full names.

    `is_open`: or code that nobody can name, which may be all that escapes.
    """

    codes: dict[ast.AST, None] = field(default_factory=dict)
    libraries: dict[str, None] = field(default_factory=dict)
    is_open: bool = False


class CallGraph:
    """Answers for the files of one program; what callers give is unknown to it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values = solved(program)

    def meanings(self, code: Code, value: ir.Value) -> list[Meaning]:
        """What a value of a code object may be."""
        return self.values.of((code, value))

    def resolve(self, code: Code, instruction: ir.Instruction) -> Targets:
        """What an instruction of a code object may run."""
        found = Targets()
        if isinstance(instruction, ir.Call):
            meant = self.meanings(code, instruction.function)
            found.is_open = not meant  # what is called has a value that nothing in sight gives
            for meaning in meant:
                self._called(found, meaning)
            self._called_back(found, code, instruction)
        elif isinstance(instruction, ir.MakeClass):
            found.codes[instruction.body] = None
            self._initialised(found, instruction)
        elif isinstance(instruction, ir.Import):
            for meaning in self.values.of((code, instruction.result)) if instruction.result is not None else ():
                found.codes.update({meaning.tree: None} if isinstance(meaning, Module) else {})
            target = self.program.module("." * instruction.level + instruction.module, self.program.home(code.node))
            found.codes.update({target.tree: None} if target is not None else {})
        else:
            self._run_implicitly(found, code, instruction)
        return found

    def resolve_class(self, cls: ast.ClassDef) -> Targets:
        """What making an object of a class may run."""
        found = Targets()
        self._constructed(found, cls)
        return found

    def _with_items(self, code: Code, value: ir.Value) -> Iterator[Meaning]:
        """What a value may be, and what a container may hold: to compare, hash or spell that does it with its items."""
        for meaning in self.meanings(code, value):
            yield meaning
            if isinstance(meaning, Display):
                yield from (each for item in meaning.built.items for each in self.meanings(meaning.code, item.value))

    def _called(self, found: Targets, meaning: Meaning) -> None:
        if isinstance(meaning, Function):
            found.codes[meaning.node] = None
        elif isinstance(meaning, Bound):
            found.codes[meaning.function] = None
        elif isinstance(meaning, Class):
            self._constructed(found, meaning.node)
        elif isinstance(meaning, Instance):
            for name in CALLED:
                self._methods(found, meaning, (name,))
            found.is_open = found.is_open or not found.codes
        elif isinstance(meaning, Library):
            found.libraries[meaning.name] = None
            found.is_open = found.is_open or meaning.name.startswith("type.")  # runs what the class defines that it is called for
        elif isinstance(meaning, Object):
            found.libraries[meaning.name] = None
            for each in held_by(self.values, meaning):
                self._called(found, each)
        elif isinstance(meaning, Descriptor):
            found.codes[meaning.function] = None
        elif isinstance(meaning, Unknown):
            found.is_open = True

    def _constructed(self, found: Targets, cls: ast.ClassDef) -> None:
        """What making an object of a class runs: https://docs.python.org/3/reference/datamodel.html#basic-customization."""
        line = line_of(self.values, cls)
        for metaclass in self.metaclasses(line):
            self._methods(found, metaclass, ("__call__",))
        self._methods(found, Class(cls), ("__new__",))
        self._methods(found, Class(cls), ("__init__",))
        for each in line.classes:
            for made in self.made_by_decorator(each):
                self._methods(found, Class(cls), (made,))
        found.libraries.update((f"{base}.__init__", None) for base in line.libraries)
        found.is_open = found.is_open or line.is_open

    def class_variables(self, of: Instance | Class | Super, name: str) -> list[Variable]:
        """The variables of classes that `name` may mean, asked of an object, a class, or what comes after one."""
        return class_variables(self.values, of, name)

    def has_own(self, of: Instance | Class | Super, name: str) -> bool:
        """Whether the program itself gives such an object an attribute."""
        if class_variables(self.values, of, name):
            return True
        return any(self.values.of(Field(each, name)) for each in line_of(self.values, class_of(of)).classes)

    def made_by_decorator(self, cls: ast.ClassDef) -> Iterator[str]:
        """The method that a constructor runs which a decorator has made for a class."""
        file = self.program.home(cls)
        code = file.origins.code(cls)
        for decorator in cls.decorator_list:
            for each in file.origins.own(code).get(decorator, ()):
                for meaning in self.values.of((code, each.result)) if each.result is not None else ():
                    if isinstance(meaning, (Library, Object)) and meaning.name in MAKES_CONSTRUCTOR:
                        yield MAKES_CONSTRUCTOR[meaning.name]

    def metaclasses(self, line: Line) -> Iterator[Instance]:
        """What may have made a class, or one that it derives from, as an object of which it is."""
        for cls in line.classes:
            for code, made in makers(self.values, cls):
                for base in made.bases:
                    for meaning in self.meanings(code, base.value) if base.name == "metaclass" else ():
                        if isinstance(meaning, Class):
                            yield Instance(meaning.node)

    def _initialised(self, found: Targets, made: ir.MakeClass) -> None:
        """Making a class tells its bases of it."""
        line = line_of(self.values, made.body)
        for metaclass in self.metaclasses(line):
            self._methods(found, metaclass, ("__new__", "__init__"))
        for base in line.classes[1:]:
            self._methods(found, Class(base), ("__init_subclass__",))
        found.is_open = found.is_open or line.is_open or any(each.name is not None for each in made.bases)

    def _methods(self, found: Targets, of: Instance | Class | Super, names: Iterable[str]) -> None:
        for name in names:
            for variable in class_variables(self.values, of, name):
                self._of_variable(found, variable)

    def _of_variable(self, found: Targets, variable: Variable) -> None:
        for meaning in self.values.of(variable):
            self._called(found, meaning)

    def _called_back(self, found: Targets, code: Code, call: ir.Call) -> None:
        """What a library may call of what it is given: functions, what iterators that it has made call, and special methods of objects."""
        libraries = list(found.libraries)
        calls = found.is_open or any(row is None or row.calls or row.applies for row in map(row_of, libraries))
        for argument in call.arguments if libraries or found.is_open else ():
            for meaning in self._with_items(code, argument.value):
                if isinstance(meaning, CODE) and (calls or argument.name is not None):
                    self._called(found, meaning)
                elif isinstance(meaning, Object):
                    self._held(found, meaning)
                elif isinstance(meaning, Instance):
                    self._given(found, meaning, libraries, calls)

    def _held(self, found: Targets, of: Object) -> None:
        """Functions that an object of a library calls while it is gone over, as `map` does."""
        for each in held_by(self.values, of):
            if isinstance(each, CODE):
                self._called(found, each)

    def _given(self, found: Targets, of: Instance, libraries: list[str], calls: bool) -> None:
        """Special methods of an object that is given to a library, and where that calls what it is given, the object itself."""
        if calls:
            self._called(found, of)
        if not REPLACES.isdisjoint(libraries):
            self._constructed(found, of.cls)
        for name in libraries:
            row = row_of(name)
            self._methods(found, of, RUN_BY.get(name.rpartition(".")[2], ()))
            self._methods(found, of, row.runs.split() if row is not None else ())
            if row is None or row.iterates:
                self._methods(found, of, (*ITERATES, "__len__"))
            if row is None or row.observes in (Observes.TEXT, Observes.MESSAGE):
                self._methods(found, of, SPELLS)

    def _run_implicitly(self, found: Targets, code: Code, instruction: ir.Instruction) -> None:
        for asked in asked_by(instruction):
            for meaning in self._with_items(code, asked.object):
                if isinstance(meaning, (Instance, Super)):
                    self._methods(found, meaning, asked.methods)
                    if isinstance(instruction, ATTRIBUTES):
                        self._accessed(found, meaning, instruction.name)
                elif isinstance(meaning, Object) and isinstance(instruction, GOES_OVER):
                    self._held(found, meaning)
                elif isinstance(meaning, Unknown):
                    found.is_open = True

    def _accessed(self, found: Targets, of: Instance | Super, name: str) -> None:
        """Reading or setting an attribute runs a property, or the methods of an object that a class has there."""
        found.codes.update(dict.fromkeys(accessors(self.values, of, name)))
        for variable in class_variables(self.values, of, name):
            for meaning in self.values.of(variable):
                if isinstance(meaning, Instance):
                    self._methods(found, meaning, DESCRIBES)
