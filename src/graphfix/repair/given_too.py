"""Giving an optimizer the parameters of one more module."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.untrained import Untrained
from graphfix.model import Fix, Replace
from graphfix.repair.fixes import fix
from graphfix.source.quote import short


def given_too(evidence: Evidence, each: Untrained, module: ast.AST) -> Fix | None:
    """The only optimizer of a run with the parameters of `module` as well, where that has a name at the place which makes it."""
    program, sites = evidence.program, {site for site, _ in each.optimizers}
    if len(sites) != 1 or not isinstance(module, ast.Name):
        return None
    (site,) = sites
    given = site.args[0] if isinstance(site, ast.Call) and site.args and program.holds(site) else None
    owner = given.func.value if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) else None
    is_call = isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and not given.args and not given.keywords
    is_whole = is_call and given.func.attr == "parameters"
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    is_near = program.enclosing(site, functions) is program.enclosing(module, functions)
    if given is None or owner is None or not is_whole or not is_near or not program.is_first(module, site):
        return None
    text = f"[*{program.source(given)}, *{module.id}.parameters()]"
    doubt = f"`{short(module.id, 20)}` is trained from then on, and may be meant to stay as it is"
    return fix(f"give `{short(module.id, 20)}` to the optimizer, too", Replace(program.span(given), text), doubt=doubt)
