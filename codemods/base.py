"""What a rule is."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphfix.analysis.conflicts import Conflict
from graphfix.analysis.evidence import Cuts, Evidence
from graphfix.analysis.second_backward import SecondBackward
from graphfix.analysis.subject import Draft, Subject
from graphfix.analysis.testing import is_test
from graphfix.autograd.symptoms import Symptom
from graphfix.interpreter.recording import Telling
from graphfix.lazy_dataclass import dataclass
from graphfix.model import PAGE, Finding, Fix, Label, NoFix, Severity, Span
from graphfix.verify.expected import SAME, Expected


def nothing(evidence: Evidence) -> Iterator[ast.expr]:
    return iter(())


def nowhere(evidence: Evidence) -> Iterator[Span]:
    return iter(())


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue: all that is known of it stands in its file.

    `page`: its documentation in markdown. `find` yields its findings; `cuts`: the expressions that it would turn into numbers or
    detach. `repair`: what its fixes do, in a sentence. `by_hand`: what to write where there is no fix; `{}` stands for the code that is named first in
    the message. `severity`: of its findings, where one does not say otherwise.
    `shows`: how its fault may show when a script runs. `results`: what the results of a repaired script are measured by.
    `bounded`: what it tells of is over when a test is; in modules of tests its findings are optional.
    `yields_to`: the codes of rules that tell, and repair, what both find: where they do, a finding of this one is not shown.
    `refuted`: where a program shows that a finding, which other programs may lead to, is none.
    """

    code: str
    name: str
    summary: str
    page: str
    find: Callable[[Evidence], Iterator[Finding]]
    repair: str
    by_hand: str
    shows: tuple[Symptom, ...]
    severity: Severity = Severity.ERROR
    results: Expected = SAME
    yields_to: tuple[str, ...] = ()
    cuts: Cuts = nothing
    bounded: bool = False
    refuted: Callable[[Evidence], Iterator[Span]] = nowhere

    @property
    def url(self) -> str:
        return PAGE.format(code=self.code)

    def finding(
        self, evidence: Evidence, message: str, span: Span, story: Iterable[Label], fix: Fix | NoFix | None = None,
        *, severity: Severity | None = None, optional: bool = False, shown: Symptom | None = None,
        subject: Subject | None = None, shown_by: SecondBackward | Conflict | Telling | None = None,
    ) -> Draft:  # fmt: skip
        """A finding of this rule in the program of `evidence`, with its fix or why there is none.

        `shown`: which of `shows` is its symptom; by default the first. `subject`: what it is about, for `yields_to`. `shown_by`:
        the backward pass that raises, from which a repair is searched where there is no `fix`.
        """
        document = evidence.program.named(span.path)
        optional = optional or self.bounded and is_test(document)
        unfixed = fix.reason if isinstance(fix, NoFix) else ""
        repair = fix if isinstance(fix, Fix) else None
        shows = self.shows if shown is None else (shown, *(each for each in self.shows if each != shown))
        named = re.search("`([^`]*)`", message)
        by_hand = self.by_hand.replace("{}", named[1] if named is not None else "it")
        return Draft(
            self.code,
            self.name,
            message,
            document.path,
            span,
            tuple(story),
            repair,
            severity or self.severity,
            optional,
            unfixed,
            by_hand,
            shows,
            subject=subject or Subject(),
            shown_by=shown_by,
        )


def rule(code: str, name: str, module: dict, find: Callable[[Evidence], Iterator[Finding]], **declared: Any) -> Rule:
    """The rule documented by the docstring of the module that defines `find`; `declared`: the other fields of `Rule`."""
    page = inspect.cleandoc(_documented(module))
    return Rule(code, name, page.splitlines()[0].rstrip("."), f"# {name} ({code})\n\n{page}\n", find, **declared)


def _documented(module: dict) -> str:
    """The docstring of a module, from its file where Python has left it out (`-OO`)."""
    text: str | None = module["__doc__"]
    if text is None:
        source = module["__spec__"].loader.get_source(module["__name__"])
        text = ast.get_docstring(ast.parse(source))
    return text or ""
