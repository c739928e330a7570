"""Functions, classes, their objects, modules, and what belongs to a library."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from graphfix.effects.rows import row_of
from graphfix.interpreter.interning import interned
from graphfix.interpreter.values.value import Value

if TYPE_CHECKING:
    from graphfix.interpreter.frames import Env
    from graphfix.interpreter.interpreter import Interpreter, Stop

# What is done where a context is left: given what has ended its block, which it may keep to itself. Returns what is left of that.
Exit: TypeAlias = "Callable[[Interpreter, Stop | None], Stop | None]"


# what is noted of a function that gives for the same arguments what it gave before:
# https://docs.python.org/3/library/functools.html#functools.cache
KEPT = "kept"


class Function(Value):
    """A function of the project; `owner` is the class that it was found in. `contexts`: the context managers that each call runs in."""

    __slots__ = ("definition", "env", "defaults", "wrappers", "contexts", "owner", "key")

    def __init__(self, definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, env: Env) -> None:
        self.definition = definition
        self.env = env
        self.defaults: dict[str, Value] = {}
        self.wrappers: list[str] = []
        self.contexts: list[Value] = []
        self.owner: Class | None = None
        self.key = interned(("function", definition))

    def _told(self) -> str:
        return f" {getattr(self.definition, 'name', 'lambda')}"


class BoundMethod(Value):
    """A method read from an object: calling it passes the object first. `name` serves where `function` is not known."""

    __slots__ = ("receiver", "name", "function")

    def __init__(self, receiver: Value, name: str, function: Value | None = None) -> None:
        self.receiver = receiver
        self.name = name
        self.function = function

    def parts(self) -> Iterable[Value]:
        return (self.receiver,) if self.name in ("parameters", "named_parameters") else ()

    def _told(self) -> str:
        return f" {self.receiver!r}.{self.name}"


class Class(Value):
    """A class of the project. `bases` may be classes of libraries (`External`)."""

    __slots__ = ("name", "bases", "attributes", "definition", "fields", "_order", "_external")

    def __init__(self, name: str, bases: list[Value], attributes: dict[str, Value], definition: ast.ClassDef | None) -> None:
        self.name = name
        self.bases = bases
        self.attributes = attributes
        self.definition = definition
        self.fields: list[str] | None = None
        self._order: tuple[Value, ...] = ()
        self._external: list[str] | None = None

    def let_go(self) -> None:
        """End it: its methods hold the scope that holds it, and its order begins with itself."""
        self.attributes.clear()
        self._order = ()

    @property
    def namespace(self) -> dict[str, Value]:
        return self.attributes

    def _told(self) -> str:
        return f" {self.name}"

    def linearised(self) -> tuple[Value, ...]:
        """The class and what it inherits from, each once: every class stands before its bases, these in the order named.

        That is the method resolution order wherever Python accepts the bases: https://docs.python.org/3/howto/mro.html.
        """
        if not self._order:
            self._order = _classes_before_bases(self)
        return self._order

    def find(self, name: str) -> Value | None:
        for cls in self.linearised():
            if isinstance(cls, Class) and name in cls.attributes:
                return cls.attributes[name]
        return None

    def external_bases(self) -> list[str]:
        if self._external is None:
            self._external = [base.name for base in self.linearised() if isinstance(base, External)]
        return self._external

    def applies(self, name: str) -> bool:
        """Whether a method of this name, which a library's class has, runs the operation that this one defines."""
        rows = (row_of(f"{base}.{name}") for base in self.external_bases())
        return any(row is not None and row.applies for row in rows)

    def is_module(self) -> bool:
        return any(name.endswith("Module") for name in self.external_bases())

    def is_tuple(self) -> bool:
        """Whether its objects are named tuples: containers whose attributes cannot be set."""
        bases = self.external_bases()
        return self.fields is not None and (self.definition is None or any(base.endswith("NamedTuple") for base in bases))

    def is_frozen(self) -> bool:
        """Whether the attributes of its objects cannot be set: named tuples, frozen dataclasses."""
        decorators = self.definition.decorator_list if self.definition is not None else []
        return self.is_tuple() or any("frozen=True" in ast.unparse(decorator) for decorator in decorators)

    def is_open(self) -> bool:
        """True where a base is not known, so that any method may come from it."""
        return any(not isinstance(base, (Class, External)) for base in self.linearised()) or any(
            name
            not in (
                "object",
                "builtins.object",
                "torch.nn.Module",
                "abc.ABC",
                "Exception",
                "enum.Enum",
                "torch.utils.data.Dataset",
            )
            for name in self.external_bases()
        )


