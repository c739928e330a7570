"""One run of the tape over a program: the state that statements and expressions change.

A run is one path. Where the program does not say which way a branch goes, the run's `Policy` does; the same question
(same operation on the same values) gets the same answer for the whole run. `explore` makes several runs, so that
"on every path" and "on some path" are read off by comparing them; nothing is ever joined, so aliasing is exact.
"""

from __future__ import annotations

import ast
import collections
import collections.abc
from collections.abc import Callable, Iterable
from typing import Any

from graphfix.autograd.backward import BackwardPass, WalkKind, walk
from graphfix.autograd.graph import Leaf, Node
from graphfix.autograd.iteration import Context, LoopEntry
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.interpreter.frames import CallStack, Env, Frame
from graphfix.interpreter.interning import interned, kind_of
from graphfix.interpreter.recording import Mode, Read, ReadKind, Recording, Unreduced, Update, Use
from graphfix.interpreter.severed import note_bare
from graphfix.interpreter.shapes import has_dimension
from graphfix.interpreter.values import (
    Arguments,
    Instance,
    Keywords,
    Mapping,
    Parameters,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    held_leaves,
    leaves_in,
    nodes_in,
)
from graphfix.lazy_dataclass import dataclass

Statements = collections.abc.Sequence[ast.stmt]
MAX_DEPTH = 12
HOLDING = (Tensor, Sequence, Mapping, Instance, TorchModule)  # what may hold the memory of a tensor
MAX_STEPS = 30_000
NODES_OF_A_STEP = 32  # that a backward pass comes to


class OutOfSteps(Exception):
    """A statement, or the whole run, has used up its budget; what it has seen so far stands."""


# what ends a run, or a statement of it, before its end
LIMITS = (OutOfSteps, RecursionError)


class Stop(Exception):
    """Control leaves the block: base of those below."""


class BreakLoop(Stop):
    pass


class ContinueLoop(Stop):
    pass


class Return(Stop):
    pass


class Raise(Stop):
    pass


class Suspend(Stop):
    """A generator that is a context manager has come to its `yield`, with `value`, and waits for the block of the `with`.

    `rest`: what it does behind it, the innermost first: each wraps what lies further inside. `tries`: its handlers that wait meanwhile.
    """

    def __init__(self, value: Value, grad_enabled: bool) -> None:
        super().__init__()
        self.value = value
        self.grad_enabled = grad_enabled
        self.rest: list[Callable[[Callable[[], None]], None]] = []
        self.tries = 0


class Contradicted(Exception):
    """The code refuses what the run had decided earlier: `key` is the question, `answer` the other answer."""

    def __init__(self, key: object, answer: bool) -> None:
        super().__init__(key, answer)
        self.key = key
        self.answer = answer


# kinds of keys of what is taken out of an unknown value, and may stand on its node
PARTS = frozenset(("item", "attribute", "next", "match"))


def is_part(value: Value) -> bool:
    """Whether a value is taken out of an unknown one, and has no node of its own."""
    return (
        isinstance(value, Unknown)
        and value.node is not None
        and kind_of(value.key) in PARTS
        and kind_of(value.node.callee) != "element"
    )


def mode_key(module: Value) -> object:
    return module.key if isinstance(module, Unknown) else module.serial


@dataclass(frozen=True)
class Handlers:
    """What the parts of the interpreter ask of one another; each is given the interpreter first."""

    evaluate: Callable[[Interpreter, ast.expr], Value]
    execute: Callable[[Interpreter, Statements], None]
    call: Callable[[Interpreter, Value, Arguments, Keywords, ast.AST], Value]
    call_method: Callable[[Interpreter, Value, str, Arguments, Keywords, ast.AST], Value]
    get_attribute: Callable[[Interpreter, Value, str, ast.AST], Value]
    within: Callable[[Interpreter, Value, ast.AST, Callable[[Value], None]], None]


