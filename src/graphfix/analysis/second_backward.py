"""Why a walk met a freed graph: the second walks of all runs, grouped by cause.

The cause is read off the iterations in which the node was born, freed and hit; see `classify`.
"""

from __future__ import annotations

import ast
import bisect
import enum
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import field

from graphfix.analysis.contributors import way_from
from graphfix.analysis.entries import EntryPoint
from graphfix.analysis.explore import Tape
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass, Hit, WalkKind
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import LoopEntry, split_loop
from graphfix.dataflow.iterations import exposed_reads, keeps_name
from graphfix.dataflow.ways import Ways
from graphfix.effects.table import facts
from graphfix.interpreter.frames import CallStack, Frame
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.recording import Boundary, Store, StoreKind
from graphfix.interpreter.values import Value
from graphfix.ir.origins import origins
from graphfix.lazy_dataclass import dataclass
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

# what is linear, and in no table that can be recorded everywhere
LINEAR_BESIDES = frozenset(("cuda", "scale"))


class Cause(enum.Enum):
    """Where the graph that is walked twice comes from, seen from the second walk."""

    CARRIED = "made in an earlier iteration and carried in by a name"
    KEPT = "made in an earlier iteration and taken out of a container"
    TOTAL = "a running total of earlier iterations"
    EXTERNAL = "made outside of the loop"
    SEQUENTIAL = "made in the same iteration, by another loss"
    REPEATED = "the same loss, after an earlier backward()"
    THREADS = "used by another thread"


@dataclass(eq=False)
class SecondBackward:
    """All hits of one cause at one backward call. `loop` is the loop between the two walks, None where there is none."""

    cause: Cause
    walk: BackwardPass
    freed_by: BackwardPass
    loop: ast.AST | None
    frame: Frame | None
    entry: EntryPoint
    hits: list[tuple[Run, BackwardPass, Hit]] = field(default_factory=list)
    carriers: dict[str, Node] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    always: bool = True
    entries: list[tuple[Run, LoopEntry | None]] = field(default_factory=list)

    @property
    def meetings(self) -> set[tuple[ast.AST, ast.AST]]:
        """What is met where: the expressions that made freed nodes, each with the call that meets them again."""
        return {(event.site, hit.node.site) for _, event, hit in self.hits}


def statement_in(trace: CallStack, frame: Frame | None) -> ast.stmt | None:
    """The statement that `frame` was at, where the trace passes through it."""
    return next((statement for active, statement in trace if active is frame), None)


def second_backwards(tape: Tape) -> list[SecondBackward]:
    """Every second walk over a freed graph, grouped by backward call, loop and cause, in source order: the certain ones, and at other
    calls those that happen unless code out of sight does what is not usual.
    """
    certain: dict[tuple, SecondBackward] = {}
    likely: dict[tuple, SecondBackward] = {}
    seen = [(run, list(met_again(run))) for run in tape.runs]
    for run, hits in seen:
        gather(run, certain, ((event, hit) for event, hit, is_sure in hits if is_sure))
    sites = {group.walk.site for group in certain.values()}
    for run, hits in seen:
        gather(run, likely, ((event, hit) for event, hit, _ in hits if event.site not in sites))
    for group in certain.values():
        group.always = happens_always(tape, group)
    for group in likely.values():
        group.always = False
    return [*certain.values(), *likely.values()]


def gather(run: Run, groups: dict[tuple, SecondBackward], hits: Iterable[tuple[BackwardPass, Hit]]) -> None:
    """Add hits of one run to their groups, but for those behind a walk that has raised."""
    raised: dict[tuple, BackwardPass] = {}
    for event, hit in hits:
        if raised.setdefault(meeting(event, hit), event) is event:
            add_hit(groups, run, event, hit)


def met_again(run: Run) -> Iterator[tuple[BackwardPass, Hit, bool]]:
    """The hits of a run, and whether it shows by itself that they happen; without those of which nothing is known."""
    shown: set[Node] = set()
    walks = run.recording.walks
    last = max((number for number, event in enumerate(walks) if event.hits), default=-1)
    for event in walks[: last + 1]:
        for hit in event.hits:
            leads = not is_assumed(event, hit) and leads_on(hit, shown)
            if hit.certain or leads and hit.node.callee is None:
                yield event, hit, True
            elif leads and kind_of(hit.node.callee) != "given" or is_trained(hit) and not is_assumed(event, hit):
                yield event, hit, False
        for root in run.recording.proven.intersection(event.roots):
            birth, way = way_from(root)
            shown.update((root, *(way if birth is not None and kind_of(birth.callee) != "given" else ())))


