"""The instrument: a mode that sees every call of torch, and what is laid over the calls that a mode does not see."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .births import Tally
from .results import Results
from .saved import saved_by
from .walks import Walks

_Tensor = torch.Tensor
# what hands a value of a tensor to Python, for which an accelerator has to finish its work
READS: dict[Any, str] = {
    getattr(_Tensor, name): name.strip("_")
    for name in ("item", "tolist", "cpu", "numpy", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__format__")
}
NUMBERS = {_Tensor.item, _Tensor.__float__, _Tensor.__int__}
PLAIN = torch._C.DisableTorchFunction


class Watch(TorchFunctionMode):
    """Gives every node its birth, and counts what waits for an accelerator. One for all threads."""

    def __init__(self, saved: bool = False) -> None:
        super().__init__()
        self.tally = Tally(saved_by if saved else None)
        self.results = Results()
        self.walks = Walks(self.tally, self.results)
        self.reads: dict[str, int] = {}
        self.counts_saved = saved
        self.waits = 0  # reads that a real accelerator waited for

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        if isinstance(result, _Tensor):
            self.tally.note(result)
            if func in READS:
                self.read(func, args, result)
        elif isinstance(result, (tuple, list)):
            for item in result:
                if isinstance(item, _Tensor):
                    self.tally.note(item)
            if func in READS:
                self.read(func, args, result)
        elif func in READS:
            self.read(func, args, result)
        return result

    def compiled(self, result: Any) -> None:
        """Compiled code, which no mode sees into, has made `result`."""
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, _Tensor):
                self.tally.note(value)

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has made a step."""

    def came_to_an_end(self) -> None:
        """The script is over, and its variables are still there."""

    def told(self) -> dict[str, Any]:
        """What is told besides the numbers."""
        return {}

    def read(self, func: Any, args: tuple[Any, ...], result: Any) -> None:
        """Count a read, and keep the number."""
        name = READS[func]
        self.reads[name] = self.reads.get(name, 0) + 1
        if args and args[0].device.type != "cpu":
            self.waits += 1
        # torch reads numbers of its own, too, such as the seed of a loader
        if func in NUMBERS and isinstance(result, (int, float)) and not self.tally.is_torch(sys._getframe(2)):
            self.results.number(self.walks.count, float(result))


class Instrument:
    """Lays a watch over torch, for the main thread and every thread that Python starts."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._paused = threading.local()
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        self._watch_threads()
        self._watch_walks()
        self._watch_functions()
        self._watch_optimizers()
        self._leave_compiled_code_alone()
        self.watch.__enter__()  # type: ignore[no-untyped-call]

    def uninstall(self) -> None:
        """Take everything off again, where the process goes on without."""
        self.watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        while self._undo:
            self._undo.pop()()

    def _lay(self, owner: Any, name: str, over: Any) -> None:
        """Put `over` in the place of an attribute."""
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, over)

    def _watch_threads(self) -> None:
        """A mode belongs to the thread that enters it; `run` may be a subclass's own, so it is laid over at the start."""
        start, watch = threading.Thread.start, self.watch

        @functools.wraps(start)
        def watched_start(thread: threading.Thread) -> None:
            run = thread.run

            def watched_run() -> None:
                del thread.run  # the cycle with itself
                with watch:
                    run()

            thread.run = watched_run  # type: ignore[method-assign]
            start(thread)

        self._lay(threading.Thread, "start", watched_start)

    def _watch_walks(self) -> None:
        """Both ways of walking a graph are looked up in `torch.autograd`, also by `Tensor.backward`."""
        walks = self.watch.walks
        for name, roots_name, places in (
            ("backward", "tensors", {"retain_graph": 2, "create_graph": 3, "inputs": 5}),
            ("grad", "outputs", {"inputs": 1, "retain_graph": 3, "create_graph": 4}),
        ):
            walk = getattr(torch.autograd, name)
            self._lay(torch.autograd, name, walks.watched(walk, name, roots_name, places))

    def _watch_functions(self) -> None:
        """`Function.apply` is not told to modes."""
        apply, watch = torch.autograd.Function.apply.__func__, self.watch  # type: ignore[attr-defined]

        @functools.wraps(apply)
        def watched_apply(cls: type, *args: Any, **kwargs: Any) -> Any:
            result = apply(cls, *args, **kwargs)
            if _is_among(watch):  # else it is part of a call that is noted as a whole
                with PLAIN():
                    for value in result if isinstance(result, (tuple, list)) else (result,):
                        if isinstance(value, _Tensor):
                            watch.tally.note(value)
            return result

        self._lay(torch.autograd.Function, "apply", classmethod(watched_apply))

    def _watch_optimizers(self) -> None:
        """Remember what is optimised; a step makes no nodes and many calls, so the mode is off in it."""
        from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        add, results = Optimizer.add_param_group, self.watch.results

        @functools.wraps(add)
        def watched_add(optimizer: Any, param_group: dict[str, Any]) -> None:
            add(optimizer, param_group)
            with PLAIN():
                results.optimised(param_group["params"])

        self._lay(Optimizer, "add_param_group", watched_add)
        self._undo.append(register_optimizer_step_pre_hook(self._before_step).remove)
        self._undo.append(register_optimizer_step_post_hook(self._after_step).remove)

    def _before_step(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if optimizer.defaults.get("differentiable") or not _is_on_top(self.watch):
            return None
        self.watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._paused.depth = getattr(self._paused, "depth", 0) + 1
        # a closure is the user's code again
        words = tuple(self._watched_closure(word) if callable(word) else word for word in args)
        return words, {name: self._watched_closure(word) if callable(word) else word for name, word in kwargs.items()}

    def _after_step(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.watch.stepped(optimizer)
        if getattr(self._paused, "depth", 0):
            self._paused.depth -= 1
            self.watch.__enter__()  # type: ignore[no-untyped-call]

    def _watched_closure(self, closure: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(closure)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self.watch:
                return closure(*args, **kwargs)

        return watched

    def _leave_compiled_code_alone(self) -> None:
        """A compiler would trace the mode itself: what it made is called without."""
        compile_ = torch.compile

        def unwatched(function: Any) -> Any:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with _without(self.watch):
                    result = function(*args, **kwargs)
                with PLAIN():
                    self.watch.compiled(result)
                return result

            return call

        @functools.wraps(compile_)
        def watched_compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is None:
                return lambda later: watched_compile(later, *args, **kwargs)
            made = compile_(model, *args, **kwargs)
            if isinstance(made, torch.nn.Module):
                made.forward = unwatched(made.forward)
                return made
            return unwatched(made)

        self._lay(torch, "compile", watched_compile)


def _is_among(mode: TorchFunctionMode) -> bool:
    return any(torch._C._get_function_stack_at(at) is mode for at in range(torch._C._len_torch_function_stack()))


def _is_on_top(mode: TorchFunctionMode) -> bool:
    length = torch._C._len_torch_function_stack()
    return length > 0 and torch._C._get_function_stack_at(length - 1) is mode


@contextmanager
def _without(mode: TorchFunctionMode) -> Iterator[None]:
    """Run without `mode`, wherever it lies among the modes of this thread."""
    stack = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())]
    for other in reversed(stack):
        if other is not mode:
            torch._C._push_on_torch_function_stack(other)
    try:
        yield
    finally:
        for _ in range(torch._C._len_torch_function_stack()):
            torch._C._pop_torch_function_stack()
        for other in reversed(stack):
            torch._C._push_on_torch_function_stack(other)
