"""The instructions: what Python does, in steps that no client has to take apart any further.

An instruction has `node`, the syntax that it comes from, and at most one `result`. Its operands are results of other
instructions, by number: each value is given by exactly one instruction of its code object (static single assignment, as in
Cytron et al., https://doi.org/10.1145/115372.115320). Where two ways meet, a value goes through a variable.

Any instruction may raise but those in `SILENT`. What an operator, an attribute, an item, an iteration, a truth test, a text
or a context manager runs may be code of the program: each of these has an instruction of its own.
"""

from __future__ import annotations

import ast
import enum
from typing import ClassVar, NamedTuple

from graphfix.ir.blocks import Block
from graphfix.ir.variables import Variable
from graphfix.lazy_dataclass import dataclass

Value = int


class Argument(NamedTuple):
    """What a call is given: `stars` is 1 for `*value` and 2 for `**value`."""

    value: Value
    name: str | None = None
    stars: int = 0


class Item(NamedTuple):
    """A part of a container that is built: `stars` is 1 for `*value` and 2 for `**value`; `key`: of a dict."""

    value: Value
    key: Value | None = None
    stars: int = 0


def values_in(part: Argument | Item | None) -> list[Value]:
    """The values of a part of a call or of a container."""
    if part is None:
        return []
    if isinstance(part, Item) and part.key is not None:
        return [part.key, part.value]
    return [part.value]


@dataclass(slots=True, eq=False)
class Instruction:
    """One step. It does not change once its code object is made."""

    uses: ClassVar[tuple[str, ...]] = ()
    node: ast.AST
    result: Value | None

    @property
    def operands(self) -> list[Value]:
        """The values that it uses, in order: `uses` says in which of its fields they are."""
        found: list[Value] = []
        for name in self.uses:
            used = getattr(self, name)
            for each in used if type(used) is tuple else (used,):
                found += [each] if type(each) is int else values_in(each)
        return found

    @property
    def targets(self) -> tuple[Block, ...]:
        """Where it goes on, if it ends a block."""
        return ()


# -- values and variables ---------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Constant(Instruction):
    value: object


@dataclass(slots=True, eq=False)
class Parameter(Instruction):
    """A variable gets what the caller gives; the first instructions of a function."""

    variable: Variable


@dataclass(slots=True, eq=False)
class ReadName(Instruction):
    variable: Variable


@dataclass(slots=True, eq=False)
class WriteName(Instruction):
    uses = ("value",)
    variable: Variable
    value: Value


@dataclass(slots=True, eq=False)
class DeleteName(Instruction):
    """The variable has no value any more. `renewed`: it gets a new cell, as each run of a comprehension has; nothing is raised."""

    variable: Variable
    renewed: bool = False


@dataclass(slots=True, eq=False)
class ReadAttribute(Instruction):
    uses = ("object",)
    object: Value
    name: str


@dataclass(slots=True, eq=False)
class WriteAttribute(Instruction):
    uses = ("object", "value")
    object: Value
    name: str
    value: Value


@dataclass(slots=True, eq=False)
class DeleteAttribute(Instruction):
    uses = ("object",)
    object: Value
    name: str


@dataclass(slots=True, eq=False)
class ReadItem(Instruction):
    uses = ("object", "key")
    object: Value
    key: Value


@dataclass(slots=True, eq=False)
class WriteItem(Instruction):
    uses = ("object", "key", "value")
    object: Value
    key: Value
    value: Value


@dataclass(slots=True, eq=False)
class DeleteItem(Instruction):
    uses = ("object", "key")
    object: Value
    key: Value


# -- making and taking apart ------------------------------------------------------------------------------------------


class Kind(enum.Enum):
    """What `Build` builds."""

    TUPLE = "tuple"
    LIST = "list"
    SET = "set"
    DICT = "dict"
    SLICE = "slice"
    TEXT = "text"


@dataclass(slots=True, eq=False)
class Build(Instruction):
    uses = ("items",)
    kind: Kind
    items: tuple[Item, ...]


@dataclass(slots=True, eq=False)
class Format(Instruction):
    """The text of a value in an f-string. `conversion`: `s`, `r`, `a` or nothing; `form`: the format behind the colon."""

    uses = ("value", "form")
    value: Value
    conversion: str
    form: Value | None


@dataclass(slots=True, eq=False)
class Collect(Instruction):
    """A comprehension puts an item into what it builds."""

    uses = ("container", "item")
    container: Value
    item: Item


@dataclass(slots=True, eq=False)
class Unpack(Instruction):
    """As many parts as there are targets, as a tuple. `star`: which of them takes the rest, as a list."""

    uses = ("value",)
    value: Value
    count: int
    star: int | None


@dataclass(slots=True, eq=False)
class Part(Instruction):
    """One of the parts that `Unpack` or `Match` gave: no code of the program runs."""

    uses = ("parts",)
    parts: Value
    index: int


