"""Where runs begin: the file as a script, a function, or a method on a fresh object."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable

from graphfix.analysis.forwards import is_forward_pass
from graphfix.autograd.backward import WalkKind
from graphfix.interpreter.boundaries import note_boundary
from graphfix.interpreter.calls import instantiate
from graphfix.interpreter.frames import Env
from graphfix.interpreter.interpreter import Interpreter, Stop
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Manager,
    Mapping,
    Sequence,
    Unknown,
    Value,
    nodes_in,
)
from graphfix.lazy_dataclass import dataclass
from graphfix.models.words import LAUNCHERS, UNRECORDED_BY_TRAINER, WALKED_BY_TRAINER
from graphfix.source.spelling import Definition, word
from graphfix.source.subtree import subtree

Start = Callable[[Interpreter, Env], None]


class EntryKind(enum.Enum):
    """What a run begins with."""

    MODULE = enum.auto()
    FUNCTION = enum.auto()
    METHOD = enum.auto()


@dataclass(frozen=True)
class EntryPoint:
    """Where runs begin: what all runs have in common that differ only in their branches.

    `name`: that of the function, or of class and method.
    """

    kind: EntryKind
    name: str = ""

    @property
    def is_module(self) -> bool:
        """Whether it is the analysed file itself, as a script."""
        return self.kind is EntryKind.MODULE


MODULE = EntryPoint(EntryKind.MODULE)


def callers_first(functions: list[Definition], body: list[ast.stmt]) -> list[Definition]:
    """Functions of a module in the order in which they are run: those that its other code calls come last."""
    if len(functions) < 2:
        return functions
    calls = (part.func for each in body for part in subtree(each) if isinstance(part, ast.Call))
    called = {each.id for each in calls if isinstance(each, ast.Name)}
    return sorted(functions, key=lambda function: function.name in called)


def methods_in_order(methods: list[Definition], cls: ast.ClassDef) -> list[Definition]:
    """The same of methods of a class: forward passes come last."""
    if len(methods) < 2:
        return methods
    calls = (part.func for part in subtree(cls) if isinstance(part, ast.Call))
    called = {each.attr for each in calls if isinstance(each, ast.Attribute)}
    return sorted(methods, key=lambda method: (method.name in called, method.name == "forward"))


def run_module(m: Interpreter, env: Env) -> None:
    """The file as a script."""
    env.variables["__name__"] = Constant("__main__")
    m.execute(env.document.tree.body)


def switches_on(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function switches recording on by a statement, so that it is called without."""
    return any(
        isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Call)
        and word(part.value.func) == "set_grad_enabled"
        and [each.value for each in part.value.args if isinstance(each, ast.Constant)] == [True]
        for part in subtree(definition)
    )


def start_function(definition: ast.FunctionDef | ast.AsyncFunctionDef, records: bool = True) -> Start:
    """The function, of a module that is defined. `records`: whether it is of interest also where it records no graph."""

    def start(m: Interpreter, env: Env) -> None:
        function = env.get(definition.name)
        if isinstance(function, Function) and (records or "no_grad" not in function.wrappers):
            m.frame.statement = definition
            m.grad_enabled = m.grad_enabled and not switches_on(definition)
            result = called(m, function, unknown_arguments(function, 0), definition)
            m.escape(result, definition, "returned")
            m.note_reader(result, definition)

    return start


def called(m: Interpreter, function: Function, arguments: Arguments, site: ast.AST) -> Value:
    """What a call gives; a context is entered and left again, and what it gives is what its block gets."""
    made = m.call(function, arguments, {}, site)
    if not isinstance(made, Manager):
        return made
    given: list[Value] = []
    m.within(made, site, given.append)
    return given[0] if given else NONE