def is_assumed(event: BackwardPass, hit: Hit) -> bool:
    """Whether the two walks come of two calls of a method that no loop of the program makes: in between, others may put things right."""
    index = split_loop(hit.freed_by.context, event.context)
    return index is not None and event.context[index][0].loop is None


def leads_on(hit: Hit, shown: set[Node]) -> bool:
    """Whether earlier walks have shown that the freed node has a graph, and all that was made of it on the way up is torch's work."""
    return hit.node in shown and all(step.certain or step.callee is None or step in shown for step in hit.path)


def is_trained(hit: Hit) -> bool:
    """Whether the freed node is what a module gave whose parameters an optimizer has, and all that was made of it is torch's work."""
    *above, last = hit.path
    return last.trained and all(step.certain or step.callee is None for step in above)


def meeting(event: BackwardPass, hit: Hit) -> tuple:
    """Which walk meets what which other freed, in which loop: torch raises the first time, so that no later one happens."""
    index = split_loop(hit.freed_by.context, event.context)
    return event.site, hit.freed_by.site, event.context[index][0] if index is not None else event


def add_hit(groups: dict[tuple, SecondBackward], run: Run, event: BackwardPass, hit: Hit) -> None:
    index = split_loop(hit.freed_by.context, event.context)
    entry = event.context[index][0] if index is not None else None
    boundary = boundary_of(run, entry, event)
    cause, crossing = classify(run, event, hit, index) if event.thread == hit.freed_by.thread else (Cause.THREADS, None)
    if cause is Cause.EXTERNAL and serve_one_step(run, event, hit):
        cause = Cause.SEQUENTIAL
    names: list[str] = []
    if cause is Cause.CARRIED and crossing is not None:
        names = carriers(run, boundary, crossing, hit)
        if not names:
            cause = Cause.KEPT
        elif is_total(event, hit, crossing):
            cause = Cause.TOTAL
    if cause is Cause.KEPT and not hit.certain:
        return  # when a container is emptied is what the conditions decide that a run takes by chance
    if crossing is not None and not any("." not in name for name in names) and may_be_put_back(run, event, hit, crossing):
        return
    loop = entry.loop if entry is not None else None
    key = (event.site, loop, cause, hit.freed_by.site, run.entry)
    group = groups.get(key)
    if group is None:
        frame = entry.frame if entry is not None else None
        group = groups[key] = SecondBackward(cause, event, hit.freed_by, loop, frame, run.entry)  # type: ignore[arg-type]
    group.hits.append((run, event, hit))
    group.entries.append((run, entry))
    for name in names:
        group.carriers.setdefault(name, crossing)  # type: ignore[arg-type]
    if cause is Cause.CARRIED and boundary is not None:
        for name, node in also_carried(run, boundary, event, owner_of(names[0])):
            group.carriers.setdefault(name, node)
    if cause is Cause.KEPT and crossing is not None:
        group.stores.extend(store for store in crossing.stores if isinstance(store, Store))


def may_be_put_back(run: Run, event: BackwardPass, hit: Hit, crossing: Node) -> bool:
    """Whether code out of sight had hold of the object that keeps `crossing`, between the iteration that left it there and the one that reads it."""
    position = hit.path.index(crossing)
    used = hit.path[position - 1].order if position else event.order
    kept = [store for store in crossing.stores if isinstance(store, Store) and store.order < used]
    return any(run.out_of_sight.had(holder, store.order, used) for store in kept for holder in (store.place[0], store.holder))


def serve_one_step(run: Run, event: BackwardPass, hit: Hit) -> bool:
    """Whether the loop only gathers gradients: a step comes after the walks, none between them."""
    steps = [update.order for update in run.recording.updates if update.steps]
    return any(order > event.order for order in steps) and not any(hit.freed_by.order < order < event.order for order in steps)


