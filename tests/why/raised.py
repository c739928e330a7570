"""What Python prints of a program that raises or warns, run in this process: torch is loaded once for all of them."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import distributed
from torch._C._distributed_c10d import HashStore
from torch._functorch import config


def printed(path: Path) -> str:
    """The warnings and the traceback of a program, as if it had been started by hand; empty if there are none."""
    text, said, failed = path.read_text("utf-8"), [], ""
    with warnings.catch_warnings(record=True) as caught, _one_process(text), _compiled_anew(), _always_warning():
        warnings.simplefilter("always")
        try:
            exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != str(path):
                trace = trace.tb_next
            failed = "".join(traceback.format_exception(type(error), error, trace))
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            said.append(warnings.formatwarning(warning.message, warning.category, warning.filename, warning.lineno))
    return "".join(said) + failed


@contextmanager
def _one_process(text: str) -> Iterator[None]:
    """A group of one process, if the program needs it."""
    if "DistributedDataParallel" not in text:
        yield
        return
    distributed.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        distributed.destroy_process_group()


@contextmanager
def _compiled_anew() -> Iterator[None]:
    """What a program compiles, and sets for it, is not there for the next one."""
    donated = config.donated_buffer
    try:
        yield
    finally:
        config.donated_buffer = donated
        torch.compiler.reset()


@contextmanager
def _always_warning() -> Iterator[None]:
    """Warnings that torch gives once in a process are given each time."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(before)
