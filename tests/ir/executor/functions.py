"""Functions: real ones, whose few statements hand their arguments to the executor.

Python itself binds the arguments, and makes generators and coroutines. Names with two underscores on both sides are those of the
statements.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from graphfix.ir.blocks import Code, Signature
from graphfix.ir.instructions import MakeFunction
from graphfix.ir.variables import Variable

from .frames import Cells, Frame, Program
from .outcomes import Out, Thrown, finish

PLAIN = """\
def function():
    return __finish__(__run__(__given__))
"""
GENERATOR = """\
def function():
    __go__ = __run__(__given__)
    __message__ = None
    while True:
        __out__ = __go__(__message__)
        if type(__out__) is not __Out__:
            return __finish__(__out__)
        try:
            __message__ = yield __out__.value
        except BaseException as __error__:
            __message__ = __Thrown__(__error__)
"""
COROUTINE = """\
async def function():
    __wait__ = __Wait__(__run__(__given__), None)
    try:
        __out__ = await __wait__
    except GeneratorExit:
        __out__ = __wait__.closed()
    return __finish__(__out__)
"""
ASYNCHRONOUS_GENERATOR = """\
async def function():
    __go__ = __run__(__given__)
    __message__ = None
    while True:
        __wait__ = __Wait__(__go__, __message__)
        try:
            __out__ = await __wait__
        except GeneratorExit:
            __out__ = __wait__.closed()
        if type(__out__) is not __Out__:
            __finish__(__out__)
            return
        try:
            __message__ = yield __out__.value
        except BaseException as __error__:
            __message__ = __Thrown__(__error__)
"""
# by whether it is a generator, and whether it is a coroutine
BODIES = {(False, False): PLAIN, (True, False): GENERATOR, (False, True): COROUTINE, (True, True): ASYNCHRONOUS_GENERATOR}
USED = ("__run__", "__finish__", "__Out__", "__Thrown__", "__Wait__")
Go = Callable[[Any], Any]


class Wait:
    """Waits for what a code object awaits, until that returns, raises or yields."""

    def __init__(self, go: Go, message: Any) -> None:
        self.go = go
        self.message = message
        self.out: Any = None

    def __await__(self) -> Wait:
        return self

    def __iter__(self) -> Wait:
        return self

    def __next__(self) -> Any:
        message, self.message = self.message, None
        return self._on(message)

    def send(self, value: Any) -> Any:
        return self._on(value)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        if isinstance(kind, BaseException):
            value = kind
        elif not isinstance(value, BaseException):
            value = kind() if value is None else kind(value)
        return self._on(Thrown(value))

    def close(self) -> None:
        out = self.go(Thrown(GeneratorExit()))
        if type(out) is Out and out.awaited:
            raise RuntimeError("coroutine ignored GeneratorExit")
        self.out = out

    def closed(self) -> Any:
        """How the code object ended when it was closed."""
        if self.out is None:
            raise
        return self.out

    def _on(self, message: Any) -> Any:
        out = self.go(message)
        if type(out) is Out and out.awaited:
            return out.value
        raise StopIteration(out)


def made_function(frame: Frame, instruction: MakeFunction) -> FunctionType:
    program, code = frame.program, frame.program.lowered.code(instruction.body)
    cells = {variable: frame.cell(variable) for variable in program.captured(instruction.body)}
    defaults = {each.name: frame.values[each.value] for each in instruction.defaults}
    signature = code.signature
    positional = [each.name for each in (*signature.positional_only, *signature.positional)]
    function = FunctionType(
        stub(program, code),
        program.namespace,
        code.name.rpartition(".")[2],
        tuple(defaults[name] for name in positional if name in defaults) or None,
        closure(program, code, cells),
    )
    named = {each.name: defaults[each.name] for each in signature.keyword_only if each.name in defaults}
    function.__kwdefaults__ = named or None
    function.__qualname__ = code.name
    if isinstance(code.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function.__doc__ = ast.get_docstring(code.node, clean=False)
    if instruction.annotations:
        function.__annotations__ = {str(each.name): frame.values[each.value] for each in instruction.annotations}
    return function


def closure(program: Program, code: Code, cells: Cells) -> tuple[CellType, ...]:
    """The cells of the names that a stub uses."""
    def begin(given: list[Any]) -> Any:
        return program.start(Frame(program, code, cells, given))

    known = {"__run__": begin, "__finish__": finish, "__Out__": Out, "__Thrown__": Thrown, "__Wait__": Wait}
    return tuple(CellType(known[name]) for name in stub(program, code).co_freevars)


def stub(program: Program, code: Code) -> CodeType:
    """The code of a function of this signature and kind."""
    made = program.stubs.get(code.node)
    if made is None:
        program.stubs[code.node] = made = compiled(program, code)
    assert isinstance(made, CodeType)
    return made


def compiled(program: Program, code: Code) -> CodeType:
    function = ast.parse(BODIES[code.is_generator, code.is_coroutine]).body[0]
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    names = [each.name for each in code.signature]
    function.args = arguments(code.signature)
    take: list[ast.stmt] = [ast.Assign([ast.Name("__given__", ast.Store())], ast.List([ast.Name(name, ast.Load()) for name in names], ast.Load()))]
    if names:
        take.append(ast.Delete([ast.Name(name, ast.Del()) for name in names]))
    function.body = take + function.body
    outer = ast.parse(f"def outer({', '.join(USED)}): pass")
    outer.body[0].body = [function]  # type: ignore[attr-defined]
    around = compile(ast.fix_missing_locations(outer), program.filename, "exec").co_consts[0]
    inner: CodeType = next(each for each in around.co_consts if isinstance(each, CodeType))
    first = min([getattr(code.node, "lineno", 1), *(each.lineno for each in getattr(code.node, "decorator_list", ()))])
    more: dict[str, Any] = {"co_qualname": code.name} if sys.version_info >= (3, 11) else {}
    return inner.replace(co_name=code.name.rpartition(".")[2], co_firstlineno=first, **more)


def arguments(signature: Signature) -> ast.arguments:
    """The parameters of a stub. Their defaults are given to the function."""

    def listed(variables: tuple[Variable, ...]) -> list[ast.arg]:
        return [ast.arg(each.name) for each in variables]

    return ast.arguments(
        posonlyargs=listed(signature.positional_only),
        args=listed(signature.positional),
        vararg=ast.arg(signature.rest.name) if signature.rest is not None else None,
        kwonlyargs=listed(signature.keyword_only),
        kw_defaults=[None] * len(signature.keyword_only),
        kwarg=ast.arg(signature.keywords.name) if signature.keywords is not None else None,
        defaults=[],
    )
