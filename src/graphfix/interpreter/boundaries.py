"""The boundary of an iteration: what crosses it by name, and what of that a detach would change nothing for."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator

from graphfix.autograd.backward import BackwardPass, raises_again
from graphfix.autograd.graph import Node, reaches
from graphfix.autograd.iteration import Context, LoopEntry
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Boundary
from graphfix.interpreter.values import (
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Pending,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    held_leaves,
    nodes_in,
)
from graphfix.source.subtree import kept_with_node, subtree

CALLABLES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# objects in objects are followed so far, and so many of them: `self.model.layers[0].cell.gate.state`
DEPTH = 6
WIDTH = 400
OBJECTS = (Instance, TorchModule)
# what code goes by: no graph is in it
CODE = frozenset((Function, Class, External, Pending))


def visible(frame: Frame, known: tuple[Collection[str], Collection[str]] | None = None) -> dict[str, Value]:
    """The values that a loop's frame can name: variables, attributes of the objects that they hold, and modules in those.

    `known`: only variables of one of these names, and none of a file's definitions and imports.
    """
    names: dict[str, Value] = {}
    env: Env | None = frame.env
    while env is not None:
        seen = env.variables
        if known is not None:
            here, elsewhere = known
            passed = CODE if env.parent is None else ()  # most of a large file's names
            seen = {n: value for n, value in seen.items() if type(value) not in passed and (n in here or n in elsewhere)}
        names = {**names, **{n: value for n, value in seen.items() if n not in names}} if names else dict(seen)
        env = env.parent
    level = [item for item in names.items() if isinstance(item[1], OBJECTS)]
    for _ in range(DEPTH):
        if not level:
            break
        inner = list(itertools.islice((each for name, value in level for each in below(name, value)), WIDTH))
        names.update(inner)
        level = [item for item in inner if isinstance(item[1], OBJECTS)]
    return names


def below(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """What an object or a container of modules gives names to."""
    if isinstance(value, Instance) and not value.cls.is_frozen():
        for attribute, inner in value.attributes.items():
            yield f"{name}.{attribute}", inner
    elif isinstance(value, TorchModule):
        for attribute, inner in value.attributes.items():
            yield f"{name}.{attribute}", inner
        for index, child in enumerate(value.children or () if value.kind in ("Sequential", "ModuleList") else ()):
            yield f"{name}[{index}]", child


def crossing(frame: Frame, loop: ast.AST | None) -> dict[str, Value]:
    """What may cross a loop's boundary: what the loop mentions, or a function that it may call.

    Of containers, which may be large, only those that the loop mentions itself.
    """
    if loop is None:
        return visible(frame)
    mentioned = names_in(loop)
    known = mentioned, names_in_functions(frame.env.document.tree)
    return {
        name: value
        for name, value in visible(frame, known).items()
        if not isinstance(value, (Sequence, Mapping)) or root_of(name) in mentioned
    }


def root_of(name: str) -> str:
    """The variable by which a name begins."""
    return name.partition(".")[0].partition("[")[0]


@kept_with_node
def names_in(loop: ast.AST) -> frozenset[str]:
    return frozenset(part.id for part in subtree(loop) if isinstance(part, ast.Name))


@kept_with_node
def names_in_functions(tree: ast.Module) -> frozenset[str]:
    """The names that functions, classes and lambdas mention: their calls may use a variable that the caller does not mention."""
    callables = (part for part in subtree(tree) if isinstance(part, CALLABLES))
    return frozenset(below.id for part in callables for below in subtree(part) if isinstance(below, ast.Name))


def can_be_detached(value: Value) -> bool:
    return isinstance(value, (Tensor, Unknown, Sequence, Mapping)) or isinstance(value, Instance) and value.cls.is_tuple()


def cuts_nothing(value: Value, walkable: set[Node]) -> bool:
    """Whether detaching `value` here would change no run that works: it has no graph, or one that is freed already.

    `walkable` collects the nodes through which a walk would not raise.
    """
    if not can_be_detached(value):
        return True
    spent = all(raises_again(node, is_certain, walkable=walkable) for node in nodes_in(value, attributes=False))
    leaves = [value.leaf] if isinstance(value, Tensor) and value.leaf is not None else held_leaves(value)
    return spent and not any(leaf.requires_grad for leaf in leaves)


def as_now(value: Value) -> Value:
    """A container as it is now: what it holds later may have another shape."""
    if isinstance(value, Mapping):
        made = Mapping(dict(value.items), value.default, value.open, value.kind)
        made.rest = list(value.rest)
        return made
    return value.copied() if isinstance(value, Sequence) else value


def is_certain(node: Node) -> bool:
    return node.certain


def note_boundary(m: Interpreter, entry: LoopEntry, first: dict[str, tuple[Value, bool]]) -> None:
    """Record what enters the second iteration of a loop, or one after it, with a graph."""
    held: dict[str, tuple[Value, tuple, bool, bool]] = {}
    walkable = m.walkable
    memos = {
        f"{getattr(function.definition, 'name', 'lambda')}()": Sequence("tuple", list(kept.values()))
        for function, kept in m.recording.memos.items()
    }
    for name, value in {**crossing(m.frame, entry.loop), **memos}.items() if m.has_graphs else ():
        if not can_be_detached(value):
            continue
        nodes = nodes_in(value, attributes=False)
        if nodes:
            spent = [raises_again(node, is_certain, walkable=walkable) for node in nodes]
            freed, unfreed = any(spent), not all(spent)
            held[name] = (value, tuple(nodes), freed, unfreed)
    contents = {name: as_now(value) for name, (value, _, _, _) in held.items()}
    # of large programs, what every loop began with is more than all else
    began = {name: first[name] for name in held if name in first}
    m.recording.boundaries.append(Boundary(entry, m.frame, held, contents, began, m.now()))


def note_end(m: Interpreter, entry: LoopEntry, iteration: int) -> None:
    """Add to the boundary what leaves its iteration spent: the one after it would walk into it."""
    if iteration < 1:
        return
    boundary = next((b for b in reversed(m.recording.boundaries) if b.entry is entry), None)
    if boundary is None or not boundary.held:
        return
    walkable = m.walkable
    for name, value in crossing(m.frame, entry.loop).items():
        if name in boundary.held and can_be_detached(value):
            if any(raises_again(node, is_certain, walkable=walkable) for node in nodes_in(value, attributes=False)):
                boundary.spent.add(name)


def is_unsettled(m: Interpreter, entry: LoopEntry, iteration: int) -> bool:
    """Whether only the next iteration can meet what `iteration` has walked, and what a value carries on.

    A state that the loss of its own iteration does not read is walked one iteration late: so is what meets it freed. And so it is
    where this iteration is the first that goes backward, or that does through what a line of the loop makes: what waits from one
    iteration for the next, as messages do, becomes a part of the state one iteration late.
    """
    depth = len(m.context)
    events: list[BackwardPass] = []
    for event in reversed(m.recording.walks):
        if event.context[depth : depth + 1] != ((entry, iteration),):
            break
        if any(hit.certain for hit in event.hits):
            return False
        events.append(event)
    number = len(m.recording.walks) - len(events)
    known = sites_walked(m.recording.walks[:number], entry)
    late = {
        node
        for event in events
        for node in event.nodes
        if node.saves and node.walks[0] is event and (not known or is_new(node, known, entry) or is_earlier(node, entry, iteration))
    }
    if not late:
        return False
    held = (nodes_in(value, attributes=False) for value in crossing(m.frame, entry.loop).values() if can_be_detached(value))
    return any(reaches(nodes, late) for nodes in held)


def sites_walked(walks: list[BackwardPass], entry: LoopEntry) -> set[ast.AST]:
    """What has made the nodes that the last of `walks` went through, those in earlier iterations of the loop."""
    found: set[ast.AST] = set()
    for event in reversed(walks):
        if not is_inside(event.context, entry):  # what lies inside follows one another
            break
        found.update(node.site for node in event.nodes)
    return found


def is_inside(context: Context, entry: LoopEntry) -> bool:
    return any(each is entry for each, _ in context)


def is_new(node: Node, known: set[ast.AST], entry: LoopEntry) -> bool:
    """Whether the loop has made the node at a place of which no earlier iteration went through one."""
    return node.site not in known and is_inside(node.context, entry)


def is_earlier(node: Node, entry: LoopEntry, iteration: int) -> bool:
    """Whether an iteration of the loop before this one has made the node."""
    return any(each is entry and number < iteration for each, number in node.context)
