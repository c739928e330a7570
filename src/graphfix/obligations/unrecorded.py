"""What has to hold so that code may run without recording: nobody walks what is made there, keeps it, or reads its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import decorators, name_of
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import FUNCTIONS, arguments, parameters
from graphfix.analysis.flow.places import ITSELF, Field, Old, Place, Sink
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.dataflow.between import arrives
from graphfix.dataflow.dominance import dominated
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes
from graphfix.effects.table import facts
from graphfix.ir.instructions import WriteAttribute, WriteItem, WriteName
from graphfix.model import Decorate, Wrap
from graphfix.models.words import WALKS
from graphfix.obligations.identity_sensitivity import Objects
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.introspection import word_of
from graphfix.obligations.refused import refused, refuses_graphs
from graphfix.obligations.shown import Shown
from graphfix.obligations.use_analysis import Readers
from graphfix.obligations.warned import warned
from graphfix.source.subtree import subtree

# https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.weight_norm.html and its kind compute weights before each forward pass
LEFT_IN_MODULES = frozenset("weight_norm spectral_norm parametrize parametrizations BasePruningMethod".split())
# https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.BasePruningMethod.html: a hook masks the weights before each pass
PRUNES = "torch.nn.utils.prune."
# https://docs.python.org/3/reference/datamodel.html#special-writable-attributes
OF_FUNCTIONS = frozenset("__defaults__ __kwdefaults__ __globals__ __code__ __closure__".split())
# what says of a tensor whether its computation was recorded
GRADIENT_FLAGS = frozenset(("requires_grad", "grad_fn", "is_leaf", "needs_input_grad"))
# these compute more where gradients are recorded (https://docs.pytorch.org/docs/stable/linalg.html), choose their kernel by that
# (https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html), or warn
# (https://docs.pytorch.org/docs/stable/checkpoint.html)
BY_MODE = frozenset(
    "svdvals eigvals eigvalsh matrix_norm nuclear_norm cond matrix_rank scaled_dot_product_attention matmul checkpoint "
    "checkpoint_sequential".split()
)
# functions that say whether gradients are recorded
ASKS = frozenset(("is_grad_enabled", "is_inference_mode_enabled"))
SPECTRAL = (2, -2, "nuc")  # norms of a matrix by its singular values
ROUNDS = "may differ in the last digit when no gradients are recorded"
WARNS = frozenset(("checkpoint", "checkpoint_sequential"))  # of these: the others only round otherwise
# methods of modules that give buffers by other ways than their names
READS_BUFFERS = frozenset(("get_buffer", "named_buffers", "buffers"))
# methods by which a container takes something in
# https://docs.python.org/3/library/itertools.html: these give what they have once taken again
# methods by which an object gives its items
GIVES_ITEMS = ("__getitem__", "__getitems__", "__iter__", "__next__")
COMPUTES = (ast.Call, ast.BinOp, ast.UnaryOp)
YIELDS = (ast.Yield, ast.YieldFrom)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Unrecorded(Inquiry):
    """Asks the flow of one file."""

    def unrecorded(self, operation: Wrap | Decorate) -> Iterator[Open]:
        """Nothing that is made inside is walked, and nobody asks whether gradients are on."""
        inside: list[ast.AST] = []
        if isinstance(operation, Decorate):
            inside = [part for part in self.evidence.program.lying_at(operation.span) if isinstance(part, FUNCTIONS[:2])]
        else:
            lying = (part for span in operation.spans for part in self.evidence.program.lying_at(span))
            inside = [part for part in lying if isinstance(part, ast.stmt)]
        made = [part for each in inside for part in subtree(each) if isinstance(part, COMPUTES)]
        reach = self.graph.reach([part for part in made if part in self.flow.carrying and not self.flow.is_graphless(part)])
        yield from self.left_in_modules()
        yield from self.taken_elsewhere()
        yield from self.reflected(inside)
        yield from self.walked_while_it_runs(inside)
        yield from self.kept(inside)
        yield from self.drawn_from_outside(inside)
        if isinstance(operation, Decorate):
            yield from self.taken_apart()
        own = {part for each in inside for part in subtree(each) if isinstance(part, ast.Call)}
        walked = {walk.site for run in self.evidence.tape.runs for walk in run.recording.walks}
        for arrival in reach.arrivals:
            if arrival.sink is not Sink.ESCAPES or arrival.site not in own:  # what is called inside runs without recording, too
                # a run that walked there, and nothing of this, is a witness; another file's walks are another program's
                surely = arrival.sink is Sink.WALKED and arrival.site not in walked and self.evidence.changes(arrival.site)
                yield Open(arrival.site, arrival.sink.value, surely)
        yield from Shown(self.evidence).graphs(reach)
        yield from self.told_inside(inside)
        yield from Objects(self.flow).saved_flags(reach)
        yield from warned(self.flow, reach)
        yield from refused(self.flow, reach)
        yield from Objects(self.flow).freed_with_graphs()
        for writer in self.written(inside):
            yield Open(writer, "may write to a view of it")
        yield from self.run_inside(inside)

    def run_inside(self, inside: list[ast.AST]) -> Iterator[Open]:
        """Code that runs inside may go backward, or do something else where no gradients are recorded."""
        operations = self.flow.calls.methods.own_operations.forwards
        for each in inside:
            led_to = self.flow.led_to(each)
            for code in self.flow.reached_anyhow(each):
                if (
                    code in self.flow.code.wrapped
                    or code in self.flow.code.properties
                    and any("cached" in each for each in decorators(code))
                ):
                    yield Open(code, "may store its result")
                for part in subtree(code):
                    if code is not each and isinstance(part, ast.Call) and name_of(part.func) in WALKS:
                        yield Open(part, "calls backward() inside", breaks=code in led_to and code not in operations)
                    elif code in operations and part in self.flow.calls.opaque:  # no run enters these
                        yield Open(part, Sink.ESCAPES.value)
                    elif asks_for_recording(self.flow, part):
                        yield Open(part, "checks whether gradients are recorded")
                    elif computes_otherwise(self.flow, part) and not (self.allows_rounding and only_rounds(part)):
                        yield Open(part, ROUNDS if only_rounds(part) else "computes something else when no gradients are recorded")
                    elif refuses_graphs(self.flow, part) and swallowed(self.flow, part):
                        yield Open(part, "raises only when gradients are recorded")

    def told_inside(self, inside: list[ast.AST]) -> Iterator[Open]:
        """Code that is called inside may make texts of what it computes."""
        called = dict.fromkeys(code for each in inside for code in self.flow.reached(each) if code is not each)
        telling = [code for code in called if any(map(self.makes_text, subtree(code)))]
        made = [part for code in telling for part in subtree(code) if isinstance(part, COMPUTES) and part in self.flow.carrying]
        if made:
            yield from Shown(self.evidence).kept(self.graph.reach(made))

    def makes_text(self, part: ast.AST) -> bool:
        if isinstance(part, ast.JoinedStr):
            return True
        row = row_of(self.flow.code.calls.get(part, "")) if isinstance(part, ast.Call) else None
        return row is not None and row.observes in (Observes.TEXT, Observes.MESSAGE)

    @property
    def allows_rounding(self) -> bool:
        return self.evidence.tape.conventions.allows_rounding

    def taken_elsewhere(self) -> Iterator[Open]:
        """Functions of torch that depend on the mode, where they are no call but a value: it may be called inside."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree) if document.words & (BY_MODE | ASKS) else ():
                above = document.parents.get(part)
                called = isinstance(above, ast.Call) and above.func is part
                if called or not isinstance(part, (ast.Name, ast.Attribute)) or word_of(part) not in BY_MODE | ASKS:
                    continue
                if self.flow.code.dotted_in(part):
                    asks = word_of(part) in ASKS
                    yield Open(part, "checks whether gradients are recorded" if asks else "may compute something else when no gradients are recorded")

    def reflected(self, inside: list[ast.AST]) -> Iterator[Open]:
        """What looks a variable up by its name: one of the code inside, or a global one that this sets."""
        around = [each if isinstance(each, FUNCTIONS) else self.evidence.program.enclosing(each, FUNCTIONS) for each in inside]
        own = {part for each in around if each is not None for part in subtree(each)}
        shared = None in around or any(isinstance(part, ast.Global) for part in own)
        for call in self.flow.calls.reflections:
            if call in own or shared and not self.is_past(call, inside):
                yield Open(call, "may call backward() on it")
                return

    def is_past(self, site: ast.AST, inside: list[ast.AST]) -> bool:
        """Whether code of the script itself has run before what stands inside, and does not run again."""
        paths = self.flow.paths
        module = paths.module(site)
        if not isinstance(module, ast.Module) or paths.owner(site) is not module:
            return False
        ways, at = paths.through(module), paths.raising(site)
        later = [paths.at_module(part) for part in inside]
        known = bool(at and later) and all(later) and all(paths.module(part) is module for part in inside)
        return known and not any(arrives(ways, begin, each, ()) for begin in later for each in at)

    def taken_apart(self) -> Iterator[Open]:
        """What belongs to a function, and not to one that is wrapped around it."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree) if document.words & OF_FUNCTIONS else ():
                if word_of(part) in OF_FUNCTIONS:
                    yield Open(part, "inspects the function object")

    def written(self, inside: list[ast.AST]) -> Iterator[ast.AST]:
        """What writes in place, with gradients on, to a view that is made inside: autograd refuses that for views made without them."""
        own = dict.fromkeys(part for each in inside for code in self.flow.reached(each) for part in subtree(code))
        views = [part for part in own if is_view(part)]
        receivers = Readers(self.flow).in_place if views else set()
        for place, part in self.graph.reach(views, made=False).places:
            site = place.statement if isinstance(place, Old) else place if place in receivers else None
            if part is ITSELF and isinstance(site, ast.AST) and site not in own:
                yield site

    def kept(self, inside: list[ast.AST]) -> Iterator[Open]:
        """What called code leaves behind in objects, to be read under a key or name that no run follows, is not walked."""
        own = {part for each in inside for part in subtree(each)}
        executed = self.evidence.tape.executed
        reads: dict[Place, None] = {}
        holders: dict[ast.expr, None] = {}
        followed: dict[ast.expr, None] = {}
        for code in dict.fromkeys(code for each in inside for code in self.flow.reached_anyhow(each) if code not in own):
            for part in subtree(code):
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and self.is_memo(part):
                    yield Open(part, "may store its result")
                elif (name := self.set_by(part)) is not None:
                    read = [edge.target for edge in self.graph.edges.get(Field(name), ())]
                    # of what is set in the object itself, runs show who reads it
                    own_object = isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
                    reads.update(
                        dict.fromkeys(
                            each
                            for each in read
                            if not (own_object and isinstance(each, ast.Attribute) and self.statement(each) in executed)
                        )
                    )
                    if isinstance(part, ast.Subscript) and self.outlives(part.value, code):
                        holders[part.value] = None
                    if any(name_of(call.func) in READS_BUFFERS for call in self.flow.code.calls):
                        yield Open(part, "may store its result in a buffer")
                elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and part in self.flow.recorded_of_leaves:
                    by_runs = isinstance(part.slice, ast.Constant) and self.statement(part) in executed
                    if self.outlives(part.value, code):
                        (followed if by_runs else holders)[part.value] = None
                elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and library.fills(part.func.attr):
                    given = any(each in self.flow.recorded_of_leaves for each in arguments(part))
                    if given and self.outlives(part.func.value, code):
                        holders[part.func.value] = None
        for arrival in self.graph.reach(list(reads), held=list(holders)).arrivals if reads or holders else ():
            yield Open(arrival.site, f"{arrival.sink.value} later")
        for arrival in self.graph.reach([], held=list(followed)).of(Sink.WALKED) if followed else ():
            if self.statement(arrival.site) not in executed:  # runs follow an item to where they come
                yield Open(arrival.site, f"{arrival.sink.value} later")

    def set_by(self, part: ast.AST) -> str | None:
        """The attribute, if any, in which a part of the code keeps something that may have a graph."""
        recorded = self.flow.recorded_of_leaves
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            return part.attr if part in recorded else None
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and word_of(part.value) == "__dict__":
            return str(part.slice.value) if isinstance(part.slice, ast.Constant) and part in recorded else None
        if isinstance(part, ast.Call) and name_of(part.func) in ("setattr", "__setattr__") and len(part.args) > 1:
            name = part.args[-2]
            return str(name.value) if isinstance(name, ast.Constant) and part.args[-1] in recorded else None
        return None

    def is_memo(self, attribute: ast.Attribute) -> bool:
        """Whether something computed is set only where it was not yet: `if not hasattr(x, "memo"): x.memo = w.exp()`."""
        statement = self.flow.paths.statement(attribute)
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, (ast.Call, ast.BinOp)) or self.flow.is_graphless(value):
            return False
        above = self.flow.paths.parents.get(attribute)
        while above is not None and not isinstance(above, FUNCTIONS):
            if isinstance(above, ast.If) and any(names_attribute(part, attribute.attr) for part in subtree(above.test)):
                return True
            above = self.flow.paths.parents.get(above)
        return False

    def statement(self, place: ast.AST) -> ast.stmt | None:
        return self.flow.paths.statement(place) if place in self.flow.paths.parents else None

    def outlives(self, holder: ast.expr, code: ast.AST) -> bool:
        """Whether the object at `holder` may be older than this call of `code`, or stay when it is over."""
        inner = set(subtree(code))
        if isinstance(holder, ast.Name) and all(source in inner for source in self.graph.sources(holder)):
            return False
        paths, text = self.flow.paths, ast.unparse(holder)
        ways, at = paths.ways(holder), paths.raising(holder)
        writes = [each for each in ways.code.instructions() if isinstance(each, (WriteName, WriteAttribute, WriteItem))]
        made = [each for each in writes if isinstance(paths.parents.get(each.node), ast.Assign) and ast.unparse(each.node) == text]
        return not (at and all(dominated(ways, [m for m in made if m.node in inner], each) for each in at))

    def walked_while_it_runs(self, inside: list[ast.AST]) -> Iterator[Open]:
        """The code that a loop inside pulls its items from runs without recording, too: it walks nothing."""
        parts = [part for each in inside for part in subtree(each)]
        loops = [part for part in parts if isinstance(part, (*LOOPS[:2], ast.comprehension))]
        pulled = [call for loop in loops for call in self.flow.pulled(loop.iter)]
        # an object in sight may lie behind a loader that is not
        givers: list[ast.AST] = [method for name in GIVES_ITEMS for method in self.flow.code.methods.get(name, ())] if loops else []
        # and a generator, which is begun anywhere, goes on wherever something is taken out of it
        givers += [function for function in self.flow.code.functions if any(isinstance(p, YIELDS) for p in subtree(function))]
        codes = (code for method in givers for code in self.flow.reached(method))
        pulled += [part for code in dict.fromkeys(codes) for part in subtree(code) if isinstance(part, ast.Call)]
        for call in pulled:
            if name_of(call.func) in WALKS:
                yield Open(call, "runs inside a generator, while its items are read")

    def drawn_from_outside(self, inside: list[ast.AST]) -> Iterator[Open]:
        """A generator that was begun outside goes on there with what it computes inside: in its variables, or kept by `cycle` and `tee`."""
        parts = [part for each in inside for code in self.flow.reached_anyhow(each) for part in subtree(code)]
        own, leaves = set(parts), set(self.flow.leaves)
        drawn = [part.iter for part in parts if isinstance(part, (*LOOPS[:2], ast.comprehension))]
        drawn += [part.args[0] for part in parts if isinstance(part, ast.Call) and name_of(part.func) == "next" and part.args]
        drawn += [each for call, dotted in self.flow.code.calls.items() if (row := row_of(dotted)) is not None and row.repeats for each in call.args[:1]]
        for code in dict.fromkeys(code for each in drawn for code in self.flow.run_by(each)):
            body = list(subtree(code))
            if any(isinstance(p, COMPUTES) and p in self.flow.recorded_of_leaves and p not in leaves for p in body):
                begun = (call not in own for call, targets in self.flow.calls.targets.items() if code in targets)
                generates = any(isinstance(p, YIELDS) for p in body)
                if generates and any(begun) or any(isinstance(p, ast.GeneratorExp) and p not in own for p in body):
                    yield Open(code, "is a generator that starts outside and would continue without recording")

    def left_in_modules(self) -> Iterator[Open]:
        """Hooks of the forward pass, and parametrizations, leave in modules what they compute, or look at its graph."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                name = word_of(part)
                if name in LEFT_IN_MODULES or name.startswith(("register_forward", "register_module_forward")):
                    yield Open(part, "may store a result in a module")
                elif name == "deepcopy" and swallowed(self.flow, part):
                    yield Open(part, "raises if it copies a tensor with a graph, which a module may keep")
        for call, dotted in self.flow.code.calls.items():
            if dotted.startswith(PRUNES):
                yield Open(call, "may store a result in a module")


