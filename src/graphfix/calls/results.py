"""What a call gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.calls.attributes import DESCRIPTORS, OF_PROGRAM, class_variables
from graphfix.calls.classes import REPLACES
from graphfix.calls.meanings import (
    UNKNOWN,
    Bound,
    Class,
    Descriptor,
    Function,
    Instance,
    Library,
    Meaning,
    Object,
    Super,
    Unknown,
    given_by,
)
from graphfix.calls.values import MAX_SOURCES, Returned, Values
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Returns
from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Call, MakeFunction, ReadAttribute, Return
from graphfix.ir.variables import Variable

# methods that run when an object is called; the second one through torch.nn.Module.__call__
CALLED = ("__call__", "forward")
GIVES_ITSELF = (Returns.ITSELF, Returns.ELEMENT, Returns.COPY)
CODE = (Function, Class, Bound)


def result_of(values: Values, code: Code, call: Call) -> Iterator[Meaning]:
    """What a call may give, by what may be called."""
    for meaning in values.of((code, call.function)):
        if isinstance(meaning, Library):
            yield from _of_library(values, code, call, meaning.name)
        elif isinstance(meaning, Object):
            yield from _of_object(values, code, call, meaning)
        elif isinstance(meaning, Class):
            yield Instance(meaning.node)
            yield from _returned(values, class_variables(values, meaning, "__new__"))
        elif isinstance(meaning, (Function, Bound)):
            yield from values.of(Returned(meaning.node if isinstance(meaning, Function) else meaning.function))
        elif isinstance(meaning, Instance):
            yield from of_called_instance(values, meaning)
        else:
            yield UNKNOWN


def of_called_instance(values: Values, of: Instance) -> Iterator[Meaning]:
    """What calling an object gives."""
    for name in CALLED:
        found = class_variables(values, of, name)
        if found:
            yield from _returned(values, found)
            return
    yield UNKNOWN


def _returned(values: Values, variables: list[Variable]) -> Iterator[Meaning]:
    for variable in variables:
        for meaning in values.of(variable):
            if isinstance(meaning, Function):
                yield from values.of(Returned(meaning.node))
            elif isinstance(meaning, Unknown):
                yield meaning


def returned_by(values: Values, key: Returned) -> Iterator[Meaning]:
    """The equation of what a function gives back; a coroutine is taken for what it gives when it is awaited."""
    code = values.program.home(key.function).lowered.code(key.function)
    if code.is_generator:
        yield Object("types.GeneratorType")
        return
    returns = [each for each in code.instructions() if isinstance(each, Return)]
    yield from (UNKNOWN,) if len(returns) > MAX_SOURCES else ()
    for each in returns[:MAX_SOURCES]:
        yield from values.of((code, each.value))


def _of_library(values: Values, code: Code, call: Call, name: str) -> Iterator[Meaning]:
    """What a function or class of a library gives: as a decorator, and where its row says so, what it is given."""
    given = _given(values, code, call)
    if name == "super":
        yield from _super(values, code, call)
    elif name in DESCRIPTORS:
        yield from (Descriptor(name, each.node) if isinstance(each, Function) else UNKNOWN for each in given)
    elif name in ("type", "object.__new__"):
        yield from (Class(each.cls) for each in given if isinstance(each, Instance) and each.exact)
        yield UNKNOWN
    elif name == "getattr":
        yield UNKNOWN
    elif name in REPLACES:
        yield from (each if isinstance(each, Instance) else UNKNOWN for each in given)
    else:
        yield from _handed_on(values, code, call, name, given)


def _handed_on(values: Values, code: Code, call: Call, name: str, given: list[Meaning]) -> Iterator[Meaning]:
    row = row_of(name)
    own = [each for each in given if isinstance(each, OF_PROGRAM)]
    if row is not None and row.returns in GIVES_ITSELF:
        handed = [*given, *_receiver(values, code, call, row.returns is Returns.ITSELF)]
        yield from handed or _late(values, Object(name, (code, call)))
        return
    if (row is None or row.transparent) and own and all(isinstance(each, CODE) for each in own):
        yield from own  # as a decorator does
    yield Object(name, (code, call))


def _late(values: Values, meaning: Meaning) -> Iterator[Meaning]:
    """What a call gives if, once all is known, it hands nothing on."""
    if values.finds_nothing():
        yield meaning


def _receiver(values: Values, code: Code, call: Call, itself: bool) -> Iterator[Meaning]:
    """The object of a method that gives it back, as `model.to(device)` does."""
    giver = code.givers[call.function]
    if itself and isinstance(giver, ReadAttribute):
        yield from values.of((code, giver.object))


def _of_object(values: Values, code: Code, call: Call, of: Object) -> Iterator[Meaning]:
    """What an object of a library gives when it is called, or one of its methods: of a decorator, the function that it is given."""
    row = row_of(of.name)
    if row is not None and row.returns is Returns.ITSELF:
        yield from _receiver(values, code, call, True)
        return
    own = [each for each in _given(values, code, call) if isinstance(each, CODE)]
    yield from own if own and len(call.arguments) == 1 else _late(values, given_by(f"{of.name}()", of.made))


def _given(values: Values, code: Code, call: Call) -> list[Meaning]:
    return list(dict.fromkeys(each for argument in call.arguments for each in values.of((code, argument.value))))


def _super(values: Values, code: Code, call: Call) -> Iterator[Meaning]:
    """`super()` means the class around and the first parameter; `super(Class, object)` says both."""
    file = values.program.home(code.node)
    cls = file.class_of_method(code.node)
    if not call.arguments and cls is not None:
        function = _method_around(values, code, cls)
        yield Super(cls, Class(cls) if function is not None and is_of_class(values, function) else Instance(cls, exact=False))
        return
    named = values.of((code, call.arguments[0].value)) if call.arguments else [UNKNOWN]
    objects = values.of((code, call.arguments[1].value)) if len(call.arguments) > 1 else []
    for meaning in named:
        if not isinstance(meaning, Class):
            yield UNKNOWN
            continue
        receivers = [each for each in objects if isinstance(each, (Instance, Class))]
        yield from (Super(meaning.node, each) for each in receivers or [Instance(meaning.node, exact=False)])


def _method_around(values: Values, code: Code, cls: ast.ClassDef) -> ast.AST | None:
    file = values.program.home(code.node)
    node: ast.AST | None = code.node
    while node is not None and file.class_around(node) is not cls:
        outer = file.lowered.scopes[node].outer
        node = outer.code if outer is not None else None
    return node


def is_of_class(values: Values, method: ast.AST) -> bool:
    """Whether a function in a class gets the class: as a class method, `__new__`, or what Python makes one."""
    if getattr(method, "name", "") in ("__new__", "__init_subclass__", "__class_getitem__"):
        return True
    return any(descriptor.how.endswith("classmethod") for descriptor in descriptors_of(values, method))


def descriptors_of(values: Values, method: ast.AST) -> Iterator[Descriptor]:
    """What the decorators of a function in a class have made of it."""
    file = values.program.home(method)
    cls = file.class_around(method)
    variable = file.member(cls, getattr(method, "name", "")) if cls is not None else None
    is_decorated = isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.decorator_list
    for meaning in values.of(variable) if variable is not None and is_decorated else ():
        if isinstance(meaning, Descriptor) and meaning.function is method:
            yield meaning


def first_parameter(values: Values, method: ast.AST) -> Iterator[Meaning]:
    """What the first parameter of a function in a class is."""
    cls = values.program.home(method).class_around(method)
    if cls is None or isinstance(method, ast.Lambda):
        yield UNKNOWN
    elif is_of_class(values, method):
        yield Class(cls)
    elif any(each.how in ("staticmethod",) for each in descriptors_of(values, method)):
        yield UNKNOWN
    else:
        yield Instance(cls, exact=False)


def parameter_of(values: Values, code: Code, variable: Variable) -> Iterator[Meaning]:
    """What a parameter is: the object of a method; of others nobody knows but what it is where it is not given."""
    signature = code.signature
    first = (*signature.positional_only, *signature.positional)[:1]
    if variable in first:
        yield from first_parameter(values, code.node)
    else:
        yield UNKNOWN
    file = values.program.home(code.node)
    around = file.origins.code(code.node)
    for made in file.origins.own(around).get(code.node, ()):
        for default in made.defaults if isinstance(made, MakeFunction) else ():
            if default.name == variable.name:
                yield from values.of((around, default.value))
