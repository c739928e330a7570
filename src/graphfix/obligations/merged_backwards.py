"""What runs between two backward passes that become one, or of which the first keeps the graph for the second."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.model import AddArgument, Finding, Operation, Replace, Span, Wrap
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.source.subtree import subtree


class Joined(Inquiry):
    """Asks the flow of one file."""

    def joined(self, finding: Finding) -> Iterator[Open]:
        """Between the walks nobody writes to what is saved; where they become one, nobody looks at the gradients of either."""
        assert finding.fix is not None
        spans = [finding.span, *(span for each in finding.fix.operations for span in spans_of(each))]
        one = not all(retains(each) for each in finding.fix.operations)
        for statement in self.between(spans, finding.span):
            for code in self.flow.reached(statement):
                for call in (part for part in subtree(code) if isinstance(part, ast.Call)):
                    if self.may_write(call) or one and name_of(call.func) == "zero_grad":
                        yield Open(call, "may change a tensor that both backward() calls use, or read its gradients")
        if one:
            yield from self.told_apart()

    def told_apart(self) -> Iterator[Open]:
        """What makes two walks another thing than one walk of the sum."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if isinstance(part, ast.Attribute) and part.attr.endswith("_hook") and "forward" not in part.attr:
                    yield Open(part, "is called with the gradients of each backward()")
        for method in self.flow.code.methods.get("backward", ()):
            if self.flow.code.lookup.derives(self.flow.code.class_of[method], "Function"):
                yield Open(method, "may not be linear in its gradient")

    def between(self, spans: list[Span], last: Span) -> Iterator[ast.stmt]:
        """The statements that may run between the first and the last of `spans`: those that lie between them, or after the one and
        before the other where these are in different functions."""
        program = self.evidence.program
        around = (*FUNCTIONS, ast.Module)
        places = [part for span in spans for part in program.lying_at(span)]
        found = (program.enclosing(part, around) for part in places)
        homes = dict.fromkeys(home for home in found if home is not None)
        second = next(program.enclosing(part, around) for part in program.lying_at(last))
        start = min(span.start for span in spans) if len(homes) == 1 else 0
        for home in homes:
            for statement in (part for part in subtree(home) if isinstance(part, ast.stmt) and part is not home):
                span = program.span(statement)
                if home is not second or start <= span.start and span.end <= last.end:
                    yield statement

    def may_write(self, call: ast.Call) -> bool:
        name = name_of(call.func)
        if name in WALKS or self.flow.code.calls.get(call) and not name.endswith("_"):
            return call in self.flow.calls.opaque and name not in WALKS
        return writes(call) or call in self.flow.calls.opaque


def writes(call: ast.Call) -> bool:
    """Whether a call is spelled as one that writes in place."""
    name = name_of(call.func)
    is_inplace = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
    return is_inplace or name in ("step", "load_state_dict")


def spans_of(operation: Operation) -> list[Span]:
    return list(operation.spans) if isinstance(operation, Wrap) else [operation.span]


def retains(operation: Operation) -> bool:
    """Whether an operation has the first of two walks keep its graph, by an argument that is added or that says no now."""
    return isinstance(operation, AddArgument) or isinstance(operation, Replace) and operation.text == "True"
