"""What a name, attribute or item may hold while the tape runs. Identity is aliasing: containers, instances and tensors are mutable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphfix.autograd.graph import Leaf, Node, Storage
from graphfix.interpreter.interning import interned

if TYPE_CHECKING:
    from graphfix.interpreter.frames import Env


class Value:
    """Anything."""

    __slots__ = ()
    node: Node | None = None


# a constant that the program computes is followed up to this length; a sequence, up to this number of items
MAX_TEXT = 1_000
MAX_ITEMS = 40


class Known(Value):
    """A Python constant: number, string, None, slice."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Plain(Value):
    """Data that is surely no tensor (a size, a count, an array), of unknown content.

    `key` names what it was computed from, so that the same question gets the same answer; `first` is set for a
    loop counter in the first (True) or a later (False) iteration; `cut` for a number that a repair under trial made of
    a tensor; `source` is the tensor that an array was read from.
    """

    __slots__ = ("key", "first", "cut", "source")

    def __init__(self, key: object, first: bool | None = None, cut: object = None, source: Value | None = None) -> None:
        self.key = interned(key)
        self.source = source
        self.first = first
        self.cut = cut


class Opaque(Value):
    """Something unknown: it may be a tensor, and `node` is then its graph.

    `outside`: it belongs to a library that knows no tensors (a parser, an environment), so nothing read from it has a graph.
    """

    __slots__ = ("key", "node", "attributes", "items", "outside")

    def __init__(self, key: object, node: Node | None = None, outside: bool = False) -> None:
        self.key = interned(key)
        self.outside = outside
        self.node = node
        self.attributes: dict[str, Value] = {}
        self.items: dict[object, Value] = {}


