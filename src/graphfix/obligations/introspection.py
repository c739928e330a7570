"""Code that sees how a program computes, and not only what: the variables of its frames, its objects, each operation.

What such code finds may change with any fix, and no flow shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.flow import Flow
from graphfix.effects.rows import is_known, row_of
from graphfix.effects.schema import Observes
from graphfix.obligations.inquiry import Open
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

# https://docs.python.org/3/reference/datamodel.html#frame-objects, https://docs.python.org/3/library/gc.html
VARIABLES = frozenset(
    "_getframe __globals__ f_locals f_globals f_back tb_frame currentframe settrace setprofile get_objects get_referrers get_referents".split()
)
# https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-python-api,
# https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks
OPERATIONS = frozenset(
    "TorchDispatchMode TorchFunctionMode __torch_function__ __torch_dispatch__ saved_tensors_hooks FlopCounterMode "
    # https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook
    "register_multi_grad_hook "
    # https://docs.pytorch.org/docs/stable/autograd.html#forward-mode-automatic-differentiation: tangents go with each operation
    "forward_ad dual_level make_dual unpack_dual jvp jacfwd linearize".split()
)


# what Python and torch call by these names, so that giving an object another one changes what a program does
CALLED = frozenset("forward backward __call__ _call_impl zero_grad _forward_hooks _forward_pre_hooks _backward_hooks".split())
# what gives the text of a file
OPENS = frozenset(("open", "read_text", "read_bytes"))
# settings of torch, whatever is written there
SETTINGS = ("torch.backends", "torch._dynamo", "torch._inductor", "torch.version")


def seen(flow: Flow) -> Iterator[Open]:
    """The first place of each kind in the code in sight."""
    yield from replaced(flow)
    yield from by_its_module(flow)
    yield from reading_code(flow)
    for document in flow.code.documents.values():
        if document.words & (VARIABLES | OPERATIONS):
            named = [part for part in subtree(document.tree) if word_of(part) in VARIABLES | OPERATIONS]
            for words, reason in (
                (VARIABLES, "can read the variables of other functions"),
                (OPERATIONS, "intercepts every tensor operation"),
            ):
                yield from (Open(part, reason) for part in [each for each in named if word_of(each) in words][:1])
    for call, dotted in flow.code.calls.items():
        module = dotted in ("vars", "getattr") and any(is_module(flow, each) for each in call.args[:1])
        row = row_of(dotted)
        variables = row is not None and row.observes is Observes.VARIABLES or module
        if variables or not dotted and counts_operations(flow, call):
            yield Open(call, "can read the variables of other functions" if variables else "counts tensor operations")
            return


def reading_code(flow: Flow) -> Iterator[Open]:
    """Where a program reads the text of code, which may be its own: `open(__file__)`."""
    for call, dotted in flow.code.calls.items():
        row = row_of(dotted) if dotted else None
        opened = dotted in OPENS or word_of(call.func) in OPENS
        own = opened and any(isinstance(part, ast.Name) and part.id == "__file__" for part in subtree(call))
        if own or row is not None and row.observes is Observes.SOURCE:
            yield Open(call, "reads the text of the program, which this fix changes")
            return


def counts_operations(flow: Flow, call: ast.Call) -> bool:
    """Whether a call reads what a profiler has noted of each operation, and the program does not only show it as a table."""
    rows = library.rows_at(call) if isinstance(call.func, ast.Attribute) else ()
    profilers = [row.of_class for row in rows if row.observes is Observes.OPERATIONS]
    return bool(profilers) and not set(profilers).isdisjoint(flow.code.calls.values()) and not is_only_shown(flow, call)


def is_only_shown(flow: Flow, made: ast.expr) -> bool:
    """Whether an object goes nowhere but to its names, and to what shows it: `print(prof.key_averages().table())`."""
    places = {place for place, _ in flow.graph.reach([made], made=False).places if isinstance(place, ast.expr)}
    read = [place for place in places if not isinstance(getattr(place, "ctx", None), ast.Store) and getattr(place, "value", None) not in places]
    return all(is_showing(flow, flow.paths.parents.get(place)) for place in read)


def is_showing(flow: Flow, above: ast.AST | None) -> bool:
    if isinstance(above, ast.Call):
        return library.shows(flow.code.calls.get(above, ""))
    return isinstance(above, (ast.Assign, ast.AnnAssign, ast.Expr)) or isinstance(above, ast.Attribute) and above.attr == "table"


def by_its_module(flow: Flow) -> Iterator[Open]:
    """Where a program looks at its own variables as those of a module."""
    for document in flow.code.documents.values():
        for part in subtree(document.tree):
            names = [alias.name for alias in part.names] if isinstance(part, ast.Import) else []
            names += [part.module or ""] if isinstance(part, ast.ImportFrom) else []
            modules = isinstance(part, ast.Attribute) and part.attr == "modules" and ast.unparse(part.value) == "sys"
            if "__main__" in names or modules and gives_module(part, document):
                yield Open(part, "can read the variables of other functions")
                return


def gives_module(modules: ast.Attribute, document: Document) -> bool:
    """Whether `sys.modules` may give, or take, a module: it does not where it is only asked whether it has one."""
    above = document.parents.get(modules)
    is_asked = isinstance(above, ast.Compare) and all(isinstance(each, (ast.In, ast.NotIn)) for each in above.ops)
    return not (is_asked and modules in above.comparators)


def replaced(flow: Flow) -> Iterator[Open]:
    """Where an object, a class or torch itself is given another method: what the name says is not what runs."""
    for document in flow.code.documents.values():
        for part in subtree(document.tree):
            if isinstance(part, ast.Attribute) and replaces(flow, part, document.parents.get(part)):
                yield Open(part, "replaces a method, or an attribute of a library, at run time")
                return
    for call, dotted in flow.code.calls.items():
        if dotted == "setattr" and len(call.args) == 3:
            named = isinstance(call.args[1], ast.Constant) and call.args[1].value in CALLED
            if named or is_of_known_library(flow, call.args[0]):
                yield Open(call, "replaces a method, or an attribute of a library, at run time")
                return


def replaces(flow: Flow, part: ast.Attribute, above: ast.AST | None) -> bool:
    if isinstance(part.ctx, ast.Load):
        return part.attr.endswith("_hooks") and part.attr in CALLED
    if part.attr in CALLED:
        return True
    if part.attr == "step" and isinstance(above, ast.Assign):
        return any(is_function(flow, source) for source in flow.graph.sources(above.value))
    return is_of_known_library(flow, part.value) and not f"{flow.code.dotted(part.value) or ''}.{part.attr}".startswith(SETTINGS)


def is_of_known_library(flow: Flow, value: ast.expr) -> bool:
    """Whether a value may be of a library of which something is known, which no longer holds then; of others, nothing is taken for granted."""
    known = flow.code.dotted(value) or "" if flow.code.dotted_in(value) else None
    return known is not None and (not known or is_known(known.partition(".")[0]))


def is_function(flow: Flow, source: object) -> bool:
    made = isinstance(source, ast.Call) and flow.code.calls.get(source, "").startswith("functools.")
    return made or isinstance(source, (ast.FunctionDef, ast.Lambda))


def word_of(part: ast.AST) -> str:
    if isinstance(part, (ast.FunctionDef, ast.alias)):
        return part.name.rpartition(".")[2]
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "getattr":
        return next((str(each.value) for each in part.args[1:2] if isinstance(each, ast.Constant)), "")
    return part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""


def is_module(flow: Flow, value: ast.expr) -> bool:
    """Whether a value is a module looked up by its name: `sys.modules["__main__"]`."""
    sources = [value, *(source for source in flow.graph.sources(value) if isinstance(source, ast.expr))]
    return any(isinstance(each, ast.Subscript) and getattr(each.value, "attr", "") == "modules" for each in sources)