@dataclass(frozen=True)
class Models:
    """What the interpreter asks of what it has no code of: torch, Python's own functions, other libraries.

    `methods` are asked in order, until one knows the method.
    """

    arithmetic: Callable[[Interpreter, ast.AST, Value, Value, ast.operator], Value]
    in_place: Callable[[Interpreter, ast.AST, Value, Value, ast.operator], Value]
    library_attribute: Callable[[Interpreter, Any, str, ast.AST], Value]
    call_torch: Callable[[Interpreter, str, Arguments, Keywords, ast.AST], Value]
    call_library: Callable[[Interpreter, str, Arguments, Keywords, ast.AST], Value]
    make_layer: Callable[[Interpreter, str, Arguments, Keywords, ast.AST], Value]
    call_layer: Callable[[Interpreter, Any, Arguments, Keywords, ast.AST], Value]
    launched: Callable[[Interpreter, Arguments, Keywords, Any], Value | None]
    methods: tuple[Callable[[Interpreter, Value, str, Arguments, Keywords, ast.AST], Value | None], ...]


class Interpreter:
    """State of one run, and what its handlers and models call each other through: none of them imports another in a circle.

    `importer` resolves imports: dotted name to the value of that module, or None.
    """

    def __init__(
        self, policy: Callable[..., bool], importer: Callable[[Interpreter, str, Env], Value | None], handlers: Handlers,
        models: Models,
    ) -> None:  # fmt: skip
        self.policy = policy
        self.importer = importer
        self.handlers = handlers
        self.models = models
        self.recording = Recording()
        self.context: Context = ()
        self.grad_enabled = True
        self.switched_off_at: ast.AST | None = None  # by a statement, for all that follows
        self.thread: object = None
        self.training: bool | None = None
        self.modes: dict[object, tuple[Value, bool | None]] = {}
        self.frames: list[Frame] = []
        self.decisions: dict[object, bool] = {}
        self.asked_first: dict[object, tuple[ast.AST, bool]] = {}
        self.formalities: dict[object, ast.AST] = {}  # where a decorator has come to a question first
        self.corrections = 0  # how often the run may still begin anew with another answer
        self.recalled: object = None  # the last question, where it had been decided before it was asked
        self.active: dict[object, int] = {}
        self.tries = 0  # handlers that wait for what is raised
        self.decorates = False  # whether a decorator of the project runs
        self.in_passing = False  # whether one runs that cannot switch recording off or on
        self.imported: dict[str, Unknown] = {}  # objects out of files that cannot be read, by qualified names
        self.hooked_at: ast.AST | None = None  # where a module that is not known, or some of its parts, got a forward hook
        self.steps = 0
        self.most = MAX_STEPS
        self.blocks = 0  # blocks of statements, each in a statement of the one before, that have others behind it
        self.laborious: set[ast.AST] = set()  # decorators and statements that take too many of them
        self.turns: collections.Counter[ast.AST] = collections.Counter()  # iterations of each loop
        self.has_graphs = False  # whether any node was made
        self.order = 0
        self.conventions = NO_CONVENTIONS
        self._walkable: set[Node] = set()
        self._walkable_until = 0
        self.substitutions: dict[ast.AST, Callable[[Interpreter, ast.AST, Value], Value]] = {}

    def let_go(self) -> None:
        """End the run, and what it has recorded."""
        self.recording.let_go()
        vars(self).clear()

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def tick(self, cost: int = 1) -> None:
        """Count a step, or what takes as long as `cost` of them; raises `OutOfSteps` behind the last."""
        self.steps += cost
        if self.steps > self.most:
            self.recording.left.extend(self.in_hand())
            raise OutOfSteps

    def now(self) -> int:
        self.order += 1
        return self.order

    def trace(self) -> CallStack:
        return self.frames[-1].trace() if self.frames else ()

    # The language

    def evaluate(self, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        return self.handlers.evaluate(self, node)

    def execute(self, body: Statements) -> None:
        """Run a block of statements."""
        self.handlers.execute(self, body)

    def call(self, callee: Value, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
        """Call `callee`."""
        return self.handlers.call(self, callee, arguments, keywords, site)

    def call_method(self, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
        """Call a method that no code of the project defines."""
        return self.handlers.call_method(self, receiver, name, arguments, keywords, site)

    def get_attribute(self, value: Value, name: str, site: ast.AST) -> Value:
        """`value.name`."""
        return self.handlers.get_attribute(self, value, name, site)

    def within(self, manager: Value, site: ast.AST, body: Callable[[Value], None]) -> None:
        """Run `body`, which is given what the context gives, in a context."""
        self.handlers.within(self, manager, site, body)

    def arithmetic(self, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
        """`left op right`."""
        return self.models.arithmetic(self, site, left, right, op)

    def in_place(self, site: ast.AST, left: Value, right: Value, op: ast.operator) -> Value:
        """`left op= right`."""
        return self.models.in_place(self, site, left, right, op)

    def library_attribute(self, value: Value, name: str, site: ast.AST) -> Value:
        """`value.name` where torch defines it."""
        return self.models.library_attribute(self, value, name, site)

    # Decisions

    def decide(self, key: object, site: ast.AST, negated: bool = False) -> bool:
        """Which way an undecided question goes in this run; `negated` where the branch is taken when the answer is no."""
        self.recalled = key if key in self.decisions else None
        if self.frames:
            self.frame.decided = key
        if key in self.decisions:
            if key in self.formalities and not self.in_passing:
                self.recording.asked[self.formalities[key]] = True
            if key in self.asked_first:
                first, other_way = self.asked_first[key]
                self.recording.settled.setdefault(site, (first, other_way is not negated))
            return self.decisions[key]
        if self.in_passing:
            self.formalities[key] = site
        iteration = self.context[-1][1] if self.context else 0
        answer = self.ask(site, iteration, key, negated) is not negated
        self.decisions[key] = answer
        self.asked_first[key] = site, negated
        return answer

    def ask(self, site: ast.AST, iteration: int, key: object = None, negated: bool = False) -> bool:
        """Whether the policy takes the branch at `site`; what only decorators ask decides about no graph."""
        self.recording.asked[site] = self.recording.asked.get(site, False) or not self.in_passing
        return self.policy(site, iteration, key, negated)

    # Modules

    def set_mode(self, module: Value, parts: Iterable[Value], training: bool | None, site: ast.AST) -> None:
        """`train()` or `eval()` of a module: it and its `parts` are in this mode from now on."""
        for each in (module, *parts):
            self.modes[mode_key(each)] = (each, training)
        self.recording.modes.append(Mode(site, self.trace(), training, self.now(), module))

    def mode_of(self, module: Value) -> bool | None:
        """The mode that was set for `module`, or that of the module which calls it."""
        return self.modes.get(mode_key(module), (None, self.training))[1]

    # Loops

    def loop(self, site: ast.AST) -> LoopEntry:
        return LoopEntry(site, self.frames[-1] if self.frames else None)

    # Graph

    def record(
        self, site: ast.AST, inputs: Iterable[Value], saves: bool, *, leaves: tuple[Leaf, ...] = (), certain: bool = True,
        callee: object = None, force: bool = False, save_leaves: bool | None = None,
    ) -> Node | None:  # fmt: skip
        """The node that an operation on `inputs` makes, or None where autograd records nothing."""
        if not self.grad_enabled:
            return None
        parents: dict[Node, None] = {}
        direct: list[Leaf] = [leaf for leaf in leaves if leaf.requires_grad]
        lost: Severed | None = None
        for value in inputs:
            if isinstance(value, Tensor) and value.leaf is not None and value.leaf.requires_grad:
                direct.append(value.leaf)
            elif value.node is not None:
                parents[value.node] = None
            elif isinstance(value, (Sequence, Mapping)) or isinstance(value, Instance) and value.is_record():
                parents.update(dict.fromkeys(self.held_in(value)))
                direct.extend(leaf for leaf in held_leaves(value) if leaf.requires_grad)
            elif isinstance(value, Tensor) and value.severed is not None:
                lost = value.severed
        if not parents and not direct and not force:
            return None
        if certain and not direct:
            certain = any(parent.certain for parent in parents)
        if save_leaves is None:
            save_leaves = saves and (bool(parents) or len(direct) > 1)
        self.has_graphs = True
        node = Node(
            site, self.trace(), self.context, tuple(parents), saves, tuple(direct), save_leaves, certain, interned(callee)
        )
        node.order = self.now()
        node.training = self.training
        self.recording.nodes.append(node)
        if lost is not None:
            self.recording.partial[node] = lost
        return node

    def parameter(self, parameters: Parameters, site: ast.AST) -> Tensor:
        """One of a module's parameters, which stands for all of them."""
        made = Tensor(self.record(site, [], False, leaves=tuple(leaves_in(parameters))))
        if made.node is None and parameters.cut_at is not None:
            leaves = tuple(leaf for owner in parameters.owners for leaf in leaves_in(owner))
            made.severed = Severed(parameters.cut_at, How.CONSTANT, leaves=leaves)
        return made

    def tensor(self, site: ast.AST, inputs: Iterable[Value], saves: bool = True, **how: object) -> Tensor:
        """The tensor that an operation on `inputs` returns."""
        return Tensor(self.record(site, inputs, saves, **how))

    def unknown(self, site: ast.AST, inputs: Iterable[Value], callee: object = None, key: object = None) -> Unknown:
        """What an unknown call returns: it may be a tensor whose graph runs through all inputs."""
        node = self.record(site, inputs, True, certain=False, callee=callee, force=callee is not None)
        return Unknown(key or ("call", site, self.now()), node)

    def latent(self, site: ast.AST, inputs: Iterable[Value] = (), callee: object = None) -> Node | None:
        """The node of what is made here of `inputs` without a known graph, if one of them, or code that is not followed, turns out to bring one."""
        if not self.grad_enabled or callee is None and not any(map(may_bring_graph, inputs)):
            return None
        node = Node(site, self.trace(), self.context, (), True, (), True, False, interned(callee))
        node.order, node.training = self.now(), self.training
        return node

    def element(self, value: Unknown, slot: object, site: ast.AST) -> Node | None:
        """The graph of one element of what an unknown call returned: the others may have another one, or be no tensors.

        It is as old as what it is an element of.
        """
        whole = value.node
        if whole is None or whole.callee is None:
            return whole
        callee = interned(("element", whole.callee, slot))
        node = Node(site, whole.trace, whole.context, (whole,), False, (), False, False, callee)
        node.order, node.training = whole.order, whole.training
        self.recording.nodes.append(node)
        return node

    def backward(
        self, site: ast.Call, roots: list[Value], *, retains: bool = False, creates: bool = False, keyword: object = None,
        kind: WalkKind = WalkKind.METHOD, receiver: ast.expr | None = None,
        targets: tuple[frozenset[Node], frozenset[Leaf]] | None = None, proves: bool = False,
    ) -> BackwardPass | None:  # fmt: skip
        """Walk the graphs of `roots`; None where there are none. `proves`: it takes one-element tensors only, as `Tensor.backward` does."""
        nodes: list[Node] = []
        self.recording.asks.append(self.trace())
        for root in roots:
            self.ensure_graph(root, site)
            nodes.extend(nodes_in(root, attributes=False))
        if not nodes:
            note_bare(self, site, roots, receiver)
            return None
        event = BackwardPass(
            site, self.trace(), self.context, tuple(dict.fromkeys(nodes)), retains or creates, creates, keyword, kind,
            self.now(), receiver, targets, self.thread,
        )  # fmt: skip
        walk(event)
        self.recording.walks.append(event)
        self.tick(len(event.nodes) // NODES_OF_A_STEP)
        if kind in (WalkKind.METHOD, WalkKind.TRAINER) or proves:
            self.recording.proven.update(event.roots)
        if kind is WalkKind.METHOD or proves:
            given = site.args if kind is WalkKind.METHOD else site.args[1:]
            if not given and all(keyword.arg not in ("gradient", None) for keyword in site.keywords):
                self.recording.unreduced.extend(
                    Unreduced(site, self.trace(), root.node, root.unreduced, receiver)
                    for root in roots
                    if isinstance(root, Tensor) and root.node is not None and root.unreduced is not None
                )
                self.recording.single.update(event.roots)
                divided = (root.node for root in roots if is_part(root) or has_dimension(root))
                self.recording.divided.update(node for node in divided if node is not None)
        return event

    def ensure_graph(self, value: Value, site: ast.AST) -> None:
        """`value.backward()` proves a graph: one that was made outside of what is simulated, where none is known."""
        if not isinstance(value, (Unknown, Tensor)) or value.node is not None or not self.grad_enabled:
            return
        if value.latent is not None:
            self.has_graphs = True
            value.node = value.latent
            self.recording.nodes.append(value.node)
        elif isinstance(value, Tensor):
            return
        elif value.made_of is not None:
            source, made_at = value.made_of
            self.ensure_graph(source, site)
            value.node = self.record(made_at, [source], True, certain=False)
        else:
            self.has_graphs = True
            value.node = Node(site, self.trace(), (), (), True, (), True, False, interned(("given", value.key)))

    @property
    def walkable(self) -> set[Node]:
        """Collects the nodes through which a walk would not raise, up to the walk that may free some of them."""
        if self._walkable_until != len(self.recording.walks):
            self._walkable_until = len(self.recording.walks)
            self._walkable = set()
        return self._walkable

    def write_leaf(self, leaf: Leaf, site: ast.AST | None) -> None:
        """A parameter is written to in place: as by a step, what saved it is stale."""
        leaf.version += 1
        if site is not None:
            self.update(site, True, frozenset((leaf,)))

    def update(
        self, site: ast.AST, steps: bool, leaves: frozenset[Leaf], complete: bool = True, guessed: frozenset[Leaf] = frozenset(),
        zeros: bool = False,
    ) -> None:  # fmt: skip
        """A step with the gradients of `leaves`, or their clearing, here and now."""
        made = Update(site, self.now(), steps, leaves, self.trace(), complete, guessed, self.is_ahead, zeros)
        self.recording.updates.append(made)

    @property
    def is_ahead(self) -> bool:
        """Whether a generator is at work behind a `yield`: it is run to its end where it is called, before whoever takes its items."""
        return any(frame.yielded for frame in self.frames)

    def held_in(self, value: Value) -> list[Node]:
        """The nodes that a value and the containers in it hold; large tables that are made before any graph are not looked through."""
        return nodes_in(value, attributes=False, depth=3) if self.has_graphs else []

    def in_hand(self) -> list[Node]:
        """The nodes that active calls may still do something with: those in their variables, and of the statements that they are at."""
        held = [node for frame in self.frames for value in frame.env.in_reach() for node in nodes_in(value)]
        active = {frame: frame.statement for frame in self.frames}
        return held + [node for node in self.recording.nodes if node.trace and active.get(node.trace[-1][0]) is node.trace[-1][1]]

    def escape(self, value: Value, site: ast.AST, why: str) -> None:
        """Code that is not simulated gets hold of `value`: it may call backward() on its graph, with all that lies below."""
        self.recording.given.append(value)
        pending = nodes_in(value) if self.has_graphs else []
        while pending:
            node = pending.pop()
            known = node in self.recording.escapes
            self.recording.escapes.setdefault(node, []).append((site, why, self.order))
            if not known:
                pending.extend(node.parents)

    def note_reader(self, value: Value, site: ast.AST) -> None:
        """A number that a repair made reaches code that is not known: it may have wanted the tensor."""
        stack = [value]
        for item in stack:
            if item.cut is not None:
                self.recording.misuses.append(Read(site, self.trace(), item, ReadKind.OUT_OF_SIGHT))
            elif isinstance(item, (Sequence, Mapping)) and len(stack) < 60:
                stack.extend(item.items.values() if isinstance(item, Mapping) else item.items)

    def names_of(self, rebound: set[str] | None, holds: Callable[[Value], bool]) -> Iterable[str]:
        """The variables of all active calls of which this holds, but for the names `rebound` (None: all) of the innermost one."""
        seen: set[int] = set()
        for frame in reversed(self.frames):
            env: Env | None = frame.env
            own = frame is self.frames[-1]
            while env is not None and id(env) not in seen:
                seen.add(id(env))
                for name, value in env.variables.items():
                    if not isinstance(value, HOLDING) or own and (rebound is None or name in rebound):
                        continue
                    if holds(value):
                        yield name
                own, env = False, env.parent

    def note_cut(self, value: Value) -> None:
        """The program detaches `value` itself."""
        if value.node is not None:
            self.recording.cuts.setdefault(value.node, []).append(self.context)

    def note_choice(self, value: Value) -> None:
        """The program takes a number, an index or an answer out of `value`: no gradient goes there."""
        if value.node is not None:
            self.recording.choices.setdefault(value.node, []).append(self.context)

    def note_use(self, expression: ast.expr | None, value: Value) -> None:
        """Remember whether `expression`, which is added, stored or passed on, carries a graph."""
        if expression is None:
            return
        if value.is_plain:
            self.recording.plain.add(expression)
            return
        nodes = (value.node,) if value.node is not None else tuple(self.held_in(value))
        if nodes:
            self.recording.graphs.setdefault(expression, []).append(Use(nodes, value, self.now()))


def may_bring_graph(value: Value) -> bool:
    """Whether a value without a known graph may turn out to have one: it is not known, or made of what is not."""
    return isinstance(value, Unknown) and not value.outside or isinstance(value, Tensor) and value.node is None and value.latent is not None
