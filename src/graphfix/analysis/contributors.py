"""Which expression to cut so that a stored value no longer carries a graph, and how: `.item()` or `.detach()`.

The cut is tried on the tape itself: with the expression read as a number the file is run again, and any use of
that number that only a tensor allows, or that is not known, decides for `.detach()`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from graphfix.analysis.explore import Tape
from graphfix.analysis.shown import Shown
from graphfix.autograd.backward import raises_again
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import Context
from graphfix.interpreter.frames import CallStack
from graphfix.interpreter.interning import interned, kind_of
from graphfix.interpreter.recording import Store, Use
from graphfix.interpreter.values import Instance, Tensor, Unknown, Value
from graphfix.models.words import OUTPUTS
from graphfix.source.program import Program
from graphfix.source.subtree import subtree

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.DictComp, *COMPREHENSIONS)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Facts:
    """What all runs together know of expressions and nodes."""

    def __init__(self, tape: Tape) -> None:
        self.uses: dict[ast.expr, list[Use]] = {}
        self.plain: set[ast.expr] = set()
        self.proven, self.single, self.divided, self.walked = Shown(), Shown(), Shown(), Shown()
        self.elements: set[object] = set()
        self.runs = tape.runs
        self.modules = tape.modules
        self.sure: dict[Node, bool] = {}
        self.walkable: set[Node] = set()  # through which a walk would not raise when all is over
        births: dict[Node, Node | None] = {}
        for run in tape.runs:
            self.plain |= run.recording.plain
            for root in run.recording.proven:
                brought = (root, *brought_by(root, births))
                self.proven.add(brought, walked_in(root))
                self.elements |= {node.callee for node in brought if is_element(node)}
                self.walked.add((root,), walked_in(root))
            for root in run.recording.single:
                self.single.add(alone_single((root,)), walked_in(root))
            for root in run.recording.divided:
                self.divided.add(alone_single((root,)), walked_in(root))
            for expression, uses in run.recording.graphs.items():
                self.uses.setdefault(expression, []).extend(uses)

    def is_sure(self, node: Node) -> bool:
        """Whether a node is known to be part of a graph: made by torch, walked somewhere, or returned by a module."""
        known = self.sure.get(node)
        if known is None:
            self.sure[node] = False
            known = node.certain or node in self.proven or self.is_network(node) or node.callee in self.elements
            # what torch makes of a sure part is sure as well; what an unknown call makes of it is not
            known = known or (node.callee is None and any(self.is_sure(parent) for parent in node.parents))
            known = known or loss_beside(node) in self.elements
            self.sure[node] = known
        return known

    def is_network(self, node: Node) -> bool:
        """Whether a module made a node: a frozen one, of something that has a graph."""
        if node.callee not in self.modules:
            return False
        is_frozen = any(node.callee in run.recording.frozen for run in self.runs)
        return not is_frozen or any(self.is_sure(parent) for parent in node.parents)

    @cached_property
    def taken(self) -> Shown:
        """What is given to torch."""
        found = Shown()
        for node in (node for run in self.runs for node in run.recording.nodes):
            if node.callee is None and isinstance(node.site, ast.Call):
                found.add(node.parents, (node.context,))
        return found

    def is_tensor(self, use: Use) -> bool:
        """Whether the value is known to be one tensor, and not a tuple or an object that holds some, as a module may return."""
        return isinstance(use.value, Tensor) or use.value.may_be_tensor and all(map(self.is_known, use.nodes))

    def is_known(self, node: Node) -> bool:
        """Whether what the node is the graph of is made by torch, walked, or given to torch."""
        pending = [node]
        for each in pending:
            if each.certain or each in self.proven or each.callee in self.elements or each in self.taken:
                return True
            if each.callee is None:
                pending.extend(parent for parent in each.parents if parent not in pending)
        return False

    def is_spent(self, node: Node, before: float = math.inf) -> bool:
        """Whether any walk through `node` would raise, so that a detach there changes no run that works."""
        return raises_again(node, self.is_sure, before, self.walkable if before == math.inf else None)

    def is_single(self, use: Use) -> bool:
        """Whether the value is known to have one element: a full reduction, or the root of a backward pass."""
        if use.value.single:
            return True
        return all(node in self.single for node in use.nodes) and use.value.may_be_tensor


def walked_in(root: Node) -> list[Context]:
    """Where walks begin at a node."""
    return [event.context for event in root.walks if root in event.roots]


def alone_single(roots: Iterable[Node]) -> Iterator[Node]:
    """Values of one element, and what each was computed from by arithmetic: what has more would give the result more."""
    pending = list(roots)
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            if node.callee is None and is_elementwise(node.site):
                pending.extend(node.parents)


def is_elementwise(site: ast.AST) -> bool:
    return isinstance(site, ast.UnaryOp) or isinstance(site, ast.BinOp) and not isinstance(site.op, ast.MatMult)


def is_scaled(site: ast.AST) -> bool:
    """Whether a node that torch makes here is that of a scaled loss."""
    return isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and site.func.attr == "scale"


def brought_by(root: Node, births: dict[Node, Node | None]) -> Iterator[Node]:
    """The nodes that alone can bring the graph which a walk from `root` needs: each of torch's operations below leads to them.

    `(loss / 4).backward()` proves `loss`, and a distance of two slices of one embedding proves the embedding. `births`: as `birth_of` has
    found it for other nodes.
    """
    part = root
    while (
        part.callee is None and not part.leaves and len(part.parents) == 1 and (is_elementwise(part.site) or is_scaled(part.site))
    ):
        (part,) = part.parents
        yield part
    birth = birth_of(root, births)
    if birth is not None:
        yield birth
        while is_element(birth):
            (birth,) = birth.parents
            yield birth


def birth_of(root: Node, known: dict[Node, Node | None]) -> Node | None:
    """The one node that can bring `root` its graph, None where several can, or a leaf; `known` collects it for all nodes below."""
    pending = [root]
    while pending:
        node = pending[-1]
        if node in known or node.leaves or node.callee is not None or not node.parents:
            known.setdefault(node, None if node.leaves else node)
            pending.pop()
            continue
        unknown = [parent for parent in node.parents if parent not in known]
        pending.extend(unknown)
        if not unknown:
            births = {known[parent] for parent in node.parents}
            known[node] = births.pop() if len(births) == 1 else None
            pending.pop()
    return known[root]


def way_from(root: Node) -> tuple[Node | None, set[Node]]:
    """The one node that can bring `root` its graph, None where several can, and the nodes between them, both included."""
    births: set[Node] = set()
    seen = {root}
    pending = [root]
    while pending and len(births) < 2:
        node = pending.pop()
        if node.leaves:
            return None, seen
        if node.callee is not None or not node.parents:
            births.add(node)
            continue
        new = [parent for parent in node.parents if parent not in seen]
        seen.update(new)
        pending.extend(new)
    return (births.pop(), seen) if len(births) == 1 else (None, seen)


def loss_beside(node: Node) -> object:
    """The loss in the output of a model of which the node is another tensor; None where it is none.

    Where that loss goes backward, the model has computed both with its graph.
    """
    if not is_element(node):
        return None
    _, whole, slot = node.callee.parts  # type: ignore[attr-defined]
    return interned(("element", whole, "loss")) if slot in OUTPUTS else None


def is_element(node: Node) -> bool:
    """Whether a node stands for one element of what an unknown call returned."""
    return kind_of(node.callee) == "element"


def contributors(facts: Facts, expression: ast.expr, own: Mapping[Node, int]) -> list[ast.expr]:
    """The operands of `expression` that carry a graph other than the place's old content.

    `own`: the nodes that are put into the place, each with the order of the first store.
    """
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ARITHMETIC):
        return contributors(facts, expression.left, own) + contributors(facts, expression.right, own)
    if isinstance(expression, ast.UnaryOp):
        return contributors(facts, expression.operand, own)
    if isinstance(expression, ast.IfExp):
        return contributors(facts, expression.body, own) + contributors(facts, expression.orelse, own)
    if isinstance(expression, DISPLAYS):
        return [part for item in elements(expression) for part in contributors(facts, item, own)]
    if isinstance(expression, ast.Call) and all(is_record(use.value) for use in facts.uses.get(expression, ())):
        made_of = (*expression.args, *(keyword.value for keyword in expression.keywords))
        return [part for item in made_of for part in contributors(facts, item, own)]  # a record of what it is built from
    uses = [use for use in facts.uses.get(expression, ()) if any(facts.is_sure(node) for node in use.nodes)]
    if not uses or all(own.get(node, math.inf) < use.order for use in uses for node in use.nodes):
        return []
    return [expression]


def is_record(value: Value) -> bool:
    """Whether a value is an object that holds what it was made of, and no tensor."""
    return isinstance(value, Instance) or isinstance(value, Unknown) and value.is_object


def is_tensor_always(facts: Facts, expression: ast.expr) -> bool:
    """Whether the expression held one tensor, and nothing else, wherever it was seen."""
    return expression not in facts.plain and all(use.value.may_be_tensor for use in facts.uses.get(expression, ()))


def at_caller(facts: Facts, program: Program, trace: CallStack, nodes: Iterable[Node]) -> list[ast.expr]:
    """The argument of a call, closest to the store, that brings `nodes` in and is always one tensor; of a display, its parts."""
    wanted = set(nodes)
    for _, statement in reversed(trace[:-1]):
        if not program.holds(statement):
            continue
        for part in subtree(statement):
            for argument in handed_over(part):
                parts = parts_of(facts, argument, wanted)
                if parts:
                    return parts
    return []


def parts_of(facts: Facts, argument: ast.expr, wanted: set[Node]) -> list[ast.expr]:
    """What to cut of an argument that brings `wanted` nodes in: it, or of a display what its elements are computed from; empty where
    something else comes with them.
    """
    if not isinstance(argument, DISPLAYS):
        return [argument] if brings(facts, argument, wanted) else []
    found: list[ast.expr] = []
    for element in elements(argument):
        parts = contributors(facts, element, {})
        if parts and not (brings(facts, element, wanted) and all(is_tensor_always(facts, part) for part in parts)):
            return []
        found.extend(parts)
    return found


def elements(expression: ast.expr) -> Iterator[ast.expr]:
    """The expressions of which a display, or one in it, takes its items."""
    if isinstance(expression, (ast.Tuple, ast.List)):
        inner = expression.elts
    elif isinstance(expression, ast.Dict):
        inner = expression.values
    elif isinstance(expression, ast.DictComp):
        inner = [expression.value]
    elif isinstance(expression, COMPREHENSIONS):
        inner = [expression.elt]
    else:
        yield expression
        return
    for each in inner:
        yield from elements(each)


def handed_over(part: ast.AST) -> list[ast.expr]:
    """The expressions that a call, or an assignment to an item of an object, gives to the function that it enters."""
    if isinstance(part, ast.Call):
        return [*part.args, *(keyword.value for keyword in part.keywords)]
    if isinstance(part, ast.Assign) and any(isinstance(target, ast.Subscript) for target in part.targets):
        return [part.value]
    return []


def brings(facts: Facts, argument: ast.expr, wanted: set[Node]) -> bool:
    """Whether the expression is always one tensor, and for sure one with a graph that is wanted."""
    uses = facts.uses.get(argument, [])
    sure = any(wanted & set(use.nodes) and any(facts.is_sure(node) for node in use.nodes) for use in uses)
    return sure and is_tensor_always(facts, argument)


def cut_text(facts: Facts, expression: ast.expr, numbers: bool) -> str:
    """`.item()` where only numbers are wanted and the value has one element, else `.detach()`."""
    uses = facts.uses.get(expression, [])
    return ".item()" if numbers and uses and all(facts.is_single(use) for use in uses) else ".detach()"


def stored_nodes(tape: Tape, stores: Iterable[Store]) -> dict[Node, int]:
    """Every node that any run stores in the places of `stores`, or by the same assignments (a place is another object in each run).

    Each has the order of the first of those stores.
    """
    places = {store.place for store in stores}
    targets = {store.target for store in stores}
    found: dict[Node, int] = {}
    for run in tape.runs:
        for store in run.recording.stores:
            if store.target in targets or store.place in places:
                for node in store.nodes:
                    found.setdefault(node, store.order)
    return found
