"""What has to hold so that a fix changes no run that works, read off its operations, and what of it the flow leaves open.

A run of the tape is a witness of what happened; that something does *not* happen is for the flow of the file to say. Each kind
of operation has its obligations (docs/design.md, "Proofs"): an obligation that is not discharged is told with the place that
could not be excluded, and one that is contradicted takes the fix away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Field, Sink
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.analysis.missing_backwards import expressions_waiting
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.symptoms import Raises
from graphfix.dataflow.between import in_same_iteration
from graphfix.effects.table import words_with
from graphfix.model import (
    AddArgument,
    Append,
    Decorate,
    Finding,
    Ground,
    InsertAfter,
    InsertBefore,
    Move,
    Operation,
    RemoveArgument,
    Replace,
    Span,
    Wrap,
)  # fmt: skip
from graphfix.models.words import WALKS
from graphfix.obligations.gradient_readers import Observers
from graphfix.obligations.identity_sensitivity import Objects
from graphfix.obligations.implicit_calls import unnamed
from graphfix.obligations.inquiry import NO_TENSOR, Inquiry, Open
from graphfix.obligations.introspection import seen
from graphfix.obligations.loop_carried_detach import Left, asks_for_graph
from graphfix.obligations.merged_backwards import Joined
from graphfix.obligations.moved import Moved
from graphfix.obligations.other_mode import of_other_mode
from graphfix.obligations.premises import premise_of
from graphfix.obligations.repeated_items import Drawn
from graphfix.obligations.returning import Returning
from graphfix.obligations.shown import Shown
from graphfix.obligations.unrecorded import Unrecorded, asks_for_recording
from graphfix.obligations.unsupported_constructs import unfollowed
from graphfix.obligations.use_analysis import Readers
from graphfix.source.document import Document, files_named, modules_of, sure_statements
from graphfix.source.subtree import subtree

LOOPS = (ast.For, ast.AsyncFor, ast.While)

# `GradMode::is_enabled() ?` in https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml, where the table shows nothing:
# the last bits differ on other devices, or for other numbers
FORMULAS_BESIDES = frozenset("RMSNorm rms_norm weight_norm LSTM GRU RNN LSTMCell GRUCell RNNCell logit native_dropout".split())


# what no other value has that code adds up and puts away
OF_TENSORS = frozenset(
    (*WALKS, "requires_grad", "requires_grad_", "grad_fn", "is_leaf", "retain_grad", "detach", "register_hook")
)
# words of files that may go backward from a value, or look at its graph
ASKING = frozenset((*WALKS, "autograd", "requires_grad", "grad_fn", "is_leaf"))
# of one fix, that are followed
MOST_PLACES = 100


class Proof(Inquiry):
    """Asks the flow of one file about the fixes of its findings."""

    @cached_property
    def returning(self) -> Returning:
        """What code out of sight may give back."""
        return Returning(self.evidence)

    @cached_property
    def readers(self) -> Readers:
        return Readers(self.evidence.flow)

    @cached_property
    def seen(self) -> list[Open]:
        return [*seen(self.flow), *unfollowed(self.flow), *unnamed(self.flow)]

    def open_of(self, finding: Finding) -> Iterator[Open]:
        """What is left open of the fix of `finding`."""
        assert finding.fix is not None
        if len(finding.fix.operations) > MOST_PLACES:
            yield Open(self.place_of(finding), "needs a fix with too many edits to check each")
            return
        if self.flow.is_cut:
            yield Open(self.place_of(finding), "is in a file with more calls than the analysis follows")
            return
        if not self.is_in_sight:
            yield Open(self.place_of(finding), "is in a file of a program that is larger than the analysis follows")
            return
        shown = getattr(finding, "shown_by", None)
        if isinstance(shown, SecondBackward) and finding.fix.ground is not Ground.JOINED:
            premise = premise_of(self.evidence, shown)
            yield from (premise,) if premise is not None else ()
        yield from self.of_another_library(finding)
        yield from self.waiting(finding)
        yield from self.swallowed(finding)
        yield from self.seen
        if finding.fix.ground in (Ground.DROPPED, Ground.UNTRAINED):
            trained = finding.fix.ground is Ground.DROPPED
            cuts = [each for operation in finding.fix.operations for each in self.cut_by(operation)]
            yield from Observers(self.evidence).unseen_steps(trained, cuts)
            for arrival in self.graph.reach(cuts).of(Sink.WALKED):
                if arrival.site not in self.walked:
                    yield Open(arrival.site, "may use the gradients that are dropped")
        if finding.fix.ground is Ground.JOINED:
            yield from Joined(self.evidence).joined(finding)
        cuts = [each for operation in finding.fix.operations for each in self.cut_by(operation)]
        keeps = any(isinstance(each, AddArgument) for each in finding.fix.operations)
        for operation in finding.fix.operations:
            yield from self.of_operation(operation, finding.fix.ground, cuts, keeps)

    @cached_property
    def is_in_sight(self) -> bool:
        """Whether the flow has come to each file that the fix changes: of another one it knows nothing, and proves nothing."""
        return all(document.tree in self.flow.code.documents for document in self.evidence.changing)

    def waiting(self, finding: Finding) -> Iterator[Open]:
        """What leads into a loss that lacks its backward pass is to be walked: to cut it there would hide what is missing."""
        assert finding.fix is not None
        waiting = expressions_waiting(self.evidence)
        for operation in finding.fix.operations if waiting else ():
            for part in self.cut_at(operation):
                if part in waiting:
                    yield Open(part, "belongs to a loss that lacks its backward()", contradicted=True)

    def cut_at(self, operation: Operation) -> Iterator[ast.AST]:
        """The expressions whose graphs an operation may cut: the one that it changes, or those that are what a new statement detaches."""
        program = self.evidence.program
        places = program.lying_at(operation.span) if not isinstance(operation, (Wrap, Move)) else ()
        if isinstance(operation, (Append, RemoveArgument)):
            yield from places
        elif isinstance(operation, (InsertBefore, InsertAfter)) and ".detach()" in operation.text:
            cut = {
                ast.unparse(part) for part in ast.walk(ast.parse(operation.text)) if isinstance(part, (ast.Name, ast.Attribute))
            }
            for place in places:
                around = program.enclosing(place, (*FUNCTIONS, ast.Module)) or program.tree_of(place)
                reads = (part for part in subtree(around) if isinstance(part, (ast.Name, ast.Attribute)))
                yield from (part for part in reads if ast.unparse(part) in cut)

    def of_another_library(self, finding: Finding) -> Iterator[Open]:
        """Other libraries have a `backward()`, too: where nothing in sight imports torch, what it is called on may be theirs."""
        imports = (part for document in self.flow.code.documents.values() for part in document.imports)
        if not any("torch" in modules_of(part) for part in imports):
            yield Open(self.place_of(finding), "may come from another library than torch")

    def place_of(self, finding: Finding) -> ast.AST:
        """The code that a finding blames."""
        program = self.evidence.program
        return next(iter(program.lying_at(finding.span)), program.named(finding.span.path).tree.body[0])

    def swallowed(self, finding: Finding) -> Iterator[Open]:
        """A program that raises does not work: unless somebody swallows what is raised where the finding lies, or its story leads."""
        assert finding.fix is not None
        program = self.evidence.program
        spans = {finding.span, *(program.placed(label.path, label.span) for label in finding.story)}
        if finding.fix.ground is Ground.UNUSED:
            return
        kinds = {symptom.error for symptom in finding.symptoms if isinstance(symptom, Raises)}
        error = kinds.pop() if len(kinds) == 1 else ""
        for span in sorted(spans, key=lambda each: (each.start, each.end)):
            for part in self.evidence.program.lying_at(span):
                walks = (
                    inner
                    for code in self.flow.reached(part)
                    for inner in subtree(code)
                    if isinstance(inner, ast.Call) and name_of(inner.func) in WALKS
                )
                for place in filter(None, (swallowed(self.flow, each, error=error) for each in dict.fromkeys((part, *walks)))):
                    yield Open(place, "may catch the error that this fix removes")
                    break

    def cut_by(self, operation: Operation) -> list[ast.expr]:
        """The expression behind which an operation cuts the graph."""
        expression = self.expression(operation.span) if isinstance(operation, Append) else None
        return [expression] if expression is not None else []

    def of_operation(self, operation: Operation, ground: Ground, cuts: list[ast.expr], keeps: bool) -> Iterator[Open]:
        """`cuts`: where the fix cuts graphs; `keeps`: whether it lets another walk retain its graph."""
        if isinstance(operation, InsertBefore) and operation.text == "import torch":
            yield from self.imported(operation)
        elif isinstance(operation, Append):
            expression = self.expression(operation.span)
            if expression is not None and operation.text.startswith((".detach()", ".item()")):
                yield from self.cut(expression, ground)
        elif isinstance(operation, Replace):
            yield from self.replaced(operation)
        elif isinstance(operation, Move):
            yield from Moved(self.evidence).moved(operation)
        elif isinstance(operation, (InsertBefore, InsertAfter)) and ground is not Ground.RAISES:
            yield from Left(self.evidence).inserted(operation, ground)
        elif isinstance(operation, (Wrap, Decorate)):
            yield from Unrecorded(self.evidence).unrecorded(operation)
        elif isinstance(operation, RemoveArgument) and ground is not Ground.RAISES:
            call = self.expression(operation.span)
            if isinstance(call, ast.Call) and operation.name == "retain_graph":
                yield from self.freed_early(call, cuts)
            elif isinstance(call, ast.Call) and operation.name == "create_graph":
                yield from self.unrecorded_gradients(call)
                if not keeps:
                    yield from self.freed_early(call, cuts)

    def imported(self, operation: InsertBefore) -> Iterator[Open]:
        """The file imports a part of torch, or a file that does, so that whoever uses the file has torch."""
        for anchor in self.evidence.program.lying_at(operation.span)[:1]:
            if not self.comes_with("torch", self.evidence.program.file_of(anchor)):
                yield Open(anchor, "stands in a file that does without torch so far, perhaps where that is not installed")

    def comes_with(self, library: str, file: Document) -> bool:
        """Whether a file is of no use without a library: it imports a part of it, or cannot be imported without a file that does."""
        reached = [file]
        for each in reached:
            imports = [part for part in sure_statements(each.tree.body) if modules_of(part) or files_named(part)]
            if any(library in modules_of(part) for part in imports):
                return True
            found = (self.flow.code.module(name, each) for part in imports for name in files_named(part))
            reached += [one for one in dict.fromkeys(found) if one is not None and one not in reached]
        return file.imports_part_of(library)

    def replaced(self, operation: Replace) -> Iterator[Open]:
        """`float(x)` or `x.data[0]` becomes `x.item()`, `x.data` becomes `x.detach()`: `x` is a tensor, and nobody writes to its copy."""
        old = self.expression(operation.span)
        text, _, method = operation.text.rpartition(".")
        if old is None or method not in ("item()", "detach()"):
            if isinstance(old, ast.Call) and self.is_part(operation.text, old):  # what was wrapped is the object itself now
                yield from Objects(self.flow).told_apart(old)
            return
        wanted = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        kept = [p for p in subtree(old) if isinstance(p, ast.expr) and self.evidence.program.source(p) in (text, wanted)]
        above = self.evidence.program.parent(kept[0]) if kept else None
        read = isinstance(above, ast.Attribute) and above.attr == "data"  # a number has none: such a run does not work
        other = self.readers.no_tensor(kept[0], no_number=read) if kept else None
        if other is not None:
            yield Open(other, NO_TENSOR)
        if isinstance(old, ast.Attribute) and old.attr == "data" and method == "detach()":
            writer = self.readers.written(old)
            if writer is not None:
                yield Open(writer, "may write to it in place, which autograd would then notice")
            for arrival in self.graph.reach([old]).of(Sink.ESCAPES):
                yield Open(arrival.site, "is not analysed and may write to it in place")

    def is_part(self, text: str, call: ast.Call) -> bool:
        """Whether a text is that of something that is given to a call."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return any(self.evidence.program.source(each) == text for each in given)

    def unrecorded_gradients(self, call: ast.Call) -> Iterator[Open]:
        """Nobody walks the gradients that a call returns, and no hook, and no `backward` of the code's own, sees that they are recorded."""
        own = [each for each in self.flow.code.methods.get("backward", ()) if self.is_of_function(each)]
        inner = [part for each in own for part in subtree(each)]
        asking = {part for part in inner if asks_for_recording(self.flow, part)}
        asking |= {
            part for part in inner if isinstance(part, ast.Call) and name_of(part.func) in WALKS
        }  # only works where it records
        formulas = FORMULAS_BESIDES | words_with("other_formula")
        for document in self.flow.code.documents.values():
            if document.words & formulas:
                place = document.spelling(formulas) or document.tree.body[0]
                yield Open(place, "may use another formula for gradients that are recorded")
            for part in subtree(document.tree):
                hook = isinstance(part, ast.Attribute) and part.attr.endswith("_hook") and "forward" not in part.attr
                if hook or part in asking:
                    yield Open(part, "observes whether gradients are recorded")
        for arrival in self.graph.reach([call]).arrivals:
            yield Open(arrival.site, arrival.sink.value, arrival.sink is Sink.WALKED)

    def cut(self, expression: ast.expr, ground: Ground) -> Iterator[Open]:
        """The graph of `expression` ends: it is a tensor, and its graph is freed, or nobody walks it or asks for it."""
        other = None if self.flow.freed.has_backward(expression) else self.no_tensor(expression)
        if other is not None:
            yield Open(other, NO_TENSOR)
        yield from Objects(self.flow).told_apart(expression)
        reach = self.graph.reach([expression])
        may_have_dimensions = any(place in self.readers.tensors for place, _ in reach.places)
        yield from Shown(self.evidence, one_number=self.is_one_number(expression) and not may_have_dimensions).kept(reach)
        freed = self.flow.freed.before(expression)
        for document in self.read_elsewhere(expression):
            if document is None or document.words & ASKING:
                yield Open(expression, "may have its graph read in another file")
        for arrival in reach.of(Sink.ASKED) if ground is Ground.UNUSED else ():
            yield Open(arrival.site, arrival.sink.value)
        if ground is Ground.UNUSED and self.flow.calls.reflections:
            yield Open(self.flow.calls.reflections[0], "may read its graph" if freed else "may call backward() on it")
        if ground is Ground.UNUSED and freed:
            caught = (swallowed(self.flow, arrival.site) for arrival in reach.of(Sink.WALKED))
            yield from (
                Open(place, "may catch the error of a backward() that is meant to fail") for place in caught if place is not None
            )
        if ground is Ground.UNUSED and not freed:
            in_mode = self.graph.reach([expression], without=of_other_mode(self.evidence, expression), sure=True).of(Sink.WALKED)
            surely = {arrival.site for arrival in in_mode}
            yield from (Open(a.site, a.sink.value, a.sink is Sink.WALKED and a.site in surely) for a in reach.of(Sink.WALKED, Sink.ESCAPES))

    def is_one_number(self, expression: ast.expr) -> bool:
        """Whether every run has seen a tensor of one element at an expression."""
        uses = self.evidence.facts.uses.get(expression, ())
        return bool(uses) and all(map(self.evidence.facts.is_single, uses))

    def no_tensor(self, expression: ast.expr) -> ast.AST | None:
        """What may give something else than a tensor at an expression that is cut; None where nothing does."""
        facts = self.evidence.facts
        other = self.readers.no_tensor(expression)
        if other is None and not all(map(facts.is_tensor, facts.uses.get(expression, ()))):
            other = expression
        if other is None:
            other = next((given for given in self.flow.givers(expression) if not self.takes_tensors(given)), None)
        if other is None:
            other = next(filter(self.is_overridden, self.flow.returned_by(expression)), None)
        return other

    def takes_tensors(self, parameter: ast.arg) -> bool:
        """Whether the function itself does with what it is given what only works with a tensor."""
        function = self.evidence.program.enclosing(parameter, FUNCTIONS)
        for use in self.readers.uses_of(parameter):
            if use.how == "attribute" and use.name in OF_TENSORS and self.evidence.program.holds(use.site):
                if self.evidence.program.enclosing(use.site, FUNCTIONS) is function:
                    return True
        return False

    def read_elsewhere(self, expression: ast.expr) -> Iterator[Document | None]:
        """The other files that take an attribute of a name under which the value at an expression is kept; None: not all are known."""
        reach = self.graph.reach([expression], numbers=True)
        names = dict.fromkeys(place.name for place, _ in reach.places if isinstance(place, Field))
        if names and not self.evidence.knows_importers:
            yield None
        for name in names:
            yield from self.evidence.importers_taking(name)

    def is_overridden(self, function: ast.AST) -> bool:
        """Whether another file of the project has a method of that name, which may stand in for this one."""
        if function not in self.flow.code.class_of or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if not self.evidence.knows_importers:
            return True
        return any(
            isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and part.name == function.name
            for document in self.evidence.importers_naming(function.name)
            for cls in subtree(document.tree)
            if isinstance(cls, ast.ClassDef)
            for part in cls.body
        )

    def is_flag(self, site: ast.AST) -> bool:
        """Whether what is asked stays the same when a graph is freed."""
        return isinstance(site, ast.Attribute) and site.attr in ("requires_grad", "is_leaf")

    def freed_early(self, call: ast.Call, cuts: list[ast.expr]) -> Iterator[Open]:
        """Nothing of the graph below a walk is walked once more, now or in a later iteration, other than through what is cut."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) and not self.flow.code.calls.get(call) else None
        for reflection in self.flow.calls.reflections:
            yield Open(reflection, "may call backward() on it again")
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree) if "saved_tensors" in document.words else ():
                if (
                    isinstance(part, ast.Attribute)
                    and part.attr == "saved_tensors"
                    and not self.is_of_function(document.enclosing(part, FUNCTIONS))
                ):
                    yield Open(part, "may read the saved tensors again")
        for root in [*call.args[:1], *([receiver] if receiver is not None else [])]:
            yield from Drawn(self.evidence).again(root)
            for given in self.flow.given_below(root, without=cuts):
                yield Open(given, "comes from a caller, which may call backward() on it again")
            starts = self.flow.computations_below(root, without=cuts)
            reach = self.graph.reach(starts, without=cuts)
            seen_whole = not any(reach.of(Sink.ESCAPES))
            for arrival in reach.arrivals:
                if arrival.sink is Sink.ASKED:
                    if asks_for_graph(arrival.site) and not self.is_flag(arrival.site):
                        yield Open(arrival.site, "may read the graph")
                    continue
                before = not arrival.crosses and (arrival.site is call or self.comes_before(arrival.site, call))
                if not before or arrival.sink is Sink.ESCAPES and self.returning.may_come_back(call, self.comes_before):
                    # a run that got there, and did not walk it again, is a witness, too
                    surely = seen_whole and arrival.sink is Sink.WALKED and arrival.site not in self.walked
                    yield Open(arrival.site, f"{arrival.sink.value} again", surely)

    def is_of_function(self, method: ast.AST | None) -> bool:
        """Whether a method is the backward pass of an operation of the code's own."""
        cls = self.flow.code.class_of.get(method) if method is not None else None
        if cls is None or getattr(method, "name", "") != "backward":
            return False
        return self.flow.code.lookup.derives(cls, "Function")

    # -- what the flow says -------------------------------------------------------------------------------------------

    def expression(self, span: Span) -> ast.expr | None:
        """The expression that lies at `span`: the outermost one."""
        return next((part for part in self.evidence.program.lying_at(span) if isinstance(part, ast.expr)), None)

    def comes_before(self, site: ast.AST, call: ast.Call) -> bool:
        """Whether `site` does not run after `call` in the same iteration: both in one function."""
        paths = self.flow.paths
        if paths.owner(site) is not paths.owner(call):
            return False
        ways = paths.ways(call)
        at, begin = paths.raising(site), paths.of(call)
        return bool(at and begin) and not any(in_same_iteration(ways, one, each) for one in begin for each in at)
