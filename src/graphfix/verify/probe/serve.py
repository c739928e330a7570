"""One import of torch for many scripts: each runs in a fork of a process that has touched no accelerator.

Requests are lines of JSON on stdin, answers lines of JSON on stdout, one for each script that ended:
`{"id": ..., "status": wait status, "late": whether the time limit ended it, "seconds": ...}`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

GRACE = 1.0  # seconds between the polite and the other signal
PAUSE = 0.004


class Child:
    """A fork and its limits."""

    def __init__(self, pid: int, asked: dict[str, Any]) -> None:
        self.pid, self.id = pid, asked["id"]
        self.started = time.monotonic()
        self.deadline = self.started + asked["limit"]
        self.late = False

    def check(self) -> None:
        """End a child that is late, the second time for good; its whole group with it."""
        if time.monotonic() > self.deadline:
            kill(self.pid, signal.SIGKILL if self.late else signal.SIGTERM)
            self.late, self.deadline = True, time.monotonic() + GRACE


def kill(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def serve() -> dict[str, Any] | None:
    """Fork for each request; what a fork has to run is returned in the fork, None in the server once all is done."""
    import torch

    torch.set_num_threads(1)
    # the first optimizer imports half of torch: once here, not in each fork
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    first, *asked = [json.loads(line) for line in sys.stdin]
    workers, running = first["workers"], {}  # type: int, dict[int, Child]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    asked.reverse()
    try:
        while asked or running:
            while asked and len(running) < workers:
                wanted = asked.pop()
                sys.stdout.flush()
                pid = os.fork()
                if pid == 0:
                    running.clear()
                    return settle(wanted)
                running[pid] = Child(pid, wanted)
            if not reap(running):
                time.sleep(PAUSE)
    finally:
        for pid in running:
            kill(pid, signal.SIGKILL)
    return None


def reap(running: dict[int, Child]) -> bool:
    """Tell of each child that ended."""
    ended = False
    for child in list(running.values()):
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            ended = True
            del running[pid]
            kill(pid, signal.SIGKILL)  # what it left behind in its group
            seconds = time.monotonic() - child.started
            print(json.dumps({"id": child.id, "status": status, "late": child.late, "seconds": seconds}), flush=True)
        else:
            child.check()
    return ended


def settle(asked: dict[str, Any]) -> dict[str, Any]:
    """Make the fork what a process of its own would be: group, folder, environment, streams."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, asked["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, asked["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        file = os.open(name, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    request: dict[str, Any] = asked["request"]
    return request
