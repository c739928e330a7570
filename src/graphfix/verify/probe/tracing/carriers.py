"""Under which names the frames of a program hold a tensor."""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

DEPTH = 4  # objects in objects
LOOKED_AT = 4000  # values, then the search ends
ENDS = 8  # of a long list these many are looked at from either end
OPTIMIZED = 0x1  # https://docs.python.org/3/library/inspect.html#code-objects-bit-flags
FIELD = ":"  # before the field of a named tuple, which is no object that outlives a call
PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
Matches = Callable[[torch.Tensor], bool]


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


def held_in(frames: Iterable[Any], matches: Matches) -> list[Held]:
    """All names in `frames` under which a tensor that matches can be reached, the best first."""
    found: list[Held] = []
    for depth, frame in enumerate(frames):
        code = frame.f_code
        for name, tensor in reached(variables(frame), matches):
            found.append(Held(name, tensor, code.co_filename, code.co_name, frame.f_lineno, depth))
        if code.co_flags & OPTIMIZED:
            used = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals}
            for name, tensor in reached(used.items(), matches):
                found.append(Held(name, tensor, code.co_filename, "<module>", frame.f_lineno, depth + 1000))
    return sorted(found, key=lambda held: (*held.rank, len(held.name)))


def variables(frame: Any) -> list[tuple[str, Any]]:
    """The variables of a call, or of a module that runs."""
    names = frame.f_locals
    found = list(names.items())
    if frame.f_code.co_flags & OPTIMIZED and type(names) is dict:
        names.clear()  # a copy, which would keep everything alive until the call ends
    return found


def held_by_modules(modules: Iterable[Any], matches: Matches) -> list[Held]:
    """The same for what modules hold when no call of theirs is running."""
    found: list[Held] = []
    for module in modules:
        file = getattr(module, "__file__", "") or ""
        found.extend(Held(n, t, file, "<module>", 0, 0) for n, t in reached(list(vars(module).items()), matches))
    return found


def reached(names: Iterable[tuple[str, Any]], matches: Matches) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that match, by the path that leads to each."""
    seen: set[int] = set()
    level = [(name, value) for name, value in names if not name.startswith("__")]
    for _ in range(DEPTH + 1):
        below: list[tuple[str, Any]] = []
        for path, value in level:
            if isinstance(value, torch.Tensor):
                if matches(value):
                    yield path, value
            elif not isinstance(value, PLAIN) and id(value) not in seen:
                seen.add(id(value))
                if len(seen) > LOOKED_AT:
                    return
                below.extend(inside(path, value))
        level = below


def inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, under the names that Python would reach it by."""
    if isinstance(value, dict):
        for key, item in ends(list(value.items()) if len(value) < 10_000 else []):
            yield f"{path}[{key!r}]" if isinstance(key, (str, int)) else f"{path}[...]", item
    elif isinstance(value, (list, tuple, collections.deque)):
        fields = getattr(value, "_fields", None)
        for index, item in ends(list(enumerate(value))):
            yield (f"{path}{FIELD}{fields[index]}" if fields else f"{path}[{index}]"), item
    elif isinstance(value, torch.nn.Module):
        for name, child in value._modules.items():
            yield (f"{path}[{name}]" if name.isdigit() else f"{path}.{name}"), child
        own = (item for item in vars(value).items() if not item[0].startswith("_") or item[0] not in vars(torch.nn.Module()))
        yield from (
            (f"{path}.{name}", item) for name, item in itertools.chain(value._parameters.items(), value._buffers.items(), own)
        )
    elif isinstance(value, types.MethodType):
        yield f"{path}.__self__", value.__self__
    elif type(value).__module__.split(".")[0] not in ("torch", "numpy", "builtins", "threading", "logging"):
        yield from ((f"{path}.{name}", item) for name, item in list(getattr(value, "__dict__", {}).items()))


def ends(items: list[Any]) -> list[Any]:
    """The first and the last of many."""
    return items if len(items) <= 2 * ENDS else [*items[:ENDS], *items[-ENDS:]]
