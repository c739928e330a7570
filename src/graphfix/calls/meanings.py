"""What a value may be, as far as it matters for what a call of it, or a method of it, runs."""

from __future__ import annotations

import ast

from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Build, Call
from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A function, lambda or generator expression of the program."""

    node: ast.AST


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the program."""

    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the program, or of one that derives from it where `exact` is not known."""

    cls: ast.ClassDef
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """A method on the object, or the class, that it was asked of."""

    function: ast.AST
    receiver: Instance | Class


@dataclass(frozen=True, slots=True)
class Super:
    """What `super()` gives in a method of `cls`."""

    cls: ast.ClassDef
    receiver: Instance | Class


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A function in a class that is no plain method: `how` is the full name of what made it so, as `property`."""

    how: str
    function: ast.AST


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the program."""

    tree: ast.AST


@dataclass(frozen=True, slots=True)
class Library:
    """A module, class or function of a library, or a method of one of its objects, by its full name."""

    name: str


@dataclass(frozen=True, slots=True)
class Object:
    """What a class or function of a library gave, by its full name, or an attribute of that.

    `made`: the call that made it, which may hold what it was given.
    """

    name: str
    made: tuple[Code, Call] | None = None


@dataclass(frozen=True, slots=True)
class Display:
    """A tuple, list, set or dict that is built in the program."""

    code: Code
    built: Build


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything: what a caller gives, what a library holds, what no rule tells."""


# a name with more calls in it is that of anything: `x = x.detach()` in a loop makes ever longer ones
MAX_CALLS = 2
MAX_PARTS = 12


def given_by(name: str, made: tuple[Code, Call] | None = None) -> Meaning:
    """What a function of a library gives, or an attribute of such an object."""
    return Object(name, made) if name.count("()") <= MAX_CALLS and name.count(".") <= MAX_PARTS else UNKNOWN


Meaning = Function | Class | Instance | Bound | Super | Descriptor | Module | Library | Object | Display | Unknown
UNKNOWN = Unknown()
