"""What has to hold so that a backward pass surely meets the graph that a finding speaks of: it is recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Place, Result
from graphfix.effects.schema import Puts
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.introspection import word_of
from graphfix.source.subtree import subtree

# ways to switch recording off that are not followed
SWITCHES = frozenset("__enter__ enter_context _set_grad_enabled".split())
# and those that are, where a run comes to them
SWITCHING = SWITCHES | frozenset("set_grad_enabled no_grad inference_mode requires_grad requires_grad_".split())
HOOKS = ("register_forward", "register_module_forward")


class Recorded(Inquiry):
    """Asks for ways to freeze parameters, or to switch recording off, that no run follows."""

    def unknown(self) -> Iterator[Open]:
        """Parameters may be frozen, or recording be off, in ways that are not followed: there is no graph then, and nothing to free."""
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                word = word_of(part)
                above = document.parents.get(part)
                if word == "requires_grad" and isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                    if not (isinstance(above, ast.Assign) and isinstance(above.value, ast.Constant)):
                        yield Open(part, "may set requires_grad=False on a parameter that is used here")
                elif word == "requires_grad_" and isinstance(above, ast.Call):
                    given = [*above.args, *(keyword.value for keyword in above.keywords)]
                    inner = document.enclosing(part, (ast.Lambda, ast.FunctionDef)) if part in document.parents else None
                    if isinstance(inner, ast.Lambda) or not all(isinstance(each, ast.Constant) for each in given):
                        yield Open(part, "may set requires_grad=False on a parameter that is used here")
                elif isinstance(part, ast.Constant) and part.value in ("requires_grad", "requires_grad_"):
                    yield Open(part, "may set requires_grad=False on a parameter that is used here")
                elif word in SWITCHES or word.startswith(HOOKS) and not self.changes_nothing(above):
                    yield Open(part, "may turn off the recording of this graph")

    def changes_nothing(self, registering: ast.AST | None) -> bool:
        """Whether a hook that is registered is code in sight that gives back nothing, and switches nothing off."""
        if not isinstance(registering, ast.Call):
            return False
        hooks = [source for argument in registering.args[:1] for source in self.graph.sources(argument)]
        return bool(hooks) and all(isinstance(hook, FUNCTIONS) and self.gives_nothing(hook) for hook in hooks)

    def gives_nothing(self, hook: ast.AST) -> bool:
        """Whether what a function in sight gives back is None, and it does not change the mode."""
        if hook in self.flow.code.wrapped or not all(self.is_none(each) for each in self.graph.values.get(Result(hook), ())):
            return False
        return all(word_of(part) not in SWITCHING for code in self.flow.reached(hook) for part in subtree(code))

    def is_none(self, place: Place) -> bool:
        """Whether a place holds None: it is written so, or a method gives it that only puts something into its object."""
        rows = self.flow.calls.methods.rows.get(place, ()) if isinstance(place, ast.Call) else ()
        fills = bool(rows) and all(row.puts is not Puts.NOTHING and row.gives_no_graph for row in rows)
        return fills or isinstance(place, ast.Constant) and place.value is None
