"""What an attribute of an object may be, and what reading it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.calls.classes import found_in, heirs, line_of
from graphfix.calls.meanings import (
    MAX_PARTS,
    UNKNOWN,
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
    given_by,
)
from graphfix.calls.program import File, Program
from graphfix.calls.values import MAX_SOURCES, Field, Returned, Values
from graphfix.ir.blocks import Code
from graphfix.ir.variables import Variable

OF_PROGRAM = (Function, Class, Instance, Bound)
PROPERTIES = frozenset(("property", "functools.cached_property", "abc.abstractproperty"))
UNBOUND = frozenset(("staticmethod",))
OF_CLASS = frozenset(("classmethod", "abc.abstractclassmethod"))
DESCRIPTORS = PROPERTIES | UNBOUND | OF_CLASS


def attribute_of(values: Values, of: Meaning, name: str) -> Iterator[Meaning]:
    """What `name` may be of an object that is `of`."""
    if isinstance(of, Instance) and name == "__class__":
        yield from map(Class, [of.cls, *(() if of.exact else heirs(values, of.cls))])
    elif isinstance(of, Instance):
        yield from _of_instance(values, of, name)
    elif isinstance(of, Class):
        yield from _of_class(values, of, name)
    elif isinstance(of, Super):
        yield from _of_super(values, of, name)
    elif isinstance(of, Module):
        yield from _of_module(values, values.program.files[of.tree], name)
    elif isinstance(of, Library):
        yield _of_library(values, f"{of.name}.{name}")
    elif isinstance(of, Object):
        yield given_by(f"{of.name}.{name}", of.made)
    elif isinstance(of, Descriptor) and name in ("setter", "getter", "deleter"):
        yield Library(of.how)
    else:
        yield UNKNOWN


def _of_library(values: Values, name: str) -> Meaning:
    package = values.program.packages.get(name)
    if package is not None:
        return Module(package.tree)
    return Library(name) if name.count(".") <= MAX_PARTS else UNKNOWN


def held_by(values: Values, of: Object) -> Iterator[Meaning]:
    """The functions, classes and objects of the program that an object of a library was given when it was made."""
    if of.made is None:
        return
    code, call = of.made
    for argument in call.arguments:
        for meaning in values.of((code, argument.value)):
            if isinstance(meaning, OF_PROGRAM):
                yield meaning
            elif isinstance(meaning, Display):
                yield from (each for item in meaning.built.items for each in _own(values, meaning.code, item.value))


def _own(values: Values, code: Code, value: int) -> list[Meaning]:
    return [each for each in values.of((code, value)) if isinstance(each, OF_PROGRAM)]


def class_variables(values: Values, of: Instance | Class | Super, name: str) -> list[Variable]:
    """The variables of classes that a lookup of `name` may find; those of what derives from a class where it is not known which it is."""
    receiver = of.receiver if isinstance(of, Super) else of
    cls = receiver.cls if isinstance(receiver, Instance) else receiver.node
    behind = of.cls if isinstance(of, Super) else None
    classes = [cls]
    if isinstance(receiver, Instance) and not receiver.exact or behind is not None:
        classes += heirs(values, cls)
    found = (found_in(values, line_of(values, each), name, behind=behind) for each in classes)
    return list(dict.fromkeys(each for each in found if each is not None))


def class_of(of: Instance | Class | Super) -> ast.ClassDef:
    """The class of an object, the class itself, or the one behind which `super()` begins."""
    return of.node if isinstance(of, Class) else of.cls


def accessors(values: Values, of: Instance | Class | Super, name: str) -> Iterator[ast.AST]:
    """The functions of properties that reading or setting an attribute runs."""
    for variable in class_variables(values, of, name):
        for meaning in values.of(variable):
            if isinstance(meaning, Descriptor) and meaning.how in PROPERTIES:
                yield meaning.function


def _of_instance(values: Values, of: Instance, name: str) -> Iterator[Meaning]:
    fields = [each for cls in line_of(values, of.cls).classes for each in values.of(Field(cls, name))]
    yield from _known_or_others(values, of, name, [*fields, *_through_class(values, of, name)])


def _of_class(values: Values, of: Class, name: str) -> Iterator[Meaning]:
    yield from _known_or_others(values, of, name, [*values.of(Field(of.node, name)), *_through_class(values, of, name)])


def _of_super(values: Values, of: Super, name: str) -> Iterator[Meaning]:
    yield from _known_or_others(values, of, name, list(_through_class(values, of, name)))


def _known_or_others(values: Values, of: Instance | Class | Super, name: str, known: list[Meaning]) -> Iterator[Meaning]:
    """What is known of an attribute; where a base is not known, that may have one of the same name."""
    yield from known or _of_others(values, of, name)
    if known and line_of(values, class_of(of)).is_open:
        yield UNKNOWN


def _through_class(values: Values, of: Instance | Class | Super, name: str) -> Iterator[Meaning]:
    """What the bodies of classes bind, as it is read through an object or a class."""
    receiver = of.receiver if isinstance(of, Super) else of
    for variable in class_variables(values, of, name):
        for meaning in values.of(variable):
            yield from bound_to(values, meaning, receiver)


def bound_to(values: Values, meaning: Meaning, receiver: Instance | Class) -> Iterator[Meaning]:
    """What a class variable is when it is read through an object or a class: https://docs.python.org/3/howto/descriptor.html."""
    if isinstance(meaning, Function):
        yield Bound(meaning.node, receiver) if isinstance(receiver, Instance) else meaning
    elif isinstance(meaning, Descriptor):
        if meaning.how in UNBOUND:
            yield Function(meaning.function)
        elif meaning.how in OF_CLASS:
            yield Bound(meaning.function, Class(receiver.cls) if isinstance(receiver, Instance) else receiver)
        elif isinstance(receiver, Instance):
            yield from values.of(Returned(meaning.function))
        else:
            yield meaning
    else:
        yield meaning


