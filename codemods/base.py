"""What a rule is, and what all rules need to say where and why."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

from graphfix.model import Applicability, Finding, Fix, Label, Operation, Span
from graphfix.tape.contributors import Facts
from graphfix.tape.diagnosis import SecondWalk, second_walks
from graphfix.tape.evidence import Store
from graphfix.tape.explore import Tape
from graphfix.tape.graph import history
from graphfix.tape.program import Program
from graphfix.tape.values import nodes_in

URL = "https://github.com/graphfix/graphfix/blob/main/docs/rules/{code}.md"


@dataclass(eq=False)
class Evidence:
    """What a rule is given: the runs over one file, and what they say together."""

    tape: Tape
    facts: Facts

    @property
    def program(self) -> Program:
        return self.tape.program

    @cached_property
    def second_walks(self) -> list[SecondWalk]:
        """Every backward pass that meets a freed graph, by cause."""
        return second_walks(self.tape)

    def span(self, node: ast.AST) -> Span:
        return self.program.span(node)

    def label(self, node: ast.AST, message: str) -> Label:
        return Label(self.program.path, self.span(node), message)

    def holds(self, node: ast.AST) -> bool:
        """Whether `node` is part of the file under analysis (and not of one that it imports)."""
        return node in self.program.parents or node is self.program.tree


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue. `page` is its documentation in markdown, `find` yields its findings.

    `repairs`: whether there is a repair at all; without one the rule only tells.
    """

    code: str
    name: str
    summary: str
    page: str
    find: Callable[[Evidence], Iterator[Finding]]
    repairs: bool = True

    @property
    def url(self) -> str:
        return URL.format(code=self.code)


def rule(
    code: str, name: str, module: ModuleType | dict, find: Callable[[Evidence], Iterator[Finding]], repairs: bool = True
) -> Rule:
    """The rule documented by the docstring of the module that defines `find`."""
    page = inspect.cleandoc(module["__doc__"] if isinstance(module, dict) else module.__doc__ or "")
    return Rule(code, name, page.splitlines()[0].rstrip("."), f"# {name} ({code})\n\n{page}\n", find, repairs)


def leaves_function(evidence: Evidence, store: Store) -> bool:
    """Whether what is stored is part of what the storing function returns: whoever calls it elsewhere may walk it."""
    frame = store.trace[-1][0]
    for run in evidence.tape.runs:
        value = run.evidence.returned.get(frame)
        if value is not None:
            return bool(set(store.nodes) & set(history(nodes_in(value))))
    return False


def fix(applicability: Applicability, title: str, *operations: Operation) -> Fix:
    return Fix(applicability, title, operations)


def safe_if(condition: bool) -> Applicability:
    return Applicability.SAFE if condition else Applicability.UNSAFE


def short(text: str, limit: int = 40) -> str:
    """Source text for a message: one line, not long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