def names_attribute(part: ast.AST, name: str) -> bool:
    return isinstance(part, ast.Attribute) and part.attr == name or isinstance(part, ast.Constant) and part.value == name


def is_view(part: ast.AST) -> bool:
    """Whether an expression may be a view of a tensor: https://docs.pytorch.org/docs/stable/tensor_view.html."""
    if isinstance(part, ast.Subscript):
        return isinstance(part.ctx, ast.Load)
    function = part.func if isinstance(part, ast.Call) else part
    known = facts(f"torch.Tensor.{function.attr}") if isinstance(function, ast.Attribute) else None
    return known is not None and bool(known.alias)


def asks_for_recording(flow: Flow, part: ast.AST) -> bool:
    """Whether the code asks if a computation is, or was, recorded; the text of a tensor says so, too."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str) and part.value.strip("=(<") in GRADIENT_FLAGS
    if isinstance(part, ast.Attribute):
        return isinstance(part.ctx, ast.Load) and part.attr in GRADIENT_FLAGS
    if not isinstance(part, ast.Call):
        return False
    dotted = flow.code.calls.get(part, "")
    if dotted in ("getattr", "hasattr") and len(part.args) > 1:
        name = part.args[1]
        return name.value in GRADIENT_FLAGS if isinstance(name, ast.Constant) else not is_itself(flow, part.args[0])
    return dotted.rpartition(".")[2] in ASKS


def computes_otherwise(flow: Flow, part: ast.AST) -> bool:
    """Whether torch takes another way to the same numbers, or warns, where nothing is recorded.

    A product folds its larger factor where the smaller one requires grad, which a parameter does in either mode:
    `should_fold` of https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/LinearAlgebra.cpp.
    """
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, ast.MatMult) and not is_parameter(part.left) and not is_parameter(part.right)
    if not isinstance(part, ast.Call):
        return False
    dotted = flow.code.calls.get(part, "")
    is_others = dotted.partition(".")[0] != "torch" if dotted else part in flow.calls.targets and part not in flow.calls.opaque
    if is_others:  # what the project defines is looked at itself
        return False
    name = dotted.rpartition(".")[2] or name_of(part.func)
    if dotted == "torch.linalg.norm" and is_spectral(part):
        return True
    return name in BY_MODE or name == "norm" and any(ast.unparse(each) == "'nuc'" for each in arguments(part))


def only_rounds(part: ast.AST) -> bool:
    """Whether what computes otherwise comes to the same numbers, but for the last digit."""
    return not isinstance(part, ast.Call) or name_of(part.func) not in WARNS


def is_spectral(norm: ast.Call) -> bool:
    """Whether `torch.linalg.norm` may take the norm of a matrix by its singular values: by this order, and not along one dimension.

    https://docs.pytorch.org/docs/stable/generated/torch.linalg.norm.html
    """
    named = {keyword.arg: keyword.value for keyword in norm.keywords}
    order = norm.args[1] if len(norm.args) > 1 else named.get("ord")
    along = norm.args[2] if len(norm.args) > 2 else named.get("dim")
    if order is None or isinstance(along, ast.Constant) and isinstance(along.value, int):
        return False
    value = ast.unparse(order)
    return not isinstance(order, (ast.Constant, ast.UnaryOp)) or value in map(repr, SPECTRAL)


def is_parameter(factor: ast.expr) -> bool:
    """Whether an object holds it as it is, and not another view of it."""
    return isinstance(factor, ast.Attribute) and factor.attr not in ("T", "mT", "H", "mH")


def is_itself(flow: Flow, receiver: ast.expr) -> bool:
    """Whether a method reads its own object, such as a layer under a number: that is no tensor."""
    method = next((each for each in flow.paths.around(receiver) if isinstance(each, FUNCTIONS)), None)
    first = parameters(method)[:1] if method in flow.code.class_of else []  # type: ignore[arg-type]
    return isinstance(receiver, ast.Name) and any(each.arg == receiver.id for each in first)