def _of_others(values: Values, of: Instance | Class | Super, name: str) -> Iterator[Meaning]:
    """What the program does not define: an attribute of a library's class that a class derives from, or nobody knows what."""
    if not values.finds_nothing():
        return
    line = line_of(values, class_of(of))
    for base in line.libraries:
        yield Library(f"{base}.{name}")
    if line.is_open or not line.libraries:
        yield UNKNOWN


def _of_module(values: Values, file: File, name: str) -> Iterator[Meaning]:
    variable = global_variable(values, file, name)
    if variable is not None:
        yield from values.of(variable)
        return
    document = values.program.documents[file.tree]
    inner = values.program.module(f".{name}", file) if document.path.endswith("__init__.py") else None
    yield Module(inner.tree) if inner is not None else UNKNOWN


def global_variable(values: Values, file: File, name: str) -> Variable | None:
    """The global variable of this name that a file binds, or that comes to it by a star."""
    for each in with_starred(values.program, file):
        found = each.variable(name)
        if found is not None and (each is file or not name.startswith("_")):
            return found
    return None


def with_starred(program: Program, file: File) -> Iterator[File]:
    """A file, and those all names of which come to it by a star, over however many others."""
    pending, seen = [file], {file.tree}
    for each in pending:  # it grows while it is read
        yield each
        for star in each.star_imports:
            target = program.module("." * star.level + star.module, each)
            if target is not None and target.tree not in seen:
                seen.add(target.tree)
                pending.append(target)


def field_of(values: Values, key: Field) -> Iterator[Meaning]:
    """The equation of an attribute: all that is set under its name where the object may be this one."""
    files = list(values.program.files.values())
    for file in files:
        written = file.attribute_writes.get(key.name, [])
        yield from (UNKNOWN,) if len(written) > MAX_SOURCES else ()
        for code, each in written[:MAX_SOURCES]:
            if any(may_be_of(values, meaning, key.owner) for meaning in values.of((code, each.object))):
                yield from values.of((code, each.value))
    if isinstance(key.owner, ast.ClassDef) and any(file.sets_any for file in files):
        yield UNKNOWN


def may_be_of(values: Values, meaning: Meaning, owner: ast.AST) -> bool:
    """Whether to set an attribute of an object that is `meaning` may set one of `owner`'s objects, or of `owner` itself."""
    if isinstance(meaning, Module):
        return meaning.tree is owner
    if isinstance(meaning, Instance):
        return meaning.cls is owner or not meaning.exact and meaning.cls in _classes_of(values, owner)
    return isinstance(meaning, Class) and meaning.node is owner


def _classes_of(values: Values, owner: ast.AST) -> tuple[ast.ClassDef, ...]:
    return line_of(values, owner).classes if isinstance(owner, ast.ClassDef) else ()
