"""What a run has seen: the facts that rules ask for. Nothing here judges."""

from __future__ import annotations

import ast
import enum
from dataclasses import field
from typing import TYPE_CHECKING

from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import Update
from graphfix.autograd.graph import Leaf, Node, Write
from graphfix.autograd.iteration import Context, LoopEntry
from graphfix.autograd.severed import Severed
from graphfix.interpreter.values import Function, Instance, Keywords, Value
from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.interpreter.frames import CallStack, Env, Frame
    from graphfix.source.document import Document


class StoreKind(enum.Enum):
    """How a value gets into a place."""

    ASSIGNED = "="
    AUGMENTED = "+="
    ITEM = "for"
    ENTERED = "with"
    APPENDED = "append"
    EXTENDED = "extend"
    UPDATED = "update"
    WRITTEN = "in place"


@dataclass(eq=False)
class Store:
    """A value was put into a variable, attribute, item or container.

    `target` is the name, attribute or subscript written to (the container's expression for `append`), `place` what
    identifies the location in this run, `value_site` the expression of what was stored. `old` are the nodes
    that the place held before, `beside` those that a container already held.
    """

    site: ast.AST
    trace: CallStack
    context: Context
    place: tuple[object, object]
    target: ast.AST
    value_site: ast.expr | None
    value: Value
    nodes: tuple[Node, ...]
    kind: StoreKind
    old: tuple[Node, ...] = ()
    order: int = 0
    holder: Value | None = None
    beside: tuple[Node, ...] = ()


@dataclass(eq=False)
class Boundary:
    """What was carried into the second iteration of a loop, or one after it.

    `held`: name to (value, its nodes, whether some of its graph is freed, whether some item of it is still alive).
    `contents`: name to the value as it was then: containers change.
    `first`: those names to what they were at the start of the first iteration, and whether a detach would have cut nothing there.
    `spent`: the names that leave that iteration with a graph of which some is freed.
    """

    entry: LoopEntry
    frame: Frame | None
    held: dict[str, tuple[Value, tuple[Node, ...], bool, bool]]
    contents: dict[str, Value]
    first: dict[str, tuple[Value, bool]]
    order: int
    spent: set[str] = field(default_factory=set)


class ReadKind(enum.Enum):
    """What is made of a value: `x[0]` as torch 0.3 had it, what only a tensor can, what nobody knows, a trained parameter."""

    INDEXED = enum.auto()
    AS_TENSOR = enum.auto()
    OUT_OF_SIGHT = enum.auto()
    OPTIMIZED = enum.auto()


@dataclass(eq=False)
class Read:
    """A number was read, or a tensor-only use was made, of a value."""

    site: ast.AST
    trace: CallStack
    value: Value
    kind: ReadKind


@dataclass(eq=False)
class Number:
    """Python took the number out of a tensor: `float(x)`, `math.exp(x)`, `x.item()`. `position` is that of the argument."""

    site: ast.AST
    trace: CallStack
    value: Value
    how: str
    position: int
    grad_enabled: bool


class AliasKind(enum.Enum):
    """What makes a tensor that shares memory and continues no graph; and a test for the type that such tensors had."""

    DATA = "data"
    VARIABLE = "Variable"
    TYPE = "type"


@dataclass(eq=False)
class Alias:
    """`x.data` or `Variable(x)` was read: `made` shares the memory of `source` and continues no graph.

    Of `type(x) == Variable`, both are the tensor `x`.
    """

    site: ast.AST
    trace: CallStack
    source: Value
    made: Value
    kind: AliasKind
    keywords: Keywords = field(default_factory=dict)


@dataclass(eq=False)
class Seed:
    """A walk was given the gradient to start with."""

    site: ast.Call
    trace: CallStack
    root: Value
    gradient: Value


@dataclass(frozen=True, eq=False)
class Use:
    """An expression that was added, stored or passed on had a value with these nodes."""

    nodes: tuple[Node, ...]
    value: Value
    order: int


@dataclass(eq=False)
class Foreign:
    """Code that is not in sight was called: `callee` is its key, `receiver` the object of which it is a method."""

    site: ast.AST
    trace: CallStack
    callee: object
    order: int
    receiver: Value | None = None


@dataclass(eq=False)
class Handed:
    """Code that is not in sight got hold of `values`, and has them when it is called again. `made`: what it gave back."""

    order: int
    values: tuple[Value, ...]
    made: Value | None = None


@dataclass(eq=False)
class Mode:
    """`train()` or `eval()` was called on a `module`."""

    site: ast.AST
    trace: CallStack
    training: bool | None
    order: int
    module: Value | None = None


@dataclass(frozen=True, eq=False)
class Telling:
    """A call that shows a fault by itself: torch refuses it, so that the program ends there, or it does not reach what it is meant for."""

    site: ast.AST
    trace: CallStack


@dataclass(frozen=True, eq=False)
class Unregistered(Telling):
    """An optimizer is made for a module of which an attribute holds layers in a plain list or dict: it gets none of their parameters."""

    holder: Instance
    attribute: str
    leaves: frozenset[Leaf]


