"""A program that does what the installed command would, in a fork of a process that has imported it.

It is for what has to start a program: an editor its language server, a campaign its stages. This file is that program, whose first
word is the address of the process that forks. It gives that its folder, variables, words and streams, and ends as the fork does; it
imports nothing that takes longer than the fork.
"""

from __future__ import annotations

import array
import marshal
import os
import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import socket

LENGTH = 8  # bytes of a number
PAUSE = 0.005
PATIENCE = 1.0  # seconds until it is noticed that nobody can ask any more


def starts(address: str) -> tuple[str, ...]:
    """The words that start the command line by the process at the address; what is in the way of a start takes as long as the fork."""
    return sys.executable, "-I", "-S", __file__, address


def ask(address: str, words: list[str]) -> NoReturn:
    from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET
    from _socket import socket as plain  # without what the other one imports

    line = plain(AF_UNIX, SOCK_STREAM)
    line.connect(address)
    data = marshal.dumps((words, os.getcwd(), dict(os.environ)))
    streams = array.array("i", [0, 1, 2]).tobytes()
    line.sendmsg([len(data).to_bytes(LENGTH, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    line.sendall(data)
    code = os.waitstatus_to_exitcode(int.from_bytes(line.recv(LENGTH), "big"))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


def fork_for(listener: socket.socket) -> dict[str, Any]:
    """Fork for each that asks, several at a time; returns in the fork, with what was asked. Ends with the process that has started it."""
    parent = os.getppid()
    while os.getppid() == parent:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not select.select([listener], [], [], PATIENCE)[0]:
            continue
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return _forked(line)
        line.close()
    os._exit(0)


def _forked(line: socket.socket) -> dict[str, Any]:
    """What is asked, in a fork that leads a session of its own; this process ends it when who asked is gone."""
    import socket

    head, streams, *_ = socket.recv_fds(line, LENGTH, 3)
    left, data = int.from_bytes(head, "big"), b""
    while len(data) < left:
        data += line.recv(left - len(data))
    pid = os.fork()
    if pid == 0:
        line.close()
        os.setsid()
        words, folder, environment = marshal.loads(data)
        return {"words": words, "folder": folder, "environment": environment, "streams": streams}
    for stream in streams:  # whoever reads from the fork waits for the end of all that could write
        os.close(stream)
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended:
        if select.select([line], [], [], PAUSE)[0]:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os._exit(0)
        ended, status = os.waitpid(pid, os.WNOHANG)
    line.sendall(status.to_bytes(LENGTH, "big"))
    os._exit(0)


if __name__ == "__main__":
    ask(sys.argv[1], sys.argv[2:])
