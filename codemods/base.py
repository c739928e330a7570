"""What a rule is."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from graphfix.analysis.evidence import Cuts, Evidence
from graphfix.model import Finding

URL = "https://github.com/graphfix/graphfix/blob/main/docs/rules/{code}.md"


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
    cuts: Cuts = nothing
    witnessed: bool = False

    @property
    def url(self) -> str:
        return URL.format(code=self.code)


def rule(
    code: str, name: str, module: ModuleType | dict, find: Callable[[Evidence], Iterator[Finding]], repairs: bool = True,
    cuts: Cuts = nothing, witnessed: bool = False,
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
