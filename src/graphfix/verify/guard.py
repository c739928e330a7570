"""A process that outlives a killed graphfix just long enough to end what it had started and to remove its folders.

A signal to graphfix alone, above all SIGKILL, reaches neither the process groups of the scripts that it runs, nor what these have
started in groups of their own, nor its temporary folders. The guard reads from a pipe what there is; the end of the pipe is the
end of graphfix, whichever way that came about.
It also stands outside of what a script may do to the process that waits for it: where that is stopped, the script ends a while behind its
limit all the same, and whoever was stopped goes on.
This file is also the guard's script: it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

GRACE = 2.0  # seconds for a group to end what it has started in groups of its own
MARK = "GRAPHFIX_RUN"  # in the environment of what is started, and of what that starts
_PAUSE = 0.02
_LOOK = 0.5
_SUBREAPER = 36  # linux/prctl.h
# by the process that started it: a fork has a life of its own
_guards: dict[int, subprocess.Popen[bytes]] = {}
_marks: dict[int, str] = {}


def own_group() -> dict[str, Any]:
    """What `subprocess` has to be given for a process that leads a group of its own, which the guard knows of."""
    pipe = _pipe()
    _adopt_orphans()

    def tell() -> None:
        # by the child itself, before it becomes the program: there is no moment at which nobody knows of it
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        with suppress(OSError):
            os.write(pipe, f"+group {os.getpid()}\n".encode())
        signal.signal(signal.SIGPIPE, before)

    return {"start_new_session": True, "preexec_fn": tell}


def _adopt_orphans() -> None:
    """Become the parent of what loses its own below this process, where the system has that (PR_SET_CHILD_SUBREAPER of prctl(2))."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def own_mark() -> str:
    """The word by which all that this process has started is known: the same for all of its runs, which may print it."""
    return _marks.setdefault(os.getpid(), f"{MARK}={os.getpid()}-{secrets.token_hex(8)}")


def own_environment() -> dict[str, str]:
    """What a script is started with by hand: `graphfix` keeps the working folder off the path for itself only."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}


def marked_environment() -> dict[str, str]:
    """The same for a script with which all that it starts is to end."""
    name, _, word = own_mark().partition("=")
    return own_environment() | {name: word}


def is_marked(process: int, mark: str) -> bool:
    """Whether a process has inherited the mark; no where the system does not tell."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return mark.encode() in file.read().split(b"\0")
    except OSError:
        return False


def ends_by(group: int, seconds: float) -> None:
    """The group is to be gone after so many seconds, also where this process is stopped by then."""
    _say(f"+limit {group} {seconds}")


def over(group: int) -> None:
    """The group has ended: its number may be that of another one from now on."""
    _say(f"-group {group}")


def keep_folder(name: str) -> None:
    """Have the folder removed if this process is not there to do it."""
    _say(f"+folder {os.fsencode(name).hex()}")


def folder_gone(name: str) -> None:
    """The folder has been removed."""
    _say(f"-folder {os.fsencode(name).hex()}")


def _say(line: str) -> None:
    with suppress(OSError):  # a guard that somebody has ended is no reason to end, too
        os.write(_pipe(), f"{line}\n".encode())


def _pipe() -> int:
    """The way to this process's guard, which is started with the first word to it."""
    here = os.getpid()
    if here not in _guards:
        _guards[here] = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, own_mark()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, bufsize=0,
        )  # fmt: skip
    pipe = _guards[here].stdin
    assert pipe is not None
    return pipe.fileno()


def watch() -> None:
    """Read until there is nobody left to write, then clear up what was not said to be over."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    left: dict[str, set[str]] = {"group": set(), "folder": set()}
    limits: dict[str, float] = {}
    for line in _lines(limits):
        kind, what, *rest = line.split(" ")
        if kind == "+limit":
            limits[what] = time.monotonic() + float(rest[0])
        elif kind[0] == "+":
            left[kind[1:]].add(what)
        else:
            left[kind[1:]].discard(what)
            limits.pop(what, None)
    end({int(group) for group in left["group"]})
    end_marked(sys.argv[1])
    for folder in left["folder"]:
        shutil.rmtree(os.fsdecode(bytes.fromhex(folder)), ignore_errors=True)


def _lines(limits: dict[str, float]) -> Iterator[str]:
    """What is said, line by line; meanwhile what is behind its limit is ended."""
    said = b""
    while True:
        if select.select([0], [], [], _LOOK if limits else None)[0]:
            more = os.read(0, 4096)
            if not more:
                return
            *lines, said = (said + more).split(b"\n")
            yield from (line.decode() for line in lines)
        for group in [group for group, limit in limits.items() if time.monotonic() > limit]:
            del limits[group]
            end({int(group)})
            with suppress(ProcessLookupError, PermissionError):  # it may have ended meanwhile, and somebody else be the parent
                os.kill(os.getppid(), signal.SIGCONT)  # it tells what became of the script


def end(groups: set[int]) -> None:
    """End process groups: politely first, so that a server of forks can end these."""
    for group in groups:
        _kill(group, signal.SIGTERM)
    limit = time.monotonic() + GRACE
    while any(_kill(group, 0) for group in groups) and time.monotonic() < limit:
        time.sleep(_PAUSE)
    for group in groups:
        _kill(group, signal.SIGKILL)


def end_marked(mark: str) -> None:
    """End what has left its group."""
    limit = time.monotonic() + GRACE
    while time.monotonic() < limit and os.path.isdir("/proc"):
        left = [int(name) for name in os.listdir("/proc") if name.isdigit() and is_marked(int(name), mark)]
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not left:
            break
        time.sleep(_PAUSE)


def _kill(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    watch()