@dataclass(frozen=True, eq=False)
class LeafWrite(Telling):
    """A leaf that requires grad, or a view of one, is written in place while operations are recorded. `node`: that of the view."""

    leaf: Leaf
    target: ast.AST | None
    node: Node | None
    is_total: bool


@dataclass(frozen=True, eq=False)
class Unused(Telling):
    """A gradient is asked for an input that the outputs are not computed from. `place`: its expression."""

    node: Node
    root: Node
    place: ast.expr


@dataclass(frozen=True, eq=False)
class Ungraded(Telling):
    """A gradient is asked for a tensor that needs none: data, or a frozen parameter. `place`: its expression; `leaf`: that, where it is one."""

    place: ast.expr
    leaf: Leaf | None


@dataclass(frozen=True, eq=False)
class GradientRead:
    """The `.grad` of a tensor is read. `node`: what has made it; None for a leaf."""

    site: ast.Attribute
    node: Node | None
    order: int


@dataclass(frozen=True, eq=False)
class Bare(Telling):
    """A backward pass from a tensor that has no graph. `severed`: where it has lost it.

    `flag`: where the tensor was told to require grad all the same, so that nothing raises, and nothing is trained; `others`: of what else
    it was computed from, which has lost its graph in the same way.
    """

    site: ast.Call
    severed: Severed | None
    receiver: ast.expr | None
    flag: ast.AST | None = None
    others: tuple[Severed, ...] = ()


@dataclass(frozen=True, eq=False)
class Unreduced(Telling):
    """A backward pass from a tensor of several elements, without a gradient to start with: `made` gives a value for each sample."""

    site: ast.Call
    root: Node
    made: ast.AST
    receiver: ast.expr | None


@dataclass(frozen=True, eq=False)
class Held:
    """A tensor with a graph that an object holds. `path`: what to write behind the object to come to it; None where that is not known.

    `within`: the same of the list or dict that holds the tensor, where it lies in one that an attribute holds.
    """

    node: Node
    value: Value
    path: str | None
    within: str | None = None


@dataclass(frozen=True, eq=False)
class Copied(Telling):
    """`copy.deepcopy` was called on an object that holds tensors with a graph, which torch refuses to copy."""

    site: ast.Call
    order: int
    value: Value
    held: tuple[Held, ...]


@dataclass(frozen=True, eq=False)
class CompiledCall:
    """A call of what `compiled_at` has compiled, with the first and the last moment of it."""

    site: ast.AST
    compiled_at: ast.AST
    first: int
    last: int