class Tensor(Value):
    """A tensor: `node` is its grad_fn, `leaf` is set where it is a leaf that may require grad.

    `single`: known to have one element; `shape`: see `shapes`. `base`: the tensor whose memory it shares, or from which it
    was read without its graph. `storage`: its memory, which views of it share.
    """

    __slots__ = ("node", "leaf", "single", "base", "severed", "shape", "storage")

    def __init__(
        self,
        node: Node | None = None,
        leaf: Leaf | None = None,
        single: bool = False,
        base: Value | None = None,
        severed: str = "",
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.node = node
        self.leaf = leaf
        self.single = single
        self.base = base
        self.severed = severed
        self.shape = shape
        self.storage = Storage()


class Sequence(Value):
    """A list, tuple, set, deque or generator with the items that the simulation put into it.

    `open`: it holds more items than the simulated ones, so that an unknown index may be any of them.
    """

    __slots__ = ("kind", "items", "open", "sites", "context", "grad_mode")

    def __init__(self, kind: str, items: list[Value], open_: bool = False) -> None:
        self.kind = kind
        self.items = items
        self.open = open_
        self.sites: list[object] = []
        self.context: object = None
        self.grad_mode: bool | None = None


class Mapping(Value):
    """A dict: constant keys are kept apart, `rest` is what was stored under unknown ones."""

    __slots__ = ("items", "rest", "default", "open", "context")

    def __init__(self, items: dict[object, Value], default: Value | None = None, open_: bool = False) -> None:
        self.items = items
        self.rest: list[Value] = []
        self.default = default
        self.open = open_
        self.context: object = None


class Function(Value):
    """A function of the project; `owner` is the class that it was found in."""

    __slots__ = ("definition", "env", "defaults", "wrappers", "owner", "key")

    def __init__(self, definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, env: Env) -> None:
        self.definition = definition
        self.env = env
        self.defaults: dict[str, Value] = {}
        self.wrappers: list[str] = []
        self.owner: Class | None = None
        self.key = interned(("function", id(definition)))


class Bound(Value):
    """A method read from an object: calling it passes the object first. `name` serves where `function` is not known."""

    __slots__ = ("receiver", "name", "function")

    def __init__(self, receiver: Value, name: str, function: Value | None = None) -> None:
        self.receiver = receiver
        self.name = name
        self.function = function


class Class(Value):
    """A class of the project. `bases` may be classes of libraries (`External`)."""

    __slots__ = ("name", "bases", "attributes", "definition", "fields", "_order")

    def __init__(self, name: str, bases: list[Value], attributes: dict[str, Value], definition: ast.ClassDef | None) -> None:
        self.name = name
        self.bases = bases
        self.attributes = attributes
        self.definition = definition
        self.fields: list[str] | None = None
        self._order: tuple[Value, ...] = ()

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
        return [base.name for base in self.linearised() if isinstance(base, External)]

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
    """An object of a class of the project."""

    __slots__ = ("cls", "attributes", "context", "key")

    def __init__(self, cls: Class, key: object) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = {}
        self.context: object = None
        self.key = interned(key)

    def is_module(self) -> bool:
        return any(name.endswith("Module") for name in self.cls.external_bases())


class Layer(Value):
    """A `torch.nn` module: `kind` is its class; `children` where it is a container of modules."""

    __slots__ = ("kind", "leaf", "children", "names", "frozen", "keywords", "attributes", "site")

    def __init__(self, kind: str, leaf: Leaf | None, children: list[Value] | None = None) -> None:
        self.kind = kind
        self.leaf = leaf
        self.site: ast.AST | None = None
        self.children = children
        self.names: dict[str, Value] = {}
        self.keywords: dict[str, Value] = {}
        self.attributes: dict[str, Value] = {}


class Parameters(Value):
    """What `module.parameters()` gives: the leaves of `owners`, looked up when they are needed."""

    __slots__ = ("owners",)

    def __init__(self, owners: list[Value]) -> None:
        self.owners = owners


class Optimizer(Value):
    """A `torch.optim` optimizer over the leaves of `parameters`."""

    __slots__ = ("kind", "parameters", "attributes")

    def __init__(self, kind: str, parameters: list[Value]) -> None:
        self.kind = kind
        self.parameters = parameters
        self.attributes: dict[str, Value] = {}


class External(Value):
    """A module, class or function of a library, by its qualified name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Project(Value):
    """A module of the project under analysis."""

    __slots__ = ("env", "name")

    def __init__(self, env: Env, name: str) -> None:
        self.env = env
        self.name = name


class Pending(Value):
    """An imported name whose module is only read when the name is used."""

    __slots__ = ("resolve",)

    def __init__(self, resolve: Callable[[], Value]) -> None:
        self.resolve = resolve


class GradMode(Value):
    """A context manager or decorator that sets grad mode; None where the flag is not known."""

    __slots__ = ("enabled",)

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled


class Partial(Value):
    """`functools.partial`."""

    __slots__ = ("function", "arguments", "keywords")

    def __init__(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords


class SuperProxy(Value):
    """`super()` inside of a method."""

    __slots__ = ("receiver", "after")

    def __init__(self, receiver: Value, after: Class) -> None:
        self.receiver = receiver
        self.after = after


NONE = Known(None)
Arguments = list[Value]
Keywords = dict[str, Value]


def is_hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, type(None), bytes))


def members(value: Value, attributes: bool = False) -> Iterator[Value]:
    """What `value` holds directly; with `attributes` also those of instances."""
    if isinstance(value, Sequence):
        yield from value.items
    elif isinstance(value, Mapping):
        yield from value.items.values()
        yield from value.rest
    elif isinstance(value, Instance) and (attributes or value.cls.is_tuple()):
        yield from value.attributes.values()


def nodes_in(value: Value, attributes: bool = True, depth: int = 6) -> list[Node]:
    """The graph nodes that `value` and what it holds refer to, each once."""
    if not isinstance(value, (Sequence, Mapping, Instance)):
        return [value.node] if value.node is not None else []
    found: dict[Node, None] = {}
    seen: set[int] = set()
    stack = [(value, depth)]
    while stack:
        item, left = stack.pop()
        if item.node is not None:
            found[item.node] = None
        if left and isinstance(item, (Sequence, Mapping, Instance)) and id(item) not in seen:
            seen.add(id(item))
            stack.extend((member, left - 1) for member in members(item, attributes))
    return list(found)


def held_leaves(value: Value, depth: int = 3) -> Iterator[Leaf]:
    """The leaf tensors that a container holds, as in `torch.stack([w, b])`; not those of modules."""
    for member in members(value) if depth else ():
        if isinstance(member, Tensor):
            if member.leaf is not None and member.node is None:
                yield member.leaf
        elif isinstance(member, (Sequence, Mapping)):
            yield from held_leaves(member, depth - 1)


def leaves_in(value: Value, seen: set[int] | None = None) -> Iterator[Leaf]:
    """The leaf tensors (parameters) that a module, optimizer argument or container reaches."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (Layer, Tensor)) and value.leaf is not None:
        yield value.leaf
    inner: list[Value] = []
    if isinstance(value, Layer):
        inner = [*(value.children or []), *value.names.values(), *value.attributes.values()]
    elif isinstance(value, (Parameters, Optimizer)):
        inner = value.owners if isinstance(value, Parameters) else value.parameters
    elif isinstance(value, Instance):
        inner = list(value.attributes.values())
    elif isinstance(value, (Sequence, Mapping)):
        inner = list(members(value))
    elif isinstance(value, Bound) and value.name in ("parameters", "named_parameters"):
        inner = [value.receiver]
    for item in inner:
        yield from leaves_in(item, seen)