def _classes_before_bases(cls: Class) -> tuple[Value, ...]:
    done: dict[int, Value] = {}
    pending: list[tuple[Value, bool]] = [(cls, False)]
    while pending:
        current, bases_done = pending.pop()
        if id(current) in done:
            continue
        if bases_done or not isinstance(current, Class):
            done[id(current)] = current
        else:
            pending.append((current, True))
            # the last base comes first, for the order is turned round in the end
            pending.extend((base, False) for base in current.bases)
    return tuple(reversed(done.values()))


class Instance(Value):
    """An object of a class of the project. `buffers`: the attributes that a module has registered as such."""

    __slots__ = ("cls", "attributes", "context", "key", "buffers")

    def __init__(self, cls: Class, key: object) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = {}
        self.context: object = None
        self.key = interned(key)
        self.buffers: list[str] = []

    def members(self, attributes: bool = False) -> Iterable[Value]:
        return self.attributes.values() if attributes or self.is_record() else ()

    @property
    def namespace(self) -> dict[str, Value]:
        return self.attributes

    def parts(self) -> Iterable[Value]:
        return self.attributes.values()

    def is_a(self, name: str) -> bool | None:
        if any(base.rsplit(".", 1)[-1] == name for base in self.cls.external_bases()):
            return True
        return None if self.cls.is_open() else False

    def _told(self) -> str:
        return f" of {self.cls.name}"

    def is_record(self) -> bool:
        """Whether it is there to hold its fields: a named tuple or dataclass."""
        return self.cls.fields is not None and not self.is_module()

    def is_module(self) -> bool:
        return self.cls.is_module()


class Partial(Value):
    """`functools.partial`."""

    __slots__ = ("function", "arguments", "keywords")

    def __init__(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords


class Manager(Value):
    """What calling a generator function under `contextlib.contextmanager` gives: a call that begins where the context is entered."""

    __slots__ = ("function", "arguments", "keywords", "site")

    def __init__(self, function: Function, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.site = site


class ExitStack(Value):
    """`contextlib.ExitStack`. `exits`: what is to be done where it ends, the last first."""

    __slots__ = ("exits",)

    def __init__(self) -> None:
        self.exits: list[Exit] = []


class SuperProxy(Value):
    """`super()` inside of a method."""

    __slots__ = ("receiver", "after")

    def __init__(self, receiver: Value, after: Class) -> None:
        self.receiver = receiver
        self.after = after


class External(Value):
    """A module, class or function of a library, by its qualified name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def identity(self) -> object:
        return self.name

    @property
    def truth(self) -> bool | None:
        return None if self.name.count(".") > 1 else True

    def _told(self) -> str:
        return f" {self.name}"


class Project(Value):
    """A module of the project under analysis."""

    __slots__ = ("env", "name")

    def __init__(self, env: Env, name: str) -> None:
        self.env = env
        self.name = name

    @property
    def namespace(self) -> dict[str, Value]:
        return self.env.variables


class Pending(Value):
    """An imported name whose module is only read when the name is used."""

    __slots__ = ("resolve",)

    def __init__(self, resolve: Callable[[], Value]) -> None:
        self.resolve = resolve
