"""What is written about a run: one JSON file, whole at any time, also where the run is killed."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .looking import attributes
from .places import installed

if TYPE_CHECKING:
    from .start import Request
    from .watch import Watch

# between two states of a run that goes on: as soon as that takes no more than a hundredth of its time, and at the latest
SOONEST, SECONDS, SHARE = 0.2, 5.0, 100
MESSAGE = 2000  # characters
WARNINGS = 200
HERE = str(Path(__file__).parent)


class Report:
    """Gathers what is told about one run, and writes it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.watch: Watch | None = None
        self.outcome = "running"
        self.code: int | None = None
        self.error: dict[str, Any] | None = None
        self.thread_errors: list[dict[str, Any]] = []
        self.warned: list[str] = []
        self._owner = os.getpid()
        self._seen = 0  # how many of sys.modules were looked at
        self._files = set() if request.module else {os.path.realpath(request.script)}
        self._home = os.path.abspath("." if request.module else os.path.dirname(request.script)) + os.sep
        self._started = self._written = time.perf_counter()
        self._pause = SOONEST
        self._has_walk = False
        self._writing = threading.Lock()

    def watch_over_the_process(self, user_part: Callable[[types.TracebackType | None], types.TracebackType | None]) -> None:
        """Registered before the script can register anything, so that the last word comes last.

        `user_part`: a traceback without what the probe has put into it.
        """
        atexit.register(self.at_exit)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._terminated)
        self._listen_to_warnings()
        hook = threading.excepthook

        def heard(words: threading.ExceptHookArgs) -> None:
            if words.exc_value is not None and len(self.thread_errors) < 20:
                self.thread_errors.append(told(words.exc_value, self._home))
            part = user_part(words.exc_traceback)
            if words.exc_value is not None:
                words.exc_value.__traceback__ = part
            hook(threading.ExceptHookArgs((words.exc_type, words.exc_value, part, words.thread)))

        threading.excepthook = heard

    def _listen_to_warnings(self) -> None:
        show = warnings.showwarning

        def heard(message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: Any, **more: Any) -> None:
            if len(self.warned) < WARNINGS:
                self.warned.append(str(message)[:MESSAGE])
            if filename.startswith(HERE):  # torch warned of the line that called it, which is the probe's
                filename, lineno = _caller()
            show(message, category, filename, lineno, *rest, **more)

        warnings.showwarning = heard

    def failed(self, error: BaseException) -> None:
        """The script ended by an exception."""
        if isinstance(error, SystemExit):
            code = error.code
            self.code = 0 if code is None else code & 0xFF if isinstance(code, int) else 1
            self.outcome = "finished" if self.code == 0 else "exited"
        else:
            self.outcome, self.code = ("interrupted", 130) if isinstance(error, KeyboardInterrupt) else ("failed", 1)
        if self.code:
            self.error = told(error, self._home)
            if self.watch is not None:
                self.watch.failed(error)
        self.write()

    def came_to_its_end(self) -> None:
        self.outcome, self.code = "finished", 0
        if self.watch is not None:
            self.watch.came_to_an_end()
        self.write()

    def after_walk(self) -> None:
        """The first is told at once: what comes behind it may end the run."""
        if self._has_walk:
            self.now_and_then()
        else:
            self._has_walk = True
            self.write()

    def now_and_then(self) -> None:
        """A run may be killed without a word: leave a recent state."""
        if time.perf_counter() - self._written > self._pause and self._writing.acquire(blocking=False):  # another thread may be at it
            try:
                self.write()
            finally:
                self._writing.release()

    def at_exit(self) -> None:
        self.write()
        if self.request.forked and os.getpid() == self._owner:
            # a fork has nothing to take down: the server's torch is not its own
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code if self.code is not None else 1)

    def _terminated(self, number: int, frame: types.FrameType | None) -> None:
        if os.getpid() == self._owner and self.outcome == "running":
            self.outcome = "terminated"
            self.write()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def write(self) -> None:
        """Write the state so far; a forked worker of the script has nothing to tell."""
        if os.getpid() != self._owner:
            return
        began = time.perf_counter()
        partial = f"{self.request.report}.{self._owner}.part"
        try:
            with open(partial, "w", encoding="utf-8") as file:
                json.dump(self.data(), file)
            os.replace(partial, self.request.report)
        except FileNotFoundError:
            pass  # whoever asked for it was ended, and its folder is gone
        self._written = time.perf_counter()
        self._pause = min(max(SHARE * (self._written - began), SOONEST), SECONDS)

    def _loaded(self) -> list[str]:
        """The files of the user's own code that ran: the script, and what it imported."""
        foreign = (HERE, *installed())
        while self._seen < len(sys.modules):
            modules = list(sys.modules.values())[self._seen :]
            self._seen += len(modules)
            files = (attributes(module).get("__file__") for module in modules)
            own = (file for file in files if isinstance(file, str) and os.path.isabs(file) and not file.startswith(foreign))
            self._files.update(map(os.path.realpath, own))
        return sorted(self._files)

    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "version": 1,
            "outcome": self.outcome,
            "exit_code": self.code,
            "error": self.error,
            "thread_errors": self.thread_errors,
            "warnings": self.warned,
            "loaded": self._loaded(),
            "seconds": round(time.perf_counter() - self._started, 6),
            "torch": None,
        }
        if self.watch is not None:
            data.update(_of_torch(self.watch))
        return data


def _caller() -> tuple[str, int]:
    """The innermost line that is not the probe's, nor that of `warnings`."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((HERE, warnings.__file__)):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def _of_torch(watch: Watch) -> dict[str, Any]:
    """What the instrument saw."""
    import torch

    tally, results = watch.tally, watch.results
    results.read_waiting()
    cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return {
        "torch": torch.__version__,
        "walks": watch.walks.rows, "walk_count": watch.walks.count,
        "live": tally.live, "peak": tally.peak, "made": tally.made,
        "peak_saved_bytes": tally.peak_bytes if watch.counts_saved else None,
        "reads": watch.reads, "waits": watch.waits,
        "cuda_peak": torch.cuda.max_memory_allocated() if cuda else None,
        "trace": watch.told(),
        "losses": results.losses, "numbers": results.numbers, "parameters": results.parameters(),
    }  # fmt: skip


def told(error: BaseException, home: str) -> dict[str, Any]:
    """Type and message of an error, and the last line of the user's own code, at `home` or elsewhere, that it went through."""
    file, line = None, None
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    else:
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith((HERE, "<frozen"))
        ]
        foreign = installed()
        own = [f for f in frames if os.path.abspath(f.filename).startswith(home) or not f.filename.startswith(foreign)]
        if own or frames:
            file, line = (own or frames)[-1].filename, (own or frames)[-1].lineno
    return {"type": type(error).__name__, "message": str(error)[:MESSAGE], "file": file, "line": line}
