"""Operations that a program defines: `torch.autograd.Function`.

https://docs.pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from graphfix.analysis.flow.functions import arguments, parameters
from graphfix.analysis.flow.lookup import Method
from graphfix.analysis.flow.places import Kind, Result
from graphfix.analysis.flow.sight import Sight


class Operations:
    """Links a call of `apply` with what it runs. `enter` links a call with a method. `forwards`: the forward passes, which run without recording."""

    def __init__(self, code: Sight, enter: Callable[..., None]) -> None:
        self.code = code
        self.flow = code.flow
        self.enter = enter
        self.forwards: set[ast.AST] = set()

    def apply(self, classes: Iterable[ast.ClassDef], call: ast.Call) -> bool:
        """Run the forward passes of these classes with what is given; whether each of them has one in sight."""
        found = [self.applied(cls, call) for cls in classes]
        return bool(found) and all(found)

    def applied(self, cls: ast.ClassDef, call: ast.Call) -> bool:
        """A context stands before what is given, or is set up afterwards; a backward pass gets it, with all that was put into it."""
        lookup = self.code.lookup
        forwards, set_up = lookup.found(cls, "forward"), lookup.found(cls, "setup_context")
        self.forwards.update(forwards)
        for forward in forwards:
            self.enter(forward, call, None, gives=False, behind=0 if set_up else 1)
            self.flow.add(Result(forward), call, Kind.MADE)
        for method in set_up:
            self.enter(method, call, None, gives=False, behind=len(parameters(method)))
            for inputs, output in [parameters(method)[1:3]] if len(parameters(method)) > 2 else ():
                for given in arguments(call):
                    self.flow.add(given, inputs, Kind.IN)
                for forward in forwards:
                    self.flow.add(Result(forward), output, Kind.SAME)
        for method in set_up or forwards:
            self.hand_context_on(method, lookup.found(cls, "backward"))
        return bool(forwards)

    def hand_context_on(self, method: Method, backwards: Iterable[Method]) -> None:
        for backward in backwards:
            for kept, read in zip(parameters(method)[:1], parameters(backward)[:1]):
                self.flow.add(kept, read, Kind.SAME, crosses=True)
