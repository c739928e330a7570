"""`torch.compile`: code whose backward pass is compiled, too, and cannot be differentiated."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Arguments, Constant, External, Keywords, Partial, Value
from graphfix.models.registry import models

COMPILE = "torch.compile"


@models(COMPILE)
def compiled(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    if not arguments:
        return keywords.get("model") or Partial(External(COMPILE), [], dict(keywords))
    note_compiled(m, arguments[0], keywords, site)
    return arguments[0]


def note_compiled(m: Interpreter, value: Value, keywords: Mapping[str, Value], site: ast.AST) -> None:
    """Take note of a module or function whose backward pass is compiled: by a backend that does so, and that nothing switches off.

    https://docs.pytorch.org/docs/stable/generated/torch.compile.html; the backend "eager" leaves autograd as it is.
    """
    backend, disable = keywords.get("backend"), keywords.get("disable")
    is_known = backend is None or isinstance(backend, Constant) and isinstance(backend.value, str) and backend.value != "eager"
    if is_known and (disable is None or isinstance(disable, Constant) and disable.value is False):
        m.recording.compiled.setdefault(value, site)
