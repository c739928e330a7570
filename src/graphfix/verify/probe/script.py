"""Runs a script as the interpreter would: arguments, path, `__main__`, exit code, tracebacks, what it left for the exit."""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import Report
from .start import Request

HERE = str(Path(__file__).parent)
OVERRIDES = os.path.join("torch", "overrides.py")
CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'


def run(request: Request) -> None:
    """Run what was asked for; leaves as the script does."""
    report = Report(request)
    report.watch_over_the_process(user_part)
    _when_torch_is_there(report)
    try:
        if request.module:
            _run_module(request)
        else:
            _run_path(request)
    except BaseException as error:
        report.failed(error)
        # whoever shows the traceback shows the script's frames only
        sys.excepthook = _without_our_frames(sys.excepthook)
        raise
    report.came_to_its_end()


def _run_module(request: Request) -> None:
    sys.path.insert(0, os.getcwd())
    sys.argv = [request.script, *request.arguments]
    runpy.run_module(request.script, run_name="__main__", alter_sys=True)


def _run_path(request: Request) -> None:
    script = request.script
    sys.argv = [script, *request.arguments]
    if os.path.isdir(script):
        runpy.run_path(script, run_name="__main__")
        return
    try:
        source = Path(script).read_bytes()
    except OSError as error:
        sys.exit(f"{sys.executable}: can't open file {script!r}: {error}")
    if request.device:
        # a script that asks for CUDA is told of another device
        source = source.replace(CHOICE.encode(), repr(request.device).encode())
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    if request.trace >= 0:
        script = os.path.abspath(script)  # as the interpreter names a script's file
    # stays the main module to the end: threads, exit handlers and pickles look for it
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", script)
    module.__dict__.update(__loader__=loader, __annotations__={}, __builtins__=builtins, __file__=script, __cached__=None)
    sys.modules["__main__"] = module
    exec(compile(source, script, "exec", dont_inherit=True), module.__dict__)


def _without_our_frames(show: Any) -> Any:
    def shown(kind: Any, error: Any, trace: types.TracebackType | None) -> None:
        seen: set[int] = set()
        each = error
        while each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = user_part(each.__traceback__)
            each = each.__cause__ or each.__context__
        show(kind, error, error.__traceback__)

    return shown


def user_part(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback as it would be without the probe: without its frames, and the detours that torch makes to a mode."""
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    names = [entry.tb_frame.f_code.co_filename for entry in entries]
    first = next((at for at, name in enumerate(names) if not name.startswith((HERE, "<frozen")) and name != runpy.__file__), 0)
    kept = None
    for at in reversed(range(first, len(entries))):
        detour = names[at].endswith(OVERRIDES) or at + 1 < len(names) and names[at + 1].endswith(OVERRIDES)
        if not names[at].startswith(HERE) and not detour:
            entry = entries[at]
            kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


class _Torch(importlib.abc.MetaPathFinder):
    """Lays the instrument over torch as soon as the script has imported it, not before: the script may set things up first."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_watch(module: types.ModuleType) -> None:
            execute(module)
            _start_watching(self.report)

        spec.loader.exec_module = execute_and_watch  # type: ignore[method-assign]
        return spec


def _when_torch_is_there(report: Report) -> None:
    if "torch" in sys.modules:
        _start_watching(report)
    else:
        sys.meta_path.insert(0, _Torch(report))


def _start_watching(report: Report) -> None:
    from .watch import Instrument, Watch

    request = report.request
    if request.seed is not None:
        _sow(request.seed)
    watch = Watch(request.saved)
    if request.trace >= 0:
        from .tracing.tracer import Tracer

        watch = Tracer(request.trace)
    if request.reference:
        from .reference import Reference

        watch = Reference(request.reference, request.saved)
    Instrument(watch).install()
    report.watch = watch
    watch.walks.after_each, watch.after_each = report.after_walk, report.now_and_then
    report.write()  # who is ended before anything is computed has imported torch


def _sow(seed: int) -> None:
    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