def start_method(
    cls: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef, times: int, walks: bool = True, records: bool = True
) -> Start:
    """The method on a fresh object, `times` times: whoever uses the class may call it in a loop.

    `walks`: whether it may go backward, or somebody with what it returns. Where it may not, and has met no graph, once is enough.
    `records`: whether it is of interest also where it records no graph, or is a module's forward pass without a loop of its own.
    """

    def start(m: Interpreter, env: Env) -> None:
        value = env.get(cls.name)
        function = value.attributes.get(method.name) if isinstance(value, Class) else None
        if not isinstance(value, Class) or not isinstance(function, Function):
            return
        if not records and ("no_grad" in function.wrappers or is_forward_pass(value, method.name) and not loops(method)):
            return
        value = completed(value, method.name, env)
        m.frame.statement = cls
        instance = make_instance(m, value, cls)
        env.variables["self"] = instance  # so that what it carries from call to call has a name
        m.recording.receiver = instance
        entry = m.loop(None)
        unrecorded = switches_on(method) or method.name in UNRECORDED_BY_TRAINER and value.is_open()
        m.grad_enabled = m.grad_enabled and not unrecorded
        for iteration in range(times):
            if iteration and not walks and not m.recording.shows_graphs:
                break
            m.frame.statement = cls
            m.context = ((entry, iteration),)
            if iteration:
                note_boundary(m, entry, {})
            skip = 0 if "staticmethod" in function.wrappers else 1
            arguments = ([instance] if skip else []) + unknown_arguments(function, skip)
            before = len(m.recording.walks)
            try:
                result = called(m, function, arguments, method)
                if is_walked(m, instance, value, method, itself=len(m.recording.walks) > before):
                    walk_result(m, result, method)
            finally:
                m.context = ()
            m.escape(result, method, "returned")
            m.note_reader(result, method)

    return start


def completed(cls: Class, method: str, env: Env) -> Class:
    """The class of the objects on which a method is run that `cls` defines: where it lacks what its methods call, the last heir that has it."""
    classes = [each for each in env.variables.values() if isinstance(each, Class) and each is not cls]
    heirs = [each for each in classes if cls in each.linearised() and each.find(method) is cls.attributes.get(method)]
    called = called_on_self(cls.definition) if heirs and cls.definition is not None else ()
    lacking = [name for name in called if cls.find(name) is None]
    return next((each for each in reversed(heirs) if any(each.find(name) is not None for name in lacking)), cls)


def called_on_self(definition: ast.ClassDef) -> set[str]:
    """The methods that those of a class call on their object: of a module that calls itself its forward pass."""
    called = {ast.unparse(part.func) for part in subtree(definition) if isinstance(part, ast.Call)}
    return {name.removeprefix("self.") for name in called if name.startswith("self.")} | ({"forward"} if "self" in called else set())


def loops(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a loop stands in a function: it may add up something over its iterations."""
    return any(isinstance(part, (ast.For, ast.AsyncFor, ast.While)) for part in subtree(definition))


def is_walked(
    m: Interpreter, instance: Value, cls: Class, method: ast.FunctionDef | ast.AsyncFunctionDef, *, itself: bool
) -> bool:
    """Whether what the method returns goes backward in code that is not in sight: by a trainer, or as a failed run has shown.

    `itself`: the method has gone backward by itself.
    """
    if m.conventions.trains_modules and method.name == "forward" and isinstance(instance, Instance) and instance.is_module():
        return not itself
    return method.name in WALKED_BY_TRAINER and cls.is_open() and not walks_itself(instance, method)


def walks_itself(instance: Value, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a training step goes backward by itself: the trainer was told so, or would refuse it.

    https://lightning.ai/docs/pytorch/stable/model/manual_optimization.html
    """
    automatic = instance.namespace.get("automatic_optimization") if instance.namespace is not None else None
    called = {word(part.func) for part in subtree(method) if isinstance(part, ast.Call)}
    return automatic is not None and automatic.is_off or not called.isdisjoint(LAUNCHERS)


def walk_result(m: Interpreter, result: Value, method: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """The trainer that calls `training_step` or `compute_loss` walks the loss that it returns, be it with the outputs."""
    if isinstance(result, Mapping):
        result = result.items.get("loss", NONE)
    if isinstance(result, Sequence) and result.items:
        result = result.items[0]
    returns = [part for part in subtree(method) if isinstance(part, ast.Return)]
    if returns and nodes_in(result):
        m.backward(returns[-1], [result], kind=WalkKind.TRAINER)


def make_instance(m: Interpreter, cls: Class, site: ast.AST) -> Value:
    initialiser = cls.find("__init__")
    arguments = unknown_arguments(initialiser, 1) if isinstance(initialiser, Function) else []
    try:
        return instantiate(m, cls, arguments, {}, site)
    except Stop:
        return Instance(cls, ("instance", site, m.now()))


def unknown_arguments(function: Function, skip: int) -> list[Value]:
    positional = [*function.definition.args.posonlyargs, *function.definition.args.args][skip:]
    return [
        function.defaults[argument.arg]
        if is_of_torch(function.defaults.get(argument.arg))
        else Unknown(("parameter", function.key, argument.arg))
        for argument in positional
    ]


def is_of_torch(default: Value | None) -> bool:
    """Whether what a caller may leave out is a class or function of torch: `optimizer_class=optim.Adam`."""
    return isinstance(default, External) and default.name.startswith("torch.")
