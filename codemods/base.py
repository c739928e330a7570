"""What a rule is, and what all rules need to say where and why."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evaluations import Regions
from graphfix.analysis.explore import Run, Tape
from graphfix.analysis.second_backward import SecondWalk, second_walks
from graphfix.autograd.graph import history
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Opaque, Plain, Tensor, Value, nodes_in
from graphfix.model import Applicability, Finding, Fix, Label, Operation, Span
from graphfix.source.document import Program

URL = "https://github.com/graphfix/graphfix/blob/main/docs/rules/{code}.md"


@dataclass(eq=False)
class Evidence:
    """What a rule is given: the runs over one file, and what they say together."""

    tape: Tape
    facts: Facts
    rules: tuple[Rule, ...] = ()

    @property
    def shows_all_uses(self) -> bool:
        """Whether what no run does with a value is done by nobody, as far as the value does not escape."""
        return True

    def tells(self, store: Store) -> bool:
        """Whether a fault of this store is told here, and not in another file."""
        return True

    @property
    def program(self) -> Program:
        return self.tape.program

    @cached_property
    def second_walks(self) -> list[SecondWalk]:
        """Every backward pass that meets a freed graph, by cause."""
        return second_walks(self.tape)

    @cached_property
    def needs_tensor(self) -> set[ast.expr] | None:
        """The expressions that have to stay tensors where a rule would cut them; None where that could not be found out.

        The file is run once more with all of them read as numbers: a use of such a number that only a tensor allows, or
        that is not in sight, tells. What is out of sight gets numbers where the project's settings say so.
        """
        wanted = [expression for rule in self.rules for expression in rule.cuts(self)]
        trial = self.tape.again({expression: as_number for expression in wanted})
        if trial.truncated:
            return None
        passed = ("unknown",) if self.tape.conventions.accumulate == "item" else ()
        reads = (read for run in trial.runs for read in run.recording.misuses if read.kind not in passed)
        return {read.value.cut for read in reads if isinstance(read.value, Plain)}

    @cached_property
    def regions(self) -> Regions:
        """The loops, functions and statements that build graphs which nobody walks."""
        return Regions(self.tape, self.facts)

    def loses_nothing(self, expressions: list[ast.expr]) -> bool:
        """Whether, with all of `expressions` detached, each walk that works still carries every gradient that is used."""
        trial = self.tape.again(dict.fromkeys(expressions, as_detached))
        if trial.truncated or len(trial.runs) != len(self.tape.runs):
            return False
        return all(
            working_walks(one) == working_walks(two)[: len(working_walks(one))] for one, two in zip(self.tape.runs, trial.runs)
        )

    def span(self, node: ast.AST) -> Span:
        return self.program.span(node)

    def label(self, node: ast.AST, message: str) -> Label:
        return Label(self.program.path, self.span(node), message)

    def holds(self, node: ast.AST) -> bool:
        """Whether `node` is part of the file under analysis (and not of one that it imports)."""
        return node in self.program.parents or node is self.program.tree


def as_number(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """An expression's value as `.item()` would make it."""
    return Plain(("cut", node, m.now()), cut=node) if isinstance(value, (Tensor, Opaque)) else value


def as_detached(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """An expression's value as `.detach()` would make it."""
    if isinstance(value, Tensor):
        return Tensor(single=value.single, base=value, severed="detach", shape=value.shape)
    return Opaque(("detached", node, m.now())) if isinstance(value, Opaque) else value


def working_walks(run: Run) -> list[tuple[ast.AST, int]]:
    """The walks of a run up to the first that raises: the call, and how many nodes carry a gradient that may be used."""
    walks = [(event.site, len(run.fates.leading(event)), bool(event.hits)) for event in run.recording.walks]
    raising = next((index for index, (_, _, raises) in enumerate(walks) if raises), len(walks))
    return [(site, count) for site, count, _ in walks[:raising]]


def nothing(evidence: Evidence) -> Iterator[ast.expr]:
    return iter(())


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue. `page` is its documentation in markdown, `find` yields its findings.

    `repairs`: whether there is a repair at all; without one the rule only tells. `cuts`: the expressions that it would turn
    into numbers or detach. `witnessed`: what it finds is shown by a single run, whatever other runs there are.
    """

    code: str
    name: str
    summary: str
    page: str
    find: Callable[[Evidence], Iterator[Finding]]
    repairs: bool = True
    cuts: Callable[[Evidence], Iterator[ast.expr]] = nothing
    witnessed: bool = False

    @property
    def url(self) -> str:
        return URL.format(code=self.code)


def rule(
    code: str, name: str, module: ModuleType | dict, find: Callable[[Evidence], Iterator[Finding]], repairs: bool = True,
    cuts: Callable[[Evidence], Iterator[ast.expr]] = nothing, witnessed: bool = False,
) -> Rule:  # fmt: skip
    """The rule documented by the docstring of the module that defines `find`."""
    page = inspect.cleandoc(_documented(module if isinstance(module, dict) else vars(module)))
    return Rule(code, name, page.splitlines()[0].rstrip("."), f"# {name} ({code})\n\n{page}\n", find, repairs, cuts, witnessed)


def _documented(module: dict) -> str:
    """The docstring of a module, from its file where Python has left it out (`-OO`)."""
    text: str | None = module["__doc__"]
    if text is None:
        source = module["__spec__"].loader.get_source(module["__name__"])
        text = ast.get_docstring(ast.parse(source))
    return text or ""


def leaves_function(evidence: Evidence, store: Store) -> bool:
    """Whether what is stored is part of what the storing function returns: whoever calls it elsewhere may walk it."""
    frame = store.trace[-1][0]
    for run in evidence.tape.runs:
        value = run.recording.returned.get(frame)
        if value is not None:
            return bool(set(store.nodes) & set(history(nodes_in(value))))
    return False


def fix(applicability: Applicability, title: str, *operations: Operation) -> Fix:
    return Fix(applicability, title, operations)


def safe_if(condition: bool) -> Applicability:
    return Applicability.SAFE if condition else Applicability.UNSAFE


def operand(evidence: Evidence, node: ast.expr) -> str:
    """The source of an expression so that an attribute can follow."""
    text = evidence.program.source(node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def blamed(evidence: Evidence, node: ast.AST) -> Span:
    """The statement that holds `node`, or `node` itself where that statement is a whole block."""
    statement = evidence.program.statement_of(node)
    return evidence.span(node if hasattr(statement, "body") else statement)


def short(text: str, limit: int = 40) -> str:
    """Source text for a message: one line, not long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
