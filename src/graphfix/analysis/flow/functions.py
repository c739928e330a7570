"""Functions and calls as they are written: parameters, arguments, properties."""

from __future__ import annotations

import ast

from graphfix.ir.variables import FUNCTIONS
from graphfix.source.subtree import kept_with_node

DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
__all__ = ["DISPLAYS", "FUNCTIONS", "Function", "arguments", "is_property", "parameters"]


def parameters(function: Function) -> list[ast.arg]:
    """All parameters in order, those with stars at the end."""
    given = function.args
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


@kept_with_node
def is_property(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in method.decorator_list)
