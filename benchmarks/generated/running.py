"""Run a script in a fork of a process that has torch, and say what it did: its error, its numbers, its graph at the largest."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import importlib
import io
import os
import pickle
import random
import signal
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Run:
    """What came of a run. `values`: the module-level ones as plain numbers. `peak`: autograd nodes alive at once, at most.

    `place`: the line of the script that raised. `steps`: the size of each gradient that an optimizer stepped with, -1.0 for none.
    `rows`: the lines that were executed, counted from 0, where they are asked for.
    """

    error: str
    values: dict[str, Any]
    printed: str
    peak: int
    place: str = ""
    steps: list[list[float]] = dataclasses.field(default_factory=list)
    rows: frozenset[int] = frozenset()


class _Alive:
    def __init__(self, counter: _Counter) -> None:
        self.counter = counter

    def __del__(self) -> None:
        self.counter.alive -= 1


class _Counter(TorchFunctionMode):
    """Puts a token into each new node: the token dies with the node."""

    def __init__(self) -> None:
        super().__init__()
        self.alive = self.peak = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        self._count(result)
        return result

    def _count(self, value: object) -> None:
        if isinstance(value, (tuple, list)):
            for part in value:
                self._count(part)
        elif isinstance(value, torch.Tensor):
            try:
                node = value.grad_fn
            except RuntimeError:  # a view that was written to in a way that autograd refuses
                return
            if node is not None and "alive" not in node.metadata:
                node.metadata["alive"] = _Alive(self)
                self.alive += 1
                self.peak = max(self.peak, self.alive)


def warm() -> None:
    """Import now what torch imports late, above all with the first optimizer: a second that each fork would pay."""
    torch.set_num_threads(1)
    weight = torch.ones(1, requires_grad=True)
    for optimizer in (torch.optim.SGD([weight]), torch.optim.Adam([weight])):
        # without a gradient nothing is walked: threads of autograd would not survive a fork
        optimizer.zero_grad()
        optimizer.step()
    importlib.import_module("torch.func")
    importlib.import_module("torch.distributions")
    gc.freeze()


def run(text: str, *, traced: bool = False) -> Run:
    """Run the script in a fork; one that does not end in time has that as its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(_run_here(text, traced), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else Run(f"no result in {SECONDS} seconds", {}, "", 0)


def _run_here(text: str, traced: bool) -> Run:
    random.seed(0)
    counter, printed = _Counter(), io.StringIO()
    plain_run = threading.Thread.run

    def counted_run(thread: threading.Thread) -> None:
        with counter:
            plain_run(thread)

    threading.Thread.run = counted_run  # type: ignore[method-assign]
    steps: list[list[float]] = []
    register_optimizer_step_pre_hook(lambda optimizer, *_: steps.append(_sizes(optimizer)))
    failed: list[str] = []
    threading.excepthook = lambda told: failed.append(_named(told.exc_value))
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    error = place = ""
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()), counter:
        warnings.simplefilter("ignore")
        rows: set[int] = set()
        if traced:
            sys.settrace(lambda frame, *_: _noting(rows) if frame.f_code.co_filename == "train.py" else None)
        try:
            exec(compile(text, "train.py", "exec"), vars(module))
        except SystemExit as end:
            error = f"exit {end.code}" if end.code else ""
        except BaseException as raised:
            error, place = _named(raised), _place(raised, text)
        finally:
            sys.settrace(None)
    values = {
        name: _plain(value, set()) for name, value in vars(module).items() if not name.startswith("__") and not _is_code(value)
    }
    return Run(error or "".join(failed[:1]), values, printed.getvalue(), counter.peak, place, steps, frozenset(rows))


def _noting(rows: set[int]) -> Callable[..., Any]:
    def note(frame: types.FrameType, *_: object) -> Callable[..., Any]:
        rows.add(frame.f_lineno - 1)
        return note

    return note


def _sizes(optimizer: torch.optim.Optimizer) -> list[float]:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return [-1.0 if p.grad is None else float(p.grad.detach().norm()) for p in parameters]


def _place(error: BaseException, text: str) -> str:
    lines = [row for frame, row in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == "train.py"]
    return text.split("\n")[lines[-1] - 1].strip() if lines else ""


def _named(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}"


def _is_code(value: object) -> bool:
    return isinstance(value, (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType))


def _plain(value: object, seen: set[int], depth: int = 0) -> Any:
    """What can be compared of a value: numbers, words and None; a tensor is its numbers."""
    if depth > 6 or id(value) in seen:
        return None
    if isinstance(value, torch.nn.Module):
        own = {k: v for k, v in vars(value).items() if not k.startswith("_") and k != "training"}
        return [_plain(dict(value.state_dict()), seen, depth + 1), _plain(own, seen, depth + 1)]
    if isinstance(value, torch.Tensor):
        return value.detach().double().reshape(-1).tolist()
    if isinstance(value, dict):
        return {str(key) if not torch.is_tensor(key) else "tensor": _plain(part, seen, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return [number for part in value for number in _listed(_plain(part, seen, depth + 1))]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [float(value)]
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        seen.add(id(value))
        return _plain(vars(value), seen, depth + 1)
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
