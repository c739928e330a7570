"""Calls: those of the project are entered, those of torch and Python are looked up, the rest depends on its arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from graphfix.effects.project_rows import has_rows
from graphfix.interpreter.definitions import holds_no_graph, is_abstract
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.hooks import before_forward, behind_forward
from graphfix.interpreter.interpreter import MAX_DEPTH, Interpreter, Raise, Return
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.lookup import find_method
from graphfix.interpreter.places import item_of, made_here
from graphfix.interpreter.project_functions import by_row, row_of_callee, row_of_method
from graphfix.interpreter.recording import CompiledCall
from graphfix.interpreter.refusals import refuse_other_kinds
from graphfix.interpreter.unknown_calls import call_unknown, hand_on
from graphfix.interpreter.values import (
    KEPT,
    NONE,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    GradMode,
    Instance,
    Keywords,
    Manager,
    Mapping,
    NonTensor,
    OpenKeywords,
    Partial,
    Sequence,
    SuperProxy,
    TorchModule,
    Unknown,
    Value,
    given,
    slot_of,
)


def call_node(m: Interpreter, node: ast.Call) -> Value:
    """Evaluate a call expression."""
    target = node.func
    if isinstance(target, ast.Attribute):
        receiver = m.evaluate(target.value)
        method = find_method(receiver, target.attr)
        arguments, keywords = arguments_of(m, node)
        if has_rows():
            row = row_of_method(receiver, method, target.attr)
            made = by_row(m, row, receiver, arguments, keywords, node) if row is not None else None
            if made is not None:
                return made
        if method is not None:
            return call(m, method, arguments, keywords, node)
        return call_method(m, receiver, target.attr, arguments, keywords, node)
    callee = m.evaluate(target)
    if isinstance(callee, External) and callee.name == "builtins.super":
        return super_of(m, node)
    arguments, keywords = arguments_of(m, node)
    if has_rows():
        row = row_of_callee(callee, getattr(target, "id", ""))
        made = by_row(m, row, None, arguments, keywords, node) if row is not None else None
        if made is not None:
            return made
    return call(m, callee, arguments, keywords, node)


def arguments_of(m: Interpreter, node: ast.Call) -> tuple[Arguments, Keywords]:
    arguments: Arguments = []
    for part in node.args:
        if isinstance(part, ast.Starred):
            value = m.evaluate(part.value)
            arguments.extend(iterate(m, value, part))
        else:
            value = m.evaluate(part)
            m.note_use(part, value)
            arguments.append(value)
    keywords: Keywords = {}
    rest: Value | None = None
    for keyword in node.keywords:
        value = m.evaluate(keyword.value)
        m.note_use(keyword.value, value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords.update({key: item for key, item in value.items.items() if isinstance(key, str)})
        elif isinstance(value, (Unknown, NonTensor)):
            rest = value
    return arguments, keywords if rest is None else OpenKeywords(keywords, rest)


def super_of(m: Interpreter, node: ast.Call) -> Value:
    for frame in reversed(m.frames):
        if isinstance(frame.owner, Class) and frame.receiver is not None:
            return SuperProxy(frame.receiver, frame.owner)
    return Unknown(("super", node))


def call(m: Interpreter, callee: Value, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call `callee`."""
    m.tick()
    if m.recording.compiled and callee in m.recording.compiled:
        return call_compiled(m, callee, arguments, keywords, site)
    return call_plain(m, callee, arguments, keywords, site)


