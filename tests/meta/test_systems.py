"""Where a system lacks what only POSIX has, every module can be imported, files are checked, and what cannot be done is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

# what Python leaves out on Windows: https://docs.python.org/3/library/signal.html, https://docs.python.org/3/library/os.html
TAKEN_AWAY = """
import asyncio, concurrent.futures, multiprocessing, os, platformdirs, signal, subprocess, sys
platformdirs.user_cache_path()  # it asks which system this is
for name in ("SIGHUP", "SIGKILL", "SIGALRM", "SIGVTALRM", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGTSTP", "SIGCONT", "SIGSTOP", "SIGQUIT",
             "setitimer", "ITIMER_REAL", "ITIMER_VIRTUAL", "pthread_sigmask", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK", "alarm", "pause", "sigwait"):
    vars(signal).pop(name, None)
for name in ("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "setsid", "setpgid", "killpg", "getpgid", "mkfifo", "fchmod", "fchown",
             "chown", "lchown", "sysconf", "sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "waitid", "WNOHANG"):
    vars(os).pop(name, None)
for name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog", "readline"):
    sys.modules[name] = None
"""
IMPORTS = TAKEN_AWAY + """
import importlib, pkgutil
import graphfix
failed = []
for found in pkgutil.walk_packages(graphfix.__path__, "graphfix."):
    if found.name.endswith("__main__") or ".fixtures." in found.name or ".probe." in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except Exception as error:
        failed.append(f"{found.name}: {type(error).__name__}: {error}")
print("\\n".join(failed))
"""
COMMAND = TAKEN_AWAY + "sys.argv[:1] = ['graphfix']\nfrom graphfix.cli import main\nsys.exit(main())\n"


def run(code: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, timeout=300)


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    done = run(IMPORTS, folder=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


def test_files_are_checked_and_repaired(tmp_path: Path, loops: SimpleNamespace) -> None:
    for number in range(40):
        (tmp_path / f"x{number}.py").write_text(loops.total)
    done = run(COMMAND, "check", "--isolated", "--no-cache", "-j", "4", "--output-format", "concise", ".", folder=tmp_path)
    assert done.returncode == 1 and done.stdout.count("GF101") == 40, done.stdout + done.stderr
    done = run(COMMAND, "apply", "--isolated", "--no-cache", "x1.py", folder=tmp_path)
    assert (done.returncode, (tmp_path / "x1.py").read_text()) == (0, loops.total_fixed), done.stdout + done.stderr


@pytest.mark.parametrize("words", [["campaign", "plan", "."], ["server"], ["verify", "x.py"], ["trace", "x.py"], ["check", "--watch", "."]])
def test_what_needs_a_fork_is_one_line(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "x.py").write_text("print(1)\n")
    done = run(COMMAND, *words, folder=tmp_path)
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("graphfix: error: ") and line.endswith("needs a system that can fork a process, such as Linux or macOS")
