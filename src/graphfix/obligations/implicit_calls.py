"""Code with a backward() that Python or a library calls without its name, on values that the flow does not lead there."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import arguments, parameters
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Open
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

# special methods of which the flow does not know what they are given
# https://docs.python.org/3/reference/datamodel.html#special-method-names
UNFOLLOWED = frozenset(
    "__new__ __del__ __get__ __set__ __delete__ __set_name__ __getattr__ __getattribute__ __setattr__ __delattr__ __delitem__ "
    "__init_subclass__ __instancecheck__ __subclasscheck__ __prepare__ __mro_entries__ __reduce__ __reduce_ex__ __getstate__ __setstate__ "
    "__copy__ __deepcopy__ __len__ __length_hint__ __bool__ __hash__ __repr__ __str__ __bytes__ __format__ __int__ __float__ __complex__ "
    "__index__ __round__ __trunc__ __floor__ __ceil__ __divmod__ __reversed__ __await__ __aiter__ __anext__ __aenter__ __aexit__ __dir__ "
    "__sizeof__ __fspath__ __array__ __torch_function__ __buffer__".split()
)
# classes whose instances are filled, made or asked by code of Python itself
BUILT_IN = frozenset("list dict set tuple deque OrderedDict defaultdict Counter type EnumMeta Enum IntEnum Flag".split())
# https://docs.python.org/3/library/audit_events.html: what is told there comes to a hook
TELLS = frozenset(("sys.audit",))


def unnamed(flow: Flow) -> Iterator[Open]:
    """The first such code in sight."""
    found = itertools.chain(run_by_python(flow), run_by_libraries(flow), told(flow), bound_by_hand(flow))
    yield from itertools.islice(found, 1)


def run_by_python(flow: Flow) -> Iterator[Open]:
    """Special methods, and those of a class that is like a container of Python."""
    for name, methods in flow.code.methods.items():
        for method in methods:
            special = name in UNFOLLOWED or any(word(base) in BUILT_IN for base in flow.code.class_of[method].bases)
            if special and goes_backward(flow, method):
                yield Open(method, "calls backward() in a method that Python calls implicitly")


def goes_backward(flow: Flow, method: ast.AST) -> bool:
    """Whether a method, or what it surely leads to, goes backward: of all that it may lead to, too much is only thought to be led to."""
    parts = (part for code in flow.led_to(method) for part in subtree(code))
    return any(isinstance(part, ast.Call) and name_of(part.func) in WALKS for part in parts)


def run_by_libraries(flow: Flow) -> Iterator[Open]:
    """Functions that go backward from what they are given, and that no code in sight calls: they are hooks, or filters."""
    entered = {callee.code for callees in flow.calls.led_to.values() for callee in callees}
    named = {name_of(call.func) for call in flow.calls.targets}
    for function in flow.code.functions:
        if (
            function not in entered
            and getattr(function, "name", "") not in named
            and (function in flow.code.taken or is_of_library(flow, function))
        ):
            given = parameters(function)[int(function in flow.code.class_of) :]
            for part in subtree(function):
                if isinstance(part, ast.Call) and name_of(part.func) in WALKS and walks_given(flow, part, given):
                    yield Open(part, "calls backward() on a value that a library passes in")


def is_of_library(flow: Flow, function: ast.AST) -> bool:
    """Whether it is a method of a class that goes on one of a library which may call it: torch calls `forward` alone."""
    cls = flow.code.class_of.get(function)
    bases = cls.bases if cls is not None else []
    return any(flow.code.dotted_in(base) and not word(base).endswith("Module") for base in bases)


def walks_given(flow: Flow, walk: ast.Call, given: Iterable[ast.arg]) -> bool:
    """Whether the walk begins at something in what is `given`."""
    roots = [walk.func.value] if isinstance(walk.func, ast.Attribute) and not flow.code.calls.get(walk) else arguments(walk)[:1]
    return any(each in flow.givers(whole(root)) for root in roots for each in given)


def whole(part: ast.expr) -> ast.expr:
    """The object of which an expression takes a part."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    return part


def told(flow: Flow) -> Iterator[Open]:
    """What tells hooks, which may be anybody's, of a value."""
    yield from (Open(call, "passes it to hooks") for call, dotted in flow.code.calls.items() if dotted in TELLS)


def bound_by_hand(flow: Flow) -> Iterator[Open]:
    """`torch.Tensor.backward.__get__(loss)`."""
    for document in flow.code.documents.values():
        for part in subtree(document.tree) if "__get__" in document.words else ():
            if isinstance(part, ast.Attribute) and part.attr == "__get__" and word(part.value) in WALKS:
                yield Open(part, "calls backward() in a method that Python calls implicitly")