def call_compiled(m: Interpreter, callee: Value, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call what `torch.compile` has compiled."""
    first = m.now()
    try:
        return call_plain(m, callee, arguments, keywords, site)
    finally:
        m.recording.compiled_calls.append(CompiledCall(site, m.recording.compiled[callee], first, m.order))


def call_plain(m: Interpreter, callee: Value, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    if isinstance(callee, Function):
        return enter(m, callee, arguments, keywords, site)
    if isinstance(callee, BoundMethod):
        if callee.function is not None:
            return call(m, callee.function, [callee.receiver, *arguments], keywords, site)
        return call_method(m, callee.receiver, callee.name, arguments, keywords, site)
    if isinstance(callee, Class):
        return instantiate(m, callee, arguments, keywords, site)
    if isinstance(callee, (Instance, TorchModule)):
        before, m.training = m.training, m.mode_of(callee)
        try:
            entered = call_instance if isinstance(callee, Instance) else call_layer
            arguments = before_forward(m, callee, arguments, site)
            made = entered(m, callee, arguments, keywords, site)  # type: ignore[arg-type]
            return behind_forward(m, callee, arguments, made, site)
        finally:
            m.training = before
    if isinstance(callee, Partial):
        return call(m, callee.function, [*callee.arguments, *arguments], {**callee.keywords, **keywords}, site)
    if isinstance(callee, External):
        if callee.name.startswith("torch.") or callee.name == "torch":
            return m.models.call_torch(m, callee.name, arguments, keywords, site)
        return m.models.call_library(m, callee.name, arguments, keywords, site)
    if isinstance(callee, GradMode):
        return with_mode(callee, arguments)
    if isinstance(callee, Manager):
        return with_context(callee, arguments)
    if isinstance(callee, Constant):
        return NonTensor(("call", site, m.now()))
    return call_unknown(m, callee, arguments, keywords, site, callee.identity)


# what calls these methods: https://docs.python.org/3/reference/datamodel.html#special-method-names
BUILTINS = {f"__{name}__": f"builtins.{name}" for name in ("iter", "next", "len", "bool", "float", "int", "abs", "reversed", "str", "repr")}
BUILTINS["__get__"] = "types.MethodType"  # of a function: https://docs.python.org/3/howto/descriptor.html#functions-and-methods


# of a function whose decorator is not followed: what is done with what it gets and gives is not known
NOT_FOLLOWED = "not followed"


def enter(m: Interpreter, function: Function, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Simulate a call of a function of the project; one whose results are kept runs once for the same arguments."""
    if "contextmanager" in function.wrappers:
        return Manager(function, arguments, keywords, site)
    run = run_in_contexts if function.contexts else run_function
    if KEPT not in function.wrappers:
        return run(m, function, arguments, keywords, site)
    known = m.recording.memos.setdefault(function, {})
    key = (tuple(map(slot_of, arguments)), tuple((name, slot_of(each)) for name, each in sorted(keywords.items())))
    if key not in known:
        known[key] = run(m, function, arguments, keywords, site)
    return known[key]


def run_in_contexts(m: Interpreter, function: Function, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Simulate the call in the contexts that decorate the function."""
    made: list[Value] = []

    def inside(at: int) -> None:
        if at == len(function.contexts):
            made.append(run_function(m, function, arguments, keywords, site))
        else:
            m.within(function.contexts[at], site, lambda _: inside(at + 1))

    inside(0)
    return made[0] if made else NONE


def run_function(m: Interpreter, function: Function, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Simulate the call itself."""
    definition = function.definition
    if is_abstract(definition, function.owner):
        return call_unknown(m, Unknown(("abstract", function.key)), arguments, keywords, site, ("abstract", function.key))
    if is_too_deep(m, definition):
        return m.unknown(site, given(arguments, keywords), callee=None)
    frame = opened(m, function, arguments, keywords, site)
    try:
        run_frame(m, frame, function, partial(run_body, m, frame, definition))
    except Raise:
        if m.tries or not m.frames:
            raise  # the program works, so what it was given was fine: as a call that could not be entered
        return m.unknown(site, given(arguments, keywords))
    m.recording.returned[frame] = frame.returned or NONE
    if NOT_FOLLOWED in function.wrappers:
        hand_on(m, [*given(arguments, keywords), frame.returned or NONE], site, ("decorated", function.key))
    if frame.yielded:
        made = Sequence("generator", [value for value, _ in frame.yielded])
        made.grad_mode = frame.yielded[0][1]
        made.goes_on = frame.yields_on
        return made
    return frame.returned or NONE


def is_too_deep(m: Interpreter, definition: ast.AST) -> bool:
    return len(m.frames) >= MAX_DEPTH or m.active.get(definition, 0) >= 2


def opened(m: Interpreter, function: Function, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Frame:
    """A new call, with its parameters bound."""
    definition = function.definition
    env = Env(function.env.document, function.env)
    frame = Frame(env, definition, m.trace(), m.context, len(m.frames))
    bind_arguments(m, function, env, arguments, keywords, site)
    frame.owner = function.owner
    frame.is_plain = holds_no_graph(function, given(arguments, keywords))
    first = definition.args.args[:1] or definition.args.posonlyargs[:1]
    if function.owner is not None and first:
        frame.receiver = env.variables.get(first[0].arg)
    return frame


def run_frame(m: Interpreter, frame: Frame, function: Function, run: Callable[[], None]) -> None:
    """Run code of a function in its frame, up to its end."""
    definition = function.definition
    before = m.grad_enabled
    if "no_grad" in function.wrappers:
        m.grad_enabled = False
        m.recording.switches.add(definition)
    elif "enable_grad" in function.wrappers:
        m.grad_enabled = True
    m.frames.append(frame)
    m.active[definition] = m.active.get(definition, 0) + 1
    m.recording.entered.add(definition)
    try:
        run()
    except Return:
        pass
    finally:
        m.frames.pop()
        frame.ended = m.order + 1
        m.active[definition] -= 1
        if "no_grad" in function.wrappers or "enable_grad" in function.wrappers:
            m.grad_enabled = before  # what a statement switches stays so


def run_body(m: Interpreter, frame: Frame, definition: ast.AST) -> None:
    if isinstance(definition, ast.Lambda):
        frame.statement = frame.prefix[-1][1] if frame.prefix else None
        frame.returned = m.evaluate(definition.body)
    else:
        m.execute(definition.body)  # type: ignore[attr-defined]


def bind_arguments(m: Interpreter, function: Function, env: Env, arguments: Arguments, keywords: Keywords, site: ast.AST) -> None:
    """Bind the parameters. Where `**rest` may give one of which the default only says that it is not given, it is taken to."""
    signature = function.definition.args
    positional = [argument.arg for argument in (*signature.posonlyargs, *signature.args)]
    variables = env.variables
    for name, value in zip(positional, arguments):
        variables[name] = value
    if signature.vararg is not None:
        variables[signature.vararg.arg] = Sequence("tuple", arguments[len(positional) :])
    extra: dict[object, Value] = {}
    names = {*positional, *(argument.arg for argument in signature.kwonlyargs)}
    for key, value in keywords.items():
        if key in names:
            variables[key] = value
        else:
            extra[key] = value
    if signature.kwarg is not None:
        variables[signature.kwarg.arg] = made_here(m, Mapping(extra))
    for name in (*positional, *(argument.arg for argument in signature.kwonlyargs)):
        if name not in variables:
            default = function.defaults.get(name)
            if isinstance(keywords, OpenKeywords) and (default is None or default.is_none):
                variables[name] = item_of(m, keywords.rest, name, site)
            else:
                variables[name] = default or Unknown(("parameter", function.key, name, len(m.frames)))


def instantiate(m: Interpreter, cls: Class, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    instance = Instance(cls, ("instance", site, m.now()))
    instance.context = m.context
    if instance.is_module():
        m.recording.builds.append(m.trace())
    initialiser = cls.find("__init__")
    if isinstance(initialiser, Function):
        call(m, initialiser, [instance, *arguments], keywords, site)
    elif cls.fields is not None:
        for name, value in zip(cls.fields, arguments):
            instance.attributes[name] = value
        instance.attributes.update({key: value for key, value in keywords.items() if key in cls.fields})
    elif instance.is_module() and arguments:
        return instance
    for value in arguments if not isinstance(initialiser, Function) and cls.fields is None else ():
        m.escape(value, site, "argument")
    return instance


def call_layer(m: Interpreter, layer: TorchModule, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call a layer of torch, or the `forward` that the program has given this one."""
    own = layer.attributes.get("forward")
    return m.models.call_layer(m, layer, arguments, keywords, site) if own is None else call(m, own, arguments, keywords, site)


def call_instance(m: Interpreter, instance: Instance, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    for name in ("__call__", "forward"):
        method = find_method(instance, name)
        if method is not None:
            return call(m, method, arguments, keywords, site)
    layers = [base for base in instance.cls.external_bases() if base.startswith("torch.nn.") and base != "torch.nn.Module"]
    if layers:
        stand_in = m.models.make_layer(m, layers[0], [], {}, site)
        if isinstance(stand_in, TorchModule):
            stand_in.children = stand_in.children if stand_in.children is None else list(instance.attributes.values())
            return m.models.call_layer(m, stand_in, arguments, keywords, site)
    return call_unknown(m, instance, arguments, keywords, site, instance.key)


def note_defaults(m: Interpreter, function: Function) -> None:
    """Evaluate the defaults once, where the function is defined."""
    arguments = function.definition.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, default in zip(reversed(positional), reversed(arguments.defaults)):
        function.defaults[argument.arg] = m.evaluate(default)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is not None:
            function.defaults[argument.arg] = m.evaluate(default)


def call_method(m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call a method that no code of the project defines."""
    if isinstance(receiver, SuperProxy):
        receiver = receiver.receiver  # no class of the project is left to define it: it is the library's
    elif name == "__call__":
        return call(m, receiver, arguments, keywords, site)
    elif name in BUILTINS:
        return m.models.call_library(m, BUILTINS[name], [receiver, *arguments], keywords, site)
    if isinstance(receiver, Sequence) and receiver.decided_by is not None:
        refuse_other_kinds(m, receiver, name)
    for model in m.models.methods:
        made = model(m, receiver, name, arguments, keywords, site)
        if made is not None:
            return made
    if isinstance(receiver, Unknown) and name == "forward":
        return call_unknown(m, receiver, arguments, keywords, site, receiver.identity)
    if isinstance(receiver, Unknown):
        inner = BoundMethod(receiver, name)
        return call_unknown(m, inner, arguments, keywords, site, ("method", receiver.key, name))
    return call_unknown(m, BoundMethod(receiver, name), arguments, keywords, site, ("method", receiver.serial, name))


def with_mode(mode: GradMode, arguments: Arguments) -> Value:
    """`torch.no_grad()(function)`."""
    if arguments and isinstance(arguments[0], Function) and mode.enabled is not None:
        arguments[0].wrappers.append("enable_grad" if mode.enabled else "no_grad")
    return arguments[0] if arguments else NONE


def with_context(manager: Value, arguments: Arguments) -> Value:
    """`updating(optimizer)(function)`: https://docs.python.org/3/library/contextlib.html#contextlib.ContextDecorator."""
    if arguments and isinstance(arguments[0], Function):
        arguments[0].contexts.append(manager)
    return arguments[0] if arguments else NONE
