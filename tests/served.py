"""The command line in forks of one process that has imported it: that takes longer than what most tests have it do.

This file is also the script of that process, which is given the number of a socket. A request is one line of JSON (words,
folder, environment, files of the three streams); the answer is the wait status. A second process, forked from it, does the same for
programs of a test: `started.py`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

STREAMS = (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY))

OF_THE_START = ("PYTHON", "LC_", "LANG")  # what Python reads of its environment when it starts
ENCODING = "PYTHONIOENCODING"  # of that, what can be had later, too
HELD = (ENCODING, "PYTHONSAFEPATH")  # the other one keeps out a folder that is not looked at here, whoever starts the command

# the first is the command itself; the others are for the user's process, as the probe is: torch is seven tenths of the memory
# that each fork would have to copy the tables of
NOT_OF_THE_COMMANDS = (".__main__", ".traced.live", ".traced.pytest_plugin", ".verify.fixtures")
# what some commands import where they need it, and what takes longest to import
LATER = (
    "csv", "encodings.utf_8_sig", "resource", "codeowners", "github", "gitlab.v4.objects", "libcst", "pathspec", "platformdirs", "re2",
    "rich.progress", "typer._click._textwrap", "typer._click.decorators", "typer.rich_utils", "unidiff",
)  # fmt: skip


class Server:
    """Runs one command at a time; `folder` is for the streams."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: folder / name for name, _ in STREAMS}
        self._line, theirs = socket.socketpair()
        self._line.settimeout(600)
        self.address = str(folder / "address")
        words = [sys.executable, __file__, str(theirs.fileno()), self.address]
        self._environment = dict(os.environ)
        self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self._answers = self._line.makefile("r", encoding="utf-8")
        self._answers.readline()  # it listens at the address

    def can(self, environment: Mapping[str, str]) -> bool:
        """Whether a process of its own would start in the same way."""
        return _of_the_start(environment) == _of_the_start(self._environment)

    def run(
        self, words: tuple[str, ...], folder: Path, environment: Mapping[str, str], given: bytes
    ) -> subprocess.CompletedProcess[bytes]:
        for name, content in (("stdin", given), ("stdout", b""), ("stderr", b"")):
            self._files[name].write_bytes(content)
        request = {"words": words, "folder": str(folder), "environment": dict(environment)}
        self._line.sendall((json.dumps(request | {name: str(file) for name, file in self._files.items()}) + "\n").encode())
        code = os.waitstatus_to_exitcode(int(self._answers.readline()))
        return subprocess.CompletedProcess(words, code, *(self._files[name].read_bytes() for name in ("stdout", "stderr")))

    def end(self) -> None:
        self._answers.close()
        self._line.close()
        self._process.wait()


def _of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(OF_THE_START) and name not in HELD}


def preload() -> None:
    """Import what the commands import when they are run; what an extra is needed for may be absent."""
    import graphfix

    names = [module.name for module in pkgutil.walk_packages(graphfix.__path__, "graphfix.")]
    for name in [*names, *LATER]:
        if not name.endswith(NOT_OF_THE_COMMANDS) and ".probe" not in name:
            with suppress(ImportError):
                import_module(name)


def serve(line: socket.socket) -> dict[str, Any] | None:
    """Fork for each request: the request in the fork, None in the server when nobody asks any more."""
    asked = line.makefile("r", encoding="utf-8")
    for text in asked:
        pid = os.fork()
        if pid == 0:
            asked.close()
            line.close()
            return json.loads(text)  # type: ignore[no-any-return]
        line.sendall(f"{os.waitpid(pid, 0)[1]}\n".encode())
    return None


def settle(request: dict[str, Any]) -> None:
    """Make the fork what a process of its own would be."""
    assert _of_the_start(request["environment"]) == _of_the_start(os.environ)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    for number, file in enumerate(request.get("streams") or [os.open(request[name], mode) for name, mode in STREAMS]):
        os.dup2(file, number)
        os.close(file)
    encoding, _, errors = os.environ.get(ENCODING, "").partition(":")
    if encoding:
        sys.stdin.reconfigure(encoding=encoding, errors=errors or "strict")  # type: ignore[union-attr]
        sys.stdout.reconfigure(encoding=encoding, errors=errors or "strict")  # type: ignore[union-attr]
        sys.stderr.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    sys.argv = ["graphfix", *request["words"]]


def leave(code: object) -> None:
    """End as the interpreter does, without taking apart all that the server has imported: that takes longer than the command."""
    # what it does before: https://docs.python.org/3/c-api/init.html#c.Py_FinalizeEx
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):  # what was imported before `main` has the first ones
        stream.flush()  # type: ignore[union-attr]
    os._exit(code if isinstance(code, int) else 1)


def listen(address: str) -> tuple[int, dict[str, Any] | None]:
    """Fork what forks for programs: its number and None here, and in such a fork what is asked."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    pid = os.fork()
    if pid == 0:
        connection.close()
        return pid, fork_for(listener)
    listener.close()
    # what a stage of a campaign takes is for the most part what its command imports; `installed` starts real ones
    stages = import_module("graphfix.campaign.stages")
    stages._COMMAND = starts(address)  # type: ignore[attr-defined]
    connection.sendall(b"0\n")
    return pid, None


if __name__ == "__main__":
    from started import fork_for, starts

    del sys.path[0]  # the tests' own folder
    connection = socket.socket(fileno=int(sys.argv[1]))
    preload()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    forking, wanted = listen(sys.argv[2])
    wanted = wanted or serve(connection)
    if wanted is None:
        os.kill(forking, signal.SIGTERM)
        os.waitpid(forking, 0)
    else:
        settle(wanted)
        from graphfix.cli import main

        try:
            code: object = main()
        except SystemExit as stop:
            code = stop.code
        leave(code)