def classify(run: Run, event: BackwardPass, hit: Hit, index: int | None) -> tuple[Cause, Node | None]:
    """The cause of a hit, and the node through which the older iteration's graph enters where it is carried."""
    same = set(event.roots) == set(hit.freed_by.roots) and WalkKind.GRAD not in (event.kind, hit.freed_by.kind)
    if index is None:
        return (Cause.REPEATED if same else Cause.SEQUENTIAL), None
    entry, iteration = event.context[index]

    def born(node: Node) -> int | None:
        return node.context[index][1] if len(node.context) > index and node.context[index][0] is entry else None

    when = born(hit.node)
    if when is None:
        if all(born(root) is None for root in event.roots):
            return (Cause.REPEATED if same else Cause.SEQUENTIAL), None
        outside = next(node for node in hit.path if born(node) is None)
        made = [node for node in event.below if born(node) is not None]
        is_loss = is_item(outside, entry.loop) and not is_input(run, event, hit, made)
        return (Cause.SEQUENTIAL if is_loss else Cause.EXTERNAL), None
    crossing = next((node for node in hit.path if (born(node) if born(node) is not None else -1) < iteration), hit.node)
    return Cause.CARRIED, crossing


def is_item(node: Node, loop: ast.AST | None) -> bool:
    """Whether a loop runs over a container that holds this node: a loop over losses."""
    return any(isinstance(store, Store) and store.kind is StoreKind.ITEM and store.trace[-1][1] is loop for store in node.stores)


def is_input(run: Run, event: BackwardPass, hit: Hit, made: Iterable[Node]) -> bool:
    """Whether an item that a loop runs over is the input of a network that is stepped in each iteration: `made` is what that has made of it."""
    is_stepped = any(update.steps and hit.freed_by.order < update.order < event.order for update in run.recording.updates)
    return is_stepped and any(node.leaves or node.callee is not None for node in made)


def boundary_of(run: Run, entry: LoopEntry | None, event: BackwardPass) -> Boundary | None:
    """The boundary by which the iteration of `event` was entered."""
    crossed = [each for each in run.recording.boundaries if entry is not None and each.entry is entry]
    return next((each for each in reversed(crossed) if each.order < event.order), crossed[0] if crossed else None)


def carriers(run: Run, boundary: Boundary | None, crossing: Node, hit: Hit) -> list[str]:
    """The names that bring `crossing` into the second iteration; plain names before attributes."""
    if boundary is None:
        return []
    position = hit.path.index(crossing)
    used = hit.path[position - 1].order if position else 0
    held = [name for name, (_, nodes, _, _) in boundary.held.items() if crossing in nodes]
    found = [name for name in held if brings(run, boundary, name, crossing, used)]
    found = [name for name in found if not position or is_read_by(boundary, name, hit.path[position - 1])]
    plain = [name for name in found if "." not in name]
    return plain or found[:1]


def is_read_by(boundary: Boundary, name: str, node: Node) -> bool:
    """Whether the loop's body reads a plain name where `node` is made, or before: read only later, it did not bring the graph there."""
    statement = statement_in(node.trace, boundary.frame)
    loop = boundary.entry.loop
    if "." in name or statement is None or not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
        return True
    named = [part for each in loop.body for part in subtree(each) if isinstance(part, ast.Name) and part.id == name]
    added = {part.target for part in subtree(loop) if isinstance(part, ast.AugAssign)}
    read = [part for part in named if isinstance(part.ctx, ast.Load) or part in added]
    return not read or any(part.lineno <= (statement.end_lineno or 0) for part in read)


def owner_of(name: str) -> str:
    """The object that an attribute is one of, as it is written; empty of a variable."""
    return name.rpartition(".")[0]


def also_carried(run: Run, boundary: Boundary, event: BackwardPass, owner: str) -> Iterator[tuple[str, Node]]:
    """Further variables, or attributes of the same object, that bring a graph into this walk which is spent, or will be in the next.

    All of them have to be repaired.
    """
    later = [node for node in event.below if node.order > boundary.order]
    entering = {parent: node.order for node in sorted(later, key=lambda n: -n.order) for parent in node.parents}
    for name, (_, nodes, freed, _) in boundary.held.items():
        if (freed or name in boundary.spent) and owner_of(name) == owner:
            for node in nodes:
                if node in entering and node.certain and brings(run, boundary, name, node, entering[node]):
                    yield name, node


