"""Code that sees how a program computes, and not only what: the variables of its frames, its objects, each operation.

What such code finds may change with any fix, and no flow shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.flow import Flow
from graphfix.repairs.inquiry import Open

# https://docs.python.org/3/reference/datamodel.html#frame-objects, https://docs.python.org/3/library/gc.html
VARIABLES = frozenset(
    "_getframe f_locals f_globals f_back tb_frame currentframe settrace setprofile get_objects get_referrers get_referents".split()
)
FRAMES = ("inspect.stack", "inspect.trace", "inspect.currentframe")
# https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-python-api,
# https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks
OPERATIONS = frozenset(
    "TorchDispatchMode TorchFunctionMode __torch_function__ __torch_dispatch__ saved_tensors_hooks FlopCounterMode "
    # https://docs.pytorch.org/docs/stable/autograd.html#forward-mode-automatic-differentiation: tangents go with each operation
    "forward_ad dual_level make_dual unpack_dual jvp jacfwd linearize".split()
)


def seen(flow: Flow) -> Iterator[Open]:
    """The first place of each kind in the code in sight."""
    for document in flow.code.documents.values():
        if document.words & (VARIABLES | OPERATIONS):
            named = [part for part in ast.walk(document.tree) if word_of(part) in VARIABLES | OPERATIONS]
            for words, reason in ((VARIABLES, "sees variables of other functions"), (OPERATIONS, "sees each operation")):
                yield from (Open(part, reason) for part in [each for each in named if word_of(each) in words][:1])
    for call, dotted in flow.code.calls.items():
        module = dotted in ("vars", "getattr") and any(is_module(flow, each) for each in call.args[:1])
        if dotted.startswith(FRAMES) or module:
            yield Open(call, "sees variables of other functions")
            return


def word_of(part: ast.AST) -> str:
    if isinstance(part, (ast.FunctionDef, ast.alias)):
        return part.name.rpartition(".")[2]
    return part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""


def is_module(flow: Flow, value: ast.expr) -> bool:
    """Whether a value is a module looked up by its name: `sys.modules["__main__"]`."""
    sources = [value, *(source for source in flow.graph.sources(value) if isinstance(source, ast.expr))]
    return any(isinstance(each, ast.Subscript) and getattr(each.value, "attr", "") == "modules" for each in sources)
