"""Under which names the frames of a program hold a tensor."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from ..looking import OPTIMIZED, attributes, is_a, items, variables
from ..tensors import is_tensor

DEPTH = 4  # objects in objects
LOOKED_AT = 4000  # values, then the search ends
ENDS = 8  # of a long list these many are looked at from either end
FIELD = ":"  # before the field of a named tuple, which is no object that outlives a call
HOLD_NOTHING = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
)
FOREIGN = ("torch", "numpy", "builtins", "threading", "logging")
OF_A_MODULE = frozenset(vars(torch.nn.Module()))
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
Matches = Callable[[torch.Tensor], bool]


@dataclass(frozen=True)
class Closure:
    """The variables that a function keeps of the calls around it."""

    cells: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, value: Any) -> Any:
        """Those of a function; any other value as it is."""
        if type(value) is not types.FunctionType:
            return value
        return cls(tuple(zip(value.__code__.co_freevars, value.__closure__ or ())))

    def filled(self) -> Iterator[tuple[str, Any]]:
        """Those that have a value."""
        for name, cell in self.cells:
            with suppress(ValueError):  # how an empty one says so
                yield name, cell.cell_contents


@dataclass(frozen=True)
class Held:
    """A tensor under a path of names. `depth`: of its frame, 0 is the innermost one of the user's."""

    path: str
    tensor: torch.Tensor
    file: str
    function: str
    line: int
    depth: int

    @property
    def name(self) -> str:
        return self.path.replace(FIELD, ".")

    @property
    def base(self) -> str:
        """The name of what holds it: of a container, not of its item."""
        return self.name.split("[")[0]

    @property
    def rank(self) -> tuple[int, int, bool]:
        """Attributes outlive calls; of variables those of the outermost frame outlive the others, and containers their items."""
        if "." in self.path:
            return 0, self.depth, False
        return 1, -self.depth, "[" not in self.path


def user_frames(frame: Any, is_foreign: Callable[[Any], bool]) -> Iterator[Any]:
    """The frames of the user's own code, the innermost first."""
    while frame is not None:
        if not is_foreign(frame):
            yield frame
        frame = frame.f_back


def held_in(frames: Iterable[Any], matches: Matches, *, whole: bool = False) -> list[Held]:
    """All names in `frames` under which a tensor that matches can be reached, the best first; in `whole` containers, or at their ends."""
    found: list[Held] = []
    for depth, frame in enumerate(frames):
        code = frame.f_code
        for name, tensor in reached(variables(frame), matches, whole):
            found.append(Held(name, tensor, code.co_filename, code.co_name, frame.f_lineno, depth))
        if code.co_flags & OPTIMIZED:
            used = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals}
            for name, tensor in reached(used.items(), matches, whole):
                found.append(Held(name, tensor, code.co_filename, "<module>", frame.f_lineno, depth + 1000))
    return sorted(found, key=lambda held: (*held.rank, len(held.name)))


def held_by_modules(modules: Iterable[Any], matches: Matches) -> list[Held]:
    """The same for all that modules hold when no call of theirs is running."""
    found: list[Held] = []
    for module in modules:
        own = attributes(module)
        file = own.get("__file__") or ""
        found.extend(Held(n, t, file, "<module>", 0, 0) for n, t in reached(list(own.items()), matches, whole=True))
    return found


def reached(names: Iterable[tuple[str, Any]], matches: Matches, whole: bool = False) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that match, by the path that leads to each."""
    seen: set[int] = set()
    level = [(name, value) for name, value in names if not name.startswith("__")]
    for _ in range(DEPTH + 1):
        below: list[tuple[str, Any]] = []
        for path, value in level:
            if is_tensor(value):
                if matches(value):
                    yield path, value
            elif not is_a(value, HOLD_NOTHING) and id(value) not in seen:
                seen.add(id(value))
                if len(seen) > LOOKED_AT:
                    return
                below.extend(inside(path, value, whole))
        level = below


def inside(path: str, value: Any, whole: bool) -> Iterator[tuple[str, Any]]:
    """What an object holds, under the names that Python would reach it by."""
    kind = type(value)
    if issubclass(kind, dict):
        for key, item in ends(list(dict.items(value)) if dict.__len__(value) < 10_000 else [], whole):
            yield f"{path}[{key!r}]" if type(key) in (str, int) else f"{path}[...]", item
    elif (contents := items(value)) is not None:
        fields = next((base.__dict__["_fields"] for base in kind.__mro__ if "_fields" in base.__dict__), None)
        for index, item in ends(list(enumerate(contents)), whole):
            yield (f"{path}{FIELD}{fields[index]}" if fields else f"{path}[{index}]"), item
    elif issubclass(kind, torch.nn.Module):
        held = attributes(value)
        for name, child in held.get("_modules", {}).items():
            yield (f"{path}[{name}]" if name.isdigit() else f"{path}.{name}"), child
        own = (item for item in held.items() if not item[0].startswith("_") or item[0] not in OF_A_MODULE)
        tensors = (held.get(part, {}).items() for part in ("_parameters", "_buffers"))
        yield from ((f"{path}.{name}", item) for name, item in itertools.chain(*tensors, own))
        for part in HOOKS:
            for hook in dict.values(held.get(part) or {}):
                yield f"{path}.{part}[...]", Closure.of(hook)
    elif kind is Closure:
        yield from ((f"{path}.{name}", item) for name, item in value.filled())
    elif kind is types.MethodType:
        yield f"{path}.__self__", value.__self__
    elif str(kind.__module__).split(".")[0] not in FOREIGN:
        yield from ((f"{path}.{name}", item) for name, item in list(attributes(value).items()))


def ends(items: list[Any], whole: bool) -> list[Any]:
    """The first and the last of many, or the `whole`."""
    return items if whole or len(items) <= 2 * ENDS else [*items[:ENDS], *items[-ENDS:]]
