"""Forward hooks: functions that a module calls, before with what goes in, behind with what comes out as well.

https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Instance,
    Keywords,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    TorchModule,
    Value,
)

BEFORE = "_forward_pre_hooks"
BEHIND = "_forward_hooks"
REGISTERING = {"register_forward_pre_hook": BEFORE, "register_forward_hook": BEHIND}


def hook_method(
    m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """What registers a hook or, of what that gave, removes it again; None for any other method."""
    if name in REGISTERING:
        hook = arguments[0] if arguments else keywords.get("hook")
        is_module = isinstance(receiver, TorchModule) or isinstance(receiver, Instance) and receiver.is_module()
        if hook is None or not is_module or "with_kwargs" in keywords:
            m.hooked_at = site  # which module calls it, or with what, is not known
            return None
        hooks = hooks_of(receiver, REGISTERING[name])
        if not isinstance(hooks, Mapping):
            hooks = receiver.attributes[REGISTERING[name]] = Mapping({})  # type: ignore[attr-defined]
        handle = NonTensor(("hook", site, m.now()), source=hooks)
        hooks.items[handle.key] = hook
        return handle
    if name == "remove" and isinstance(receiver, NonTensor) and isinstance(receiver.source, Mapping):
        receiver.source.items.pop(receiver.key, None)
        return NONE
    return None


def hooks_of(module: Value, kind: str) -> Value | None:
    """The hooks of a module, by the handles that remove them; None where it has none."""
    return module.attributes.get(kind)  # type: ignore[attr-defined]


def before_forward(m: Interpreter, module: Value, arguments: Arguments, site: ast.AST) -> Arguments:
    """What the forward pass gets, once the hooks before it have seen (and perhaps replaced) it."""
    hooks = hooks_of(module, BEFORE)
    for hook in list(hooks.items.values()) if isinstance(hooks, Mapping) else ():
        given = m.call(hook, [module, Sequence("tuple", arguments)], {}, site)
        if is_another(given):
            arguments = list(given.items) if isinstance(given, Sequence) and given.kind == "tuple" else [given]
    return arguments


def behind_forward(m: Interpreter, module: Value, arguments: Arguments, made: Value, site: ast.AST) -> Value:
    """What the call of the module gives, once the hooks behind the forward pass have seen (and perhaps replaced) it."""
    hooks = hooks_of(module, BEHIND)
    for hook in list(hooks.items.values()) if isinstance(hooks, Mapping) else ():
        given = m.call(hook, [module, Sequence("tuple", arguments), made], {}, site)
        if is_another(given):
            made = given
    return made


def is_another(given: Value) -> bool:
    """Whether a hook is seen to return a value that takes the place of what it was given."""
    return isinstance(given, (Tensor, Sequence, Mapping))