@dataclass(eq=False)
class Recording:
    """The record of one run.

    `asks`: where gradients are asked for, or grad mode is set; `builds`: where modules are made; `cuts`: nodes that the program
    detaches, and the iterations in which it does; `choices`: those out of which it takes a number or an index. `written`: tensors that
    were written in place, and whether that may have given them a graph or another shape. `empty`: where a tensor without a graph is
    walked, `bare`: with what is known of it; `unhooked`: where the gradient of one is asked for, or read; `retained`: who keep theirs. `copies`:
    of objects that hold graphs. `unreduced`: walks from what has several elements.
    `leaf_writes`: writes that torch refuses. `unused`: inputs without a way to them; `ungraded`: those that need no gradient.
    `reached`: parameters that the program asked for, or handed on; `switches`: the functions, and the items of `with`, that record nothing.
    `gradients_in`: the files in which it read a gradient, `gradient_reads`: that of a tensor; `unregistered`: what modules keep from optimizers. `optimizers`:
    where they are made, with what they are given. `loaded`: parameters that were loaded; `unrecorded`: those that code which records
    nothing has read, and where; `partial`: what was made of graphs and of a value that has lost its own. `passed_over`: the items of
    long containers that a loop over them did not come to. `given`: what code that is not in sight got hold of; `kept`: what
    was put into attributes. `covered`: the sides of branches that were taken, with the function that they stand in; `passed`: the
    last branches of an `if` without `else` that were passed by, with the question that decided it; `tried`: the
    branches that an exception may leave without an end of the run. `frozen`: keys of unknown values, of which something was told to
    need no gradient, and `freezes`: where; `thaws`: whether something unknown was told to need one; `sets_gradients`: whether the
    program sets a gradient itself; `networks`: those of networks whose parameters need one,
    as far as nobody out of sight has got hold of them. `ended_by`: what broke the run off; `left`: what it had in hand where its steps
    ended, and might have walked. `receiver`: the object whose method was run. `optimized`: what stands for the parameters of modules
    that are not in sight, by the keys of these, once an optimizer has them. `single`: what has one element, or a part of it has, where
    it is `divided`, or has a dimension. `compiled`: modules and functions that were compiled, and where; `compiled_calls`: the
    calls of these. `memos`: what functions whose results are kept have given, by the arguments. `executed`: the statements that were
    run, `recorded`: with gradients enabled; `defined`: those that were run before, for all runs that begin with the same definitions.
    `settled`: the branches that the answer at an earlier one decides: which one that is, and whether it is taken where this one is not.
    """

    walks: list[BackwardPass] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    asks: list[CallStack] = field(default_factory=list)
    builds: list[CallStack] = field(default_factory=list)
    cuts: dict[Node, list[Context]] = field(default_factory=dict)
    choices: dict[Node, list[Context]] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    legacy: list[Read] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)
    written: list[tuple[Value, bool]] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)
    kept: list[Value] = field(default_factory=list)
    misuses: list[Read] = field(default_factory=list)
    empty: list[ast.AST] = field(default_factory=list)
    bare: list[Bare] = field(default_factory=list)
    unhooked: list[ast.AST] = field(default_factory=list)
    retained: set[Node] = field(default_factory=set)
    copies: list[Copied] = field(default_factory=list)
    unreduced: list[Unreduced] = field(default_factory=list)
    leaf_writes: list[LeafWrite] = field(default_factory=list)
    unused: list[Unused] = field(default_factory=list)
    ungraded: list[Ungraded] = field(default_factory=list)
    reached: set[Leaf] = field(default_factory=set)
    switches: set[ast.AST] = field(default_factory=set)
    gradient_reads: list[GradientRead] = field(default_factory=list)
    gradients_in: set[Document] = field(default_factory=set)
    unregistered: list[Unregistered] = field(default_factory=list)
    optimizers: list[tuple[ast.AST, tuple[Value, ...]]] = field(default_factory=list)
    loaded: set[Leaf] = field(default_factory=set)
    unrecorded: dict[Leaf, Severed] = field(default_factory=dict)
    partial: dict[Node, Severed] = field(default_factory=dict)
    passed_over: dict[Value, list[Value]] = field(default_factory=dict)
    proven: set[Node] = field(default_factory=set)
    single: set[Node] = field(default_factory=set)
    divided: set[Node] = field(default_factory=set)
    modules: set[object] = field(default_factory=set)
    frozen: set[object] = field(default_factory=set)
    freezes: dict[ast.AST, None] = field(default_factory=dict)
    networks: set[object] = field(default_factory=set)
    thaws: bool = False
    sets_gradients: bool = False
    escapes: dict[Node, list[tuple[ast.AST, str, int]]] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)
    asked: dict[ast.AST, bool] = field(default_factory=dict)
    covered: dict[tuple[ast.AST, bool], ast.AST] = field(default_factory=dict)
    passed: dict[ast.AST, object] = field(default_factory=dict)
    tried: set[ast.AST] = field(default_factory=set)
    executed: set[ast.AST] = field(default_factory=set)
    recorded: set[ast.AST] = field(default_factory=set)
    settled: dict[ast.AST, tuple[ast.AST, bool]] = field(default_factory=dict)
    defined: frozenset[ast.AST] = frozenset()
    entered: set[ast.AST] = field(default_factory=set)
    graphs: dict[ast.expr, list[Use]] = field(default_factory=dict)
    plain: set[ast.expr] = field(default_factory=set)
    returned: dict[Frame, Value] = field(default_factory=dict)
    ended_by: type[BaseException] | None = None
    left: list[Node] = field(default_factory=list)
    env: Env | None = None
    receiver: Value | None = None
    optimized: dict[object, Leaf] = field(default_factory=dict)
    compiled: dict[Value, ast.AST] = field(default_factory=dict)
    compiled_calls: list[CompiledCall] = field(default_factory=list)
    memos: dict[Function, dict[object, Value]] = field(default_factory=dict)

    @property
    def shows_graphs(self) -> bool:
        """Whether the run has met a graph, or what is known to be used for one: a module, an optimizer."""
        met = (self.walks, self.asks, self.empty, self.builds, self.modules, self.frozen, self.modes, self.updates)
        return any(met) or any(node.certain or node.leaves for node in self.nodes)

    def is_without(self, statements: set[ast.AST]) -> bool:
        """Whether none of these statements was run."""
        return statements.isdisjoint(self.executed) and statements.isdisjoint(self.defined)

    def concerned(self) -> set[ast.AST]:
        """The functions that were at work where graphs were made, put away, walked or read; what may be one is none here."""
        made = (node.trace for node in self.nodes if self.is_graph(node))
        stores = (store.trace for store in self.stores if any(map(self.is_graph, store.nodes)))
        reads = (read.trace for read in self.numbers if read.value.node is not None and self.is_graph(read.value.node))
        traces = {
            *made, *(walk.trace for walk in self.walks), *stores, *self.asks, *self.builds,
            *(update.trace for update in self.updates), *(mode.trace for mode in self.modes), *reads,
        }  # fmt: skip
        return {frame.definition for trace in traces for frame, _ in trace}

    def let_go(self) -> None:
        """End the run: nodes and stores, calls and their variables hold one another."""
        if self.env is not None:
            self.env.let_go()
        for frame in self.returned:
            frame.let_go()
        for node in self.nodes:
            node.trace, node.stores, node.walks, node.freed_by = (), [], [], None
        vars(self).clear()

    def is_graph(self, node: Node) -> bool:
        """Whether a node is surely one of a graph, as far as this run knows, and not what an unknown value would have as a tensor."""
        return node.certain or bool(node.leaves or node.walks) or node.callee in self.modules