def brings(run: Run, boundary: Boundary, name: str, crossing: Node, used: int) -> bool:
    """Whether it is by `name` that `crossing` comes from the boundary to where the node of order `used` takes it up."""
    stores = run.recording.stores
    first = bisect.bisect_right(stores, boundary.order, key=lambda store: store.order)
    rebound = {
        ast.unparse(store.target)
        for store in itertools.takewhile(lambda store: store.order < used, itertools.islice(stores, first, None))
        if isinstance(store.target, (ast.Name, ast.Attribute))
        and (store.trace[-1][0] is boundary.frame or isinstance(store.target, ast.Attribute))
        and crossing not in store.nodes
    }
    # a container that is made in each iteration is state like any other; one from before the loop is a pile
    piles = [
        store.holder
        for store in crossing.stores
        if isinstance(store, Store)
        and store.kind in (StoreKind.APPENDED, StoreKind.EXTENDED)
        and all(active is not boundary.entry for active, _ in getattr(store.holder, "context", None) or ())
    ]
    return name not in rebound and boundary.held[name][0] not in piles and is_live(boundary.frame, boundary.entry.loop, name)


def is_live(frame: Frame | None, loop: ast.AST | None, name: str) -> bool:
    """Whether an iteration may read the variable `name` before it binds it anew: the state at the top of the loop is live.

    What no iteration reads, others may, unless each iteration binds it anew. `frame`: the call in which the loop runs.
    """
    if "." in name or frame is None or not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
        return True
    ways = Ways(origins(frame.env.document).code(loop))
    if reads(loop, name):
        return any(True for _ in exposed_reads(ways, loop, name))
    return keeps_name(ways, loop, name)


def reads(node: ast.AST, name: str) -> bool:
    """Whether `name` is read in `node`; an augmented assignment reads its target."""
    return any(
        isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Load)
        or isinstance(part, ast.AugAssign)
        and isinstance(part.target, ast.Name)
        and part.target.id == name
        for part in subtree(node)
    )


def is_total(event: BackwardPass, hit: Hit, crossing: Node) -> bool:
    """Whether the older graph enters by being added up in the place that is walked."""
    position = hit.path.index(crossing)
    if position == 0:
        return False
    places = {store.place for store in crossing.stores if isinstance(store, Store)}
    *above, adding = hit.path[:position]
    return is_sum(adding, places) and all(is_sum(node, places) or is_scaling(node) for node in above)


def is_sum(node: Node, places: set[tuple[object, object]]) -> bool:
    """Whether the node adds to what one of `places` holds, and is kept there."""
    adds = isinstance(node.site, (ast.AugAssign, ast.BinOp)) and isinstance(node.site.op, ast.Add)
    return adds and any(isinstance(store, Store) and store.place in places for store in node.stores)


def is_scaling(node: Node) -> bool:
    """Whether the node's value is the value below it up to a factor, a sum or a mean."""
    return len(node.parents) == 1 and not node.leaves and (not isinstance(node.site, ast.Call) or is_linear(word(node.site.func)))


def is_linear(name: str) -> bool:
    """Whether a method, or else a function, of this name gives of a sum the sum of what it gives of the parts."""
    known = facts(f"torch.Tensor.{name}") or facts(f"torch.{name}")
    return name in LINEAR_BESIDES or known is not None and (known.linear or name == "type" and known.ever("linear"))


def happens_always(tape: Tape, group: SecondBackward) -> bool:
    """False where some run passed the same backward in a later iteration (or after the same first walk) unharmed."""
    for run in tape.runs:
        for event in run.walks_at.get(group.walk.site, ()):
            if event.hits:
                continue
            if group.loop is not None or group.cause in (Cause.CARRIED, Cause.TOTAL, Cause.EXTERNAL, Cause.KEPT):
                if any(entry.loop is group.loop and iteration > 0 for entry, iteration in event.context):
                    return False
            elif any(other.order < event.order and other.context == event.context for other in run.walks_at.get(group.freed_by.site, ())):
                return False
    return True


def held_at(tape: Tape, loop: ast.AST | None, name: str) -> list[tuple[Boundary, Value, bool, bool]]:
    """What `name` carried into the second iteration of `loop`, in every run: (boundary, value, freed, unfreed)."""
    found = []
    for run in tape.runs:
        for boundary in run.recording.boundaries:
            if boundary.entry.loop is loop and name in boundary.held:
                _, _, freed, unfreed = boundary.held[name]
                found.append((boundary, boundary.contents[name], freed, unfreed))
    return found
