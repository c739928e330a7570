"""The modules and buffers inside of a module, under the names that torch gives them.

https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.named_modules
"""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.interpreter.iteration import LOOP_LIMIT
from graphfix.interpreter.values import Constant, Instance, Mapping, NonTensor, Sequence, Tensor, TorchModule, Unknown, Value

Module = TorchModule | Instance
MODULES = "_modules"
# what a loop sees of the modules in a module, one by one; of more, torch's layers count by their kind
MOST_NAMED = 2 * LOOP_LIMIT


def children(module: Module) -> dict[str, Module]:
    """The modules right inside of a module, by the names of the attributes or positions that hold them."""
    held: dict[str, Value] = {}
    if isinstance(module, TorchModule):
        names = {id(child): name for name, child in module.names.items()}
        wrapped = {0: "module"} if module.kind == "DataParallel" else {}
        for index, child in enumerate(module.children or ()):
            held[names.get(id(child), wrapped.get(index, str(index)))] = child
        held.update(module.names)
    kept = module.attributes.get(MODULES)
    held.update((name, value) for name, value in module.attributes.items() if name != MODULES)
    if isinstance(kept, Mapping):
        held.update((str(name), value) for name, value in kept.items.items())
    return {name: value for name, value in held.items() if is_module(value)}  # type: ignore[misc]


def is_module(value: Value) -> bool:
    return isinstance(value, TorchModule) or isinstance(value, Instance) and value.is_module()


def named_modules(module: Module) -> dict[str, Module]:
    """The modules in a module, and those in these, each once, by dotted names and in the order of `named_modules()`."""
    found: dict[str, Module] = {}
    seen = {id(module)}
    pending = list(reversed(children(module).items()))
    while pending:
        name, each = pending.pop()
        if id(each) not in seen:
            seen.add(id(each))
            found[name] = each
            pending.extend((f"{name}.{inner}", below) for inner, below in reversed(children(each).items()))
    return found


def submodule(receiver: Module, path: Value) -> Value:
    """What `get_submodule(path)` gives; something unknown where the path is not known, or nothing is known there."""
    if isinstance(path, Constant) and isinstance(path.value, str):
        found = named_modules(receiver).get(path.value) if path.value else receiver
        if found is not None:
            return found
    return Unknown(("submodule", receiver.serial, path.identity))


def listed(receiver: Module, method: str) -> Sequence:
    """What `modules()` and its like go through, in pairs with names where these are asked for.

    Loops see the first few of many, so that then modules of the project come first, and of torch's layers one of each kind;
    names are told only where they are those of all of them.
    """
    inner = named_modules(receiver) if method.endswith("modules") else children(receiver)
    own = {"": receiver} if method.endswith("modules") else {}
    found: list[Value] = []
    if not method.startswith("named_"):
        found.extend((*own.values(), *different(inner.values())))
    elif len(own) + len(inner) <= MOST_NAMED:
        found.extend(Sequence("tuple", [Constant(name), each]) for name, each in (*own.items(), *inner.items()))
    else:
        for index, each in enumerate((*own.values(), *different(inner.values()))):
            found.append(Sequence("tuple", [NonTensor((method, receiver.serial, index)), each]))
    return Sequence("generator", found, True)


def different(modules: Iterable[Module]) -> list[Module]:
    """All modules of the project, and of torch's layers one of each kind."""
    all_of_them = list(modules)
    kinds = {each.kind: each for each in all_of_them if isinstance(each, TorchModule)}
    return [*(each for each in all_of_them if isinstance(each, Instance)), *kinds.values()]


def modules_of(module: Module) -> Mapping:
    """`module._modules`: the dict in which it keeps the modules right inside of it."""
    made = Mapping({name: child for name, child in children(module).items()}, open_=True)
    module.attributes[MODULES] = made
    return made


def buffers(module: Instance) -> dict[str, Tensor]:
    """The tensors that a module and those in it have registered as buffers, as they are now, by dotted names."""
    found: dict[str, Tensor] = {}
    for path, each in {"": module, **named_modules(module)}.items():
        for name in each.buffers if isinstance(each, Instance) else ():
            held = each.attributes.get(name)
            if isinstance(held, Tensor):
                found[f"{path}.{name}" if path else name] = held
    return found