class Pattern(enum.Enum):
    """What `Match` asks of a value."""

    EXCEPTION = "is an exception of this class, or of one of these"
    SEQUENCE = "is a sequence of this many parts"
    MAPPING = "has these keys"
    CLASS = "is of this class, and has these attributes"


@dataclass(slots=True, eq=False)
class Match(Instruction):
    """The parts that a pattern asks for, as a tuple; None where the value does not match.

    `given`: the class or classes, or the keys. `count`, `star`: as in `Unpack`; of a class, how many attributes are asked for by
    position. `names`: attributes of a class that are asked for by name. `rest`: the last part is a dict of all other keys.
    `unread`: parts of a sequence that no pattern looks at, and that are None. The rest behind a star is not even read.
    """

    uses = ("value", "given")
    pattern: Pattern
    value: Value
    given: tuple[Value, ...] = ()
    count: int = 0
    star: int | None = None
    names: tuple[str, ...] = ()
    rest: bool = False
    unread: tuple[int, ...] = ()


# -- computing --------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Operator(Instruction):
    """A unary operator, a binary one or one comparison, as Python spells it: `+`, `not`, `is not`, `in`."""

    uses = ("values",)
    operator: str
    values: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class InPlace(Instruction):
    """`target += value`: what the target is after it, which may be the same object."""

    uses = ("target", "value")
    operator: str
    target: Value
    value: Value


@dataclass(slots=True, eq=False)
class Call(Instruction):
    """The receiver of a method is the object of the `ReadAttribute` that gave `function`."""

    uses = ("function", "arguments")
    function: Value
    arguments: tuple[Argument, ...]


@dataclass(slots=True, eq=False)
class MakeFunction(Instruction):
    """A function, lambda or generator expression: `body` is its syntax. `defaults` and `annotations` go by the parameter's name."""

    uses = ("defaults", "annotations")
    body: ast.AST
    defaults: tuple[Argument, ...]
    annotations: tuple[Argument, ...] = ()


@dataclass(slots=True, eq=False)
class MakeClass(Instruction):
    """The body of the class runs, and its metaclass makes the class of what the body has bound."""

    uses = ("bases",)
    body: ast.ClassDef
    bases: tuple[Argument, ...]


@dataclass(slots=True, eq=False)
class Import(Instruction):
    """The module `module`; with `member`, what it has under that name (`*`: all that it has, bound in this scope).

    `root`: the package that the name begins with is the result, as for `import a.b`.
    """

    module: str
    level: int
    member: str | None = None
    root: bool = False


# -- ways -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Iterate(Instruction):
    uses = ("value",)
    value: Value
    asynchronous: bool = False


@dataclass(slots=True, eq=False)
class Next(Instruction):
    """The next item of an iterator, for which it goes on at `body`; at `end` where there is none."""

    uses = ("iterator",)
    iterator: Value
    body: Block
    end: Block
    asynchronous: bool = False

    @property
    def targets(self) -> tuple[Block, ...]:
        return (self.body, self.end)


@dataclass(slots=True, eq=False)
class Branch(Instruction):
    """Tests whether a value is true."""

    uses = ("condition",)
    condition: Value
    yes: Block
    no: Block

    @property
    def targets(self) -> tuple[Block, ...]:
        return (self.yes, self.no)


@dataclass(slots=True, eq=False)
class Jump(Instruction):
    target: Block

    @property
    def targets(self) -> tuple[Block, ...]:
        return (self.target,)


@dataclass(slots=True, eq=False)
class Return(Instruction):
    uses = ("value",)
    value: Value


@dataclass(slots=True, eq=False)
class Raise(Instruction):
    """`exception` is None where it is the one that a caller handles. `again`: it is raised as it was caught, by code or by lowering."""

    uses = ("exception", "cause")
    exception: Value | None
    cause: Value | None = None
    again: bool = False


@dataclass(slots=True, eq=False)
class Catch(Instruction):
    """The exception that was raised; the first instruction of a handler."""


class Suspension(enum.Enum):
    """What a function waits for where it is left for a while."""

    YIELD = "yield"
    FROM = "yield from"
    AWAIT = "await"


@dataclass(slots=True, eq=False)
class Yield(Instruction):
    """The result is what is sent, or what was waited for."""

    uses = ("value",)
    value: Value
    how: Suspension


@dataclass(slots=True, eq=False)
class Enter(Instruction):
    uses = ("manager",)
    manager: Value
    asynchronous: bool = False


@dataclass(slots=True, eq=False)
class Exit(Instruction):
    """A context manager is left; with an `exception`, the result says whether that goes no further."""

    uses = ("manager", "exception")
    manager: Value
    exception: Value | None
    asynchronous: bool = False


@dataclass(slots=True, eq=False)
class Opaque(Instruction):
    """What is not lowered: it may do anything with what it reads and writes, and may be left at any exit of the code object."""

    reads: tuple[Variable, ...]
    writes: tuple[Variable, ...]


# the last instruction of a block
ENDS = (Next, Branch, Jump, Return, Raise)
# these raise nothing
SILENT = (Constant, Parameter, Part, Jump, Return, Catch, MakeFunction)
