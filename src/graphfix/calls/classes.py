"""Classes of a program: the order of their bases, where an attribute is found, and what makes their objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from graphfix.calls.meanings import Class, Library, Meaning
from graphfix.calls.values import Values
from graphfix.ir.blocks import Code
from graphfix.ir.instructions import MakeClass, Value
from graphfix.ir.variables import Variable

# decorators and bases that make a constructor: what it runs when all fields are set
# https://docs.python.org/3/library/dataclasses.html#post-init-processing, https://www.attrs.org/en/stable/init.html#post-init
MAKES_CONSTRUCTOR = {
    "dataclasses.dataclass": "__post_init__",
    **dict.fromkeys(
        ("attr.s", "attr.attrs", "attr.define", "attr.mutable", "attr.frozen", "attr.dataclass"), "__attrs_post_init__"
    ),
    **dict.fromkeys(("attrs.define", "attrs.mutable", "attrs.frozen"), "__attrs_post_init__"),
}


# these make another object of the class of the one that they are given, by its constructor
REPLACES = frozenset(("dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve"))
# classes that one derives from which are looked at: no program has more, but for those that are made to be slow
MAX_CLASSES = 40


class Line(NamedTuple):
    """The classes in which Python looks for an attribute, in their order (https://docs.python.org/3/howto/mro.html).

    `libraries`: the full names of those that a library has; `is_open`: there may be others that nobody knows. `is_cut`: there are more.
    """

    classes: tuple[ast.ClassDef, ...]
    libraries: tuple[str, ...]
    is_open: bool
    is_cut: bool = False


def makers(values: Values, cls: ast.ClassDef) -> Iterator[tuple[Code, MakeClass]]:
    """The instructions that make a class: several where `finally` is copied."""
    file = values.program.home(cls)
    code = file.origins.code(cls)
    for each in file.origins.own(code).get(cls, ()):
        if isinstance(each, MakeClass):
            yield code, each


def bases_of(values: Values, cls: ast.ClassDef) -> list[tuple[Code, Value]]:
    """The values that a class names as its bases, in their order."""
    return [(code, base.value) for code, made in makers(values, cls) for base in made.bases if base.name is None]


def line_of(values: Values, cls: ast.ClassDef) -> Line:
    """The order of a class and its bases, as far as these are known by now; in a circle of classes, of the class alone."""
    if ("line", cls) in values.deriving:
        return Line((cls,), (), False)
    return values.derived(("line", cls), lambda: _line(values, cls))


def _line(values: Values, cls: ast.ClassDef) -> Line:
    for base in _bases_first(values, cls):
        line_of(values, base)
    libraries: dict[str, None] = {}
    bases: list[ast.ClassDef] = []
    is_open = False
    for meaning in _meant(values, cls):
        if isinstance(meaning, Class):
            bases += [meaning.node] if meaning.node is not cls and meaning.node not in bases else []
        elif isinstance(meaning, Library):
            libraries.update({meaning.name: None} if meaning.name != "object" else {})
        else:
            is_open = True
    lines = [line_of(values, base) for base in bases[:MAX_CLASSES]]
    order = (
        [cls, *_c3([*(list(line.classes) for line in lines), bases[:MAX_CLASSES]])]
        if len(lines) != 1
        else [cls, *lines[0].classes]
    )
    order = [each for index, each in enumerate(order) if each is not cls or index == 0]
    libraries.update((name, None) for line in lines for name in line.libraries)
    is_cut = len(bases) > MAX_CLASSES or len(order) > MAX_CLASSES or any(line.is_cut for line in lines)
    is_open = is_open or is_cut or any(line.is_open for line in lines)
    return Line(tuple(order[:MAX_CLASSES]), tuple(libraries), is_open, is_cut)


def _meant(values: Values, cls: ast.ClassDef) -> list[Meaning]:
    """What the bases of a class may be, in their order."""
    return [meaning for code, base in bases_of(values, cls)[:MAX_CLASSES] for meaning in values.of((code, base))]


def _bases_first(values: Values, cls: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """The classes that a class derives from, each behind its own bases, so that no line has to wait for another one."""
    seen = {cls}
    pending = [(cls, False)]
    while pending:
        current, is_done = pending.pop()
        if is_done:
            yield current
            continue
        further = [each.node for each in _meant(values, current) if isinstance(each, Class) and each.node not in seen]
        seen.update(further)
        pending += [(current, True)] if current is not cls else []
        pending += [(base, False) for base in further if not values.is_derived(("line", base))]


def _c3(sequences: list[list[ast.ClassDef]]) -> Iterator[ast.ClassDef]:
    given: set[ast.ClassDef] = set()
    while True:
        sequences = [rest for rest in ([each for each in sequence if each not in given] for sequence in sequences) if rest]
        if not sequences:
            return
        heads = [rest[0] for rest in sequences]
        chosen = next((head for head in heads if not any(head in rest[1:] for rest in sequences)), heads[0])
        given.add(chosen)
        yield chosen


def found_in(values: Values, line: Line, name: str, *, behind: ast.ClassDef | None = None) -> Variable | None:
    """The class variable that a lookup finds; `behind`: only in the classes that come after this one."""
    classes = line.classes
    if behind is not None:
        classes = classes[classes.index(behind) + 1 :] if behind in classes else ()
    for cls in classes:
        found = values.program.home(cls).member(cls, name)
        if found is not None:
            return found
    return None


def heirs(values: Values, cls: ast.ClassDef) -> list[ast.ClassDef]:
    """The other classes of the program that derive from a class, as far as its files are taken in."""
    return values.derived(("heirs", len(values.program.files)), lambda: _heirs(values)).get(cls, [])


def _heirs(values: Values) -> dict[ast.ClassDef, list[ast.ClassDef]]:
    found: dict[ast.ClassDef, list[ast.ClassDef]] = {}
    for file in list(values.program.files.values()):
        for node in file.classes:
            for base in line_of(values, node).classes[1:]:
                found.setdefault(base, []).append(node)
    return found
