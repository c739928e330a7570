"""Names and calls: environments, frames, and the trace that says where in the source something happened."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from graphfix.interpreter.values import Class, External, Pending, Value

if TYPE_CHECKING:
    from graphfix.autograd.iteration import Context
    from graphfix.source.document import Document

# The statement that each active call was at, outermost first.
CallStack = tuple[tuple["Frame", ast.stmt], ...]


STAR = "*"  # no name of a program: holds the library of which all names were imported


class Env:
    """A scope: its variables and the scope around it."""

    __slots__ = ("variables", "parent", "document", "is_class")

    def __init__(self, document: Document, parent: Env | None = None, is_class: bool = False) -> None:
        self.variables: dict[str, Value] = {}
        self.parent = parent
        self.document = document
        self.is_class = is_class

    def let_go(self) -> None:
        """End the scope: its functions and classes hold it."""
        for value in self.variables.values():
            if type(value) is Class:
                value.let_go()
        self.variables.clear()

    def top(self) -> Env:
        env = self
        while env.parent is not None:
            env = env.parent
        return env

    def in_reach(self) -> list[Value]:
        """The values of all variables of this scope and those around it."""
        return [*self.variables.values(), *(self.parent.in_reach() if self.parent is not None else ())]

    def get(self, name: str) -> Value | None:
        """The variable of this very scope; an imported one is resolved now."""
        value = self.variables.get(name)
        if isinstance(value, Pending):
            self.variables[name] = External(name)  # stands for the name while modules that import each other are read
            value = self.variables[name] = value.resolve()
        return value

    def lookup(self, name: str) -> Value | None:
        env: Env | None = self
        inner = True
        while env is not None:
            value = env.variables.get(name)
            if value is not None and (inner or not env.is_class):
                return env.get(name) if type(value) is Pending else value
            inner = False
            env = env.parent
        return None


class Frame:
    """One active call (or the body of a module or class)."""

    __slots__ = (
        "env", "definition", "prefix", "statement", "declared", "context", "returned", "yielded", "yields_on", "waits", "receiver", "owner",
        "depth", "is_plain", "decided", "ended",
    )  # fmt: skip

    def __init__(self, env: Env, definition: ast.AST, prefix: CallStack, context: Context, depth: int) -> None:
        self.env = env
        self.definition = definition
        self.prefix = prefix
        self.statement: ast.stmt | None = None
        self.declared: dict[str, str] = {}
        self.context = context
        self.returned: Value | None = None
        self.yielded: list[tuple[Value, bool]] = []
        self.yields_on = False  # in a loop of which only the first iterations are run
        self.waits = False  # a generator that is a context manager waits at its `yield`
        self.receiver: Value | None = None
        self.owner: Value | None = None
        self.depth = depth
        self.decided: object = None  # the last question that the run decided in it
        self.ended = math.inf  # when, in the order of the run
        self.is_plain = False  # code without torch, given no tensor: it can hold no graph

    def let_go(self) -> None:
        """End the call: what it has left holds nodes, which tell that they were made in it."""
        self.env.let_go()
        self.returned = self.receiver = self.owner = None
        self.yielded = []

    def trace(self) -> CallStack:
        return (*self.prefix, (self, self.statement)) if self.statement is not None else self.prefix

    def env_of(self, name: str) -> Env:
        """The scope that an assignment to `name` in this frame writes to."""
        how = self.declared.get(name)
        if how is None:
            return self.env
        if how == "global":
            return self.env.top()
        env = self.env.parent
        while env is not None and name not in env.variables:
            env = env.parent
        return env or self.env
