"""Modules: the text of a program is parsed, lowered and run."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphfix.ir.lowering import Lowered

from .frames import Frame, Program
from .machine import started
from .outcomes import finish

# each call of the program takes several frames of the executor
DEEP = 6000


def run_module(text: str, name: str = "__main__", filename: str = "<program>") -> dict[str, Any]:
    """Run a program as the module `name`, and give its namespace. What it raises is raised."""
    module = types.ModuleType(name)
    module.__dict__.update(__builtins__=builtins, __file__=filename, __package__=name.rpartition(".")[0])
    with known(name, module):
        run(text, module.__dict__, filename)
    return module.__dict__


def run(text: str, namespace: dict[str, Any], filename: str) -> None:
    """Run a program in a namespace, as `exec` does."""
    tree = ast.parse(text, filename)
    namespace["__doc__"] = ast.get_docstring(tree, clean=False)
    run_tree(tree, namespace, filename)


def run_tree(tree: ast.Module, namespace: dict[str, Any], filename: str) -> None:
    program = Program(Lowered(tree), namespace, filename, started)
    namespace.setdefault("__builtins__", builtins)
    frame = Frame(program, program.lowered.code(tree), {}, [])
    frame.names = namespace
    finish(started(frame))


@contextmanager
def known(name: str, module: types.ModuleType) -> Iterator[None]:
    """The module is among the loaded ones while it runs, and the stack is deep."""
    before, depth = sys.modules.get(name), sys.getrecursionlimit()
    sys.modules[name] = module
    sys.setrecursionlimit(max(depth, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(depth)
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
