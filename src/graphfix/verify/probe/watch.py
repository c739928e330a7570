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
from .looking import items
from .results import Results
from .saved import saved_by
from .tensors import PLAIN, UNDISPATCHED, tensors_in, unseen
from .walks import Walks

_Tensor = torch.Tensor
# what hands a value of a tensor to Python, for which an accelerator has to finish its work; by id, since what the program lets
# torch call may refuse to be hashed or compared
READS: dict[int, str] = {
    id(getattr(_Tensor, name)): name.strip("_")
    for name in ("item", "tolist", "cpu", "numpy", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__format__")
}
NUMBERS = {id(_Tensor.item), id(_Tensor.__float__), id(_Tensor.__int__)}
QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class Watch(TorchFunctionMode):
    """Gives every node its birth, and counts what waits for an accelerator. One for all threads.

    What it is given, it hands on: the very objects, once, and what comes of them. It looks at none but by `looking`.
    """

    def __init__(self, saved: bool = False) -> None:
        super().__init__()
        self.tally = Tally(saved_by if saved else None)
        self.results = Results()
        self.walks = Walks(self.tally, self.results)
        self.reads: dict[str, int] = {}
        self.counts_saved = saved
        self.waits = 0  # reads that a real accelerator waited for
        self.after_each: Callable[[], None] = lambda: None  # call of torch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except RuntimeError as error:
            with PLAIN(), UNDISPATCHED():
                self.refused(func, args, error)
            raise
        with PLAIN(), UNDISPATCHED():
            self.saw(func, args, kwargs, result)
            self.after_each()
        return result

    def saw(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """`func` has given `result`."""
        for tensor in tensors_in(result):
            self.tally.note(tensor)
        if id(func) in READS:
            self.read(func, args, result)

    def refused(self, func: Any, args: Any, error: RuntimeError) -> None:
        """`func` has raised `error`."""

    def compiled(self, result: Any) -> None:
        """Compiled code, which no mode sees into, has made `result`."""
        for tensor in tensors_in(result):
            self.tally.note(tensor)

    def gave(self, parameters: list[Any]) -> None:
        """An optimizer was given these."""

    def steps(self, optimizer: Any) -> None:
        """An optimizer is about to make a step."""

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has made a step."""

    def failed(self, error: BaseException) -> None:
        """The script is over by an error, whose frames are still there."""

    def came_to_an_end(self) -> None:
        """The script is over, and its variables are still there."""

    def told(self) -> dict[str, Any]:
        """What is told besides the numbers."""
        return {}

    def read(self, func: Any, args: tuple[Any, ...], result: Any) -> None:
        """Count a read, and keep the number."""
        name = READS[id(func)]
        self.reads[name] = self.reads.get(name, 0) + 1
        if args and args[0].device.type != "cpu":
            self.waits += 1
        # torch reads numbers of its own, too, such as the seed of a loader
        if id(func) in NUMBERS and type(result) in (int, float) and not self.tally.is_torch(sys._getframe(3)):
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
        self._hide()
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
        """A mode belongs to the thread that enters it. What a thread runs first is laid over: `run` is the program's own."""
        bootstrap, watch = threading.Thread._bootstrap_inner, self.watch  # type: ignore[attr-defined]

        @functools.wraps(bootstrap)
        def watched_bootstrap(thread: threading.Thread) -> None:
            with watch:
                bootstrap(thread)

        self._lay(threading.Thread, "_bootstrap_inner", watched_bootstrap)

    def _watch_walks(self) -> None:
        """Every way of walking a graph ends at the engine, with its arguments read."""
        engine = torch.autograd.Variable._execution_engine
        self._lay(torch.autograd.Variable, "_execution_engine", self.watch.walks.watching(engine))

    def _hide(self) -> None:
        """Whether a mode is on is asked by fast paths of layers, which compute something else where one is: not of this one."""
        for name in QUESTIONS:
            self._lay(torch.overrides, name, _blind(getattr(torch.overrides, name), self.watch))

    def _watch_functions(self) -> None:
        """`Function.apply` is not told to modes."""
        apply, watch = torch.autograd.Function.apply.__func__, self.watch  # type: ignore[attr-defined]

        @functools.wraps(apply)
        def watched_apply(cls: type, *args: Any, **kwargs: Any) -> Any:
            result = apply(cls, *args, **kwargs)
            if _is_among(watch):  # else it is part of a call that is noted as a whole
                with unseen():
                    for tensor in tensors_in(result):
                        watch.tally.note(tensor)
            return result

        self._lay(torch.autograd.Function, "apply", classmethod(watched_apply))

    def _watch_optimizers(self) -> None:
        """Remember what is optimised; a step makes no nodes and many calls, so the mode is off in it."""
        from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        add, watch = Optimizer.add_param_group, self.watch

        @functools.wraps(add)
        def watched_add(optimizer: Any, param_group: dict[str, Any]) -> None:
            add(optimizer, param_group)
            given = list(items(dict.get(param_group, "params")) or ())
            watch.results.optimised(given)
            watch.gave(given)

        self._lay(Optimizer, "add_param_group", watched_add)
        self._undo.append(register_optimizer_step_pre_hook(self._before_step).remove)
        self._undo.append(register_optimizer_step_post_hook(self._after_step).remove)

    def _before_step(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.watch.steps(optimizer)
        # a closure is the user's code again, and handed on as it is
        closure = any(map(callable, (*args, *kwargs.values())))
        if not closure and not optimizer.defaults.get("differentiable") and _is_on_top(self.watch):
            self.watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._paused.below = torch._C._len_torch_function_stack()

    def _after_step(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.watch.stepped(optimizer)
        below = vars(self._paused).pop("below", None)
        if below is not None:
            _push_at(below, self.watch)

    def _leave_compiled_code_alone(self) -> None:
        """A compiler would trace the mode itself: what it made is called without."""
        compile_ = torch.compile

        def unwatched(function: Any) -> Any:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                with _without(self.watch):
                    result = function(*args, **kwargs)
                with unseen():
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


def _push_at(place: int, mode: TorchFunctionMode) -> None:
    """Enter `mode` below those that were entered after it: each is left by whoever entered it, from the top."""
    above = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack() - place)]
    for each in (mode, *reversed(above)):
        torch._C._push_on_torch_function_stack(each)


def _blind(ask: Callable[..., bool], mode: TorchFunctionMode) -> Callable[..., bool]:
    """`ask`, answered as if `mode` was not on."""

    @functools.wraps(ask)
    def asked(*args: Any) -> bool:
        # a compiler knows the question by its own name; what it has compiled is called without the mode
        if torch.compiler.is_compiling() or not _is_among(mode):
            return ask(*args)
        with _without(mode):
            return ask(*args)

    return asked


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
