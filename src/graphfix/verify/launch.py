"""Starts scripts under the probe, each in a process of its own, time-boxed, and reads what it reports.

`launch(Job(...))` runs one script with the interpreter it would be run with by hand. `launch_all(jobs, workers)` runs many
with one import of torch, each in a fork. Nothing is imported from the script's side, and torch is not imported here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from threading import Thread
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_end, read_json
from graphfix.verify.family import Family
from graphfix.verify.folders import temporary
from graphfix.verify.guard import marked_environment, over, own_environment, own_group
from graphfix.verify.record import Ending, Failure, Run, ended_by, from_report
from graphfix.verify.supervision import GRACE, OUTPUT, PROCESSES, Ended, Limits, supervised

PROBE = Path(__file__).with_name("probe")
LIMIT = 600.0  # seconds
LOOK = 1.0  # seconds after which the server is woken once more
TAIL = 4_000_000  # bytes of a stream that are read back
REPORT_BYTES = 256_000_000
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
# whoever asks for CUDA before a fork asks the management library, not the driver, which does not survive forks
UNTOUCHED = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
# asked of a fresh process: an answer that touches the driver would spoil the forks of the one that asks
ASK_DEVICES = """\
import json
import torch
mps = getattr(torch.backends, "mps", None)
found = ["cpu"] + ["cuda"] * torch.cuda.is_available() + ["mps"] * bool(mps and mps.is_available())
print(json.dumps([torch.__version__, found]))
"""


class NoTorch(Exception):
    """The interpreter has no torch."""


@dataclass(frozen=True)
class Job:
    """One script to run. `module`: `script` is a module's name, as for `python -m`."""

    script: str
    arguments: tuple[str, ...] = ()
    module: bool = False
    folder: Path | None = None  # to run in; None: here
    python: tuple[str, ...] = (sys.executable,)
    environment: Mapping[str, str] = field(default_factory=dict)  # on top of this process's own
    device: str = ""  # "cpu" hides CUDA from the script; "mps" answers its question for CUDA; "": as it is
    seed: int | None = None  # for torch, random and numpy, set when torch has been imported
    saved: bool = False  # count saved tensors, too: slower
    reference: str = ""  # a way to run a faulty script on; see probe/reference.py
    limit: float = LIMIT
    memory: int = 0  # bytes; 0: nine tenths of what is free
    processes: int = PROCESSES
    output: int = OUTPUT  # bytes
    show: bool = False  # the script's streams are the caller's, and not recorded

    @property
    def limits(self) -> Limits:
        return Limits(self.limit, self.memory, self.processes, self.output)


def launch(job: Job) -> Run:
    """Run one script as by hand, and tell what happened. Ctrl-C ends the script's process group, too."""
    with temporary() as folder:
        streams = [None, None] if job.show else [open(folder / stream, "wb") for stream in ("out", "err")]
        words = [*job.python, str(PROBE), *_words(job, folder / "report.json")]
        environment = {**marked_environment(), **_environment(job)}
        process = subprocess.Popen(
            words, cwd=job.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=streams[0], stderr=streams[1], **own_group(),
        )  # fmt: skip
        for stream in streams:
            if stream is not None:
                stream.close()
        ended = supervised(process, job.limits, () if job.show else (folder / "out", folder / "err"))
        return _run(folder / "report.json", folder / "out", folder / "err", process.returncode, ended)


def launch_all(jobs: Iterable[Job], workers: int = 0, python: tuple[str, ...] = (sys.executable,)) -> Iterator[tuple[int, Run]]:
    """Run many scripts, `workers` at a time (0: one per processor); yields index and run as they end.

    One interpreter imports torch and forks for each: `python` of the jobs is not looked at.
    """
    listed = list(jobs)
    if not listed:
        return
    with temporary() as folder, _server(python) as server:
        assert server.stdin is not None and server.stdout is not None
        lines = [json.dumps({"workers": workers or processors()})]
        lines += [json.dumps(_request(index, job, folder)) for index, job in enumerate(listed)]
        try:
            server.stdin.write("\n".join(lines) + "\n")
            server.stdin.close()
        except BrokenPipeError:
            pass  # it has said why on its way out
        told = 0
        Thread(target=_kept_awake, args=(server,), daemon=True).start()
        for line in server.stdout:
            told_of = json.loads(line)
            report, out, err = (folder / f"{told_of['id']}.{kind}" for kind in ("json", "out", "err"))
            code = os.waitstatus_to_exitcode(told_of["status"])
            yield told_of["id"], _run(report, out, err, code, Ended(told_of["late"]))
            told += 1
        if told < len(listed):
            raise RuntimeError(f"the probe's server ended early, with code {server.wait()}")


def processors() -> int:
    """How many scripts run at a time by default."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def devices(python: tuple[str, ...] = (sys.executable,)) -> tuple[str, tuple[str, ...]]:
    """The version of torch, and the devices that it finds."""
    done = subprocess.run([*python, "-c", ASK_DEVICES], env=own_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoTorch(done.stderr.strip().rpartition("\n")[2] or "torch cannot be imported")
    version, found = json.loads(done.stdout.splitlines()[-1])
    return version, tuple(found)


@contextmanager
def _server(python: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    server = subprocess.Popen(
        [*python, str(PROBE), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**marked_environment(), **UNTOUCHED}, **own_group(),
    )  # fmt: skip
    family = Family(server.pid)
    try:
        yield server
    finally:
        if server.poll() is None:
            server.terminate()  # it ends its forks
            with suppress(subprocess.TimeoutExpired):
                server.wait(GRACE)
        family.end()
        server.wait()
        over(server.pid)
        assert server.stdout is not None
        server.stdout.close()


def _kept_awake(server: subprocess.Popen[str]) -> None:
    """A script may stop the server, which is its parent: that goes on, and with it the limits of all."""
    while server.poll() is None:
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGCONT)
        time.sleep(LOOK)


def _environment(job: Job) -> dict[str, str]:
    return {**(HIDDEN if job.device in ("cpu", "mps") else {}), **job.environment}


def _words(job: Job, report: Path) -> list[str]:
    words = ["--report", str(report)]
    words += ["--saved"] if job.saved else []
    words += [] if job.seed is None else ["--seed", str(job.seed)]
    words += ["--reference", job.reference] if job.reference else []
    words += ["--device", job.device] if job.device == "mps" else []
    return [*words, *(["-m"] if job.module else []), job.script, "--", *job.arguments]


def _request(index: int, job: Job, folder: Path) -> dict[str, Any]:
    request = {
        "report": str(folder / f"{index}.json"), "script": job.script, "module": job.module, "arguments": list(job.arguments),
        "saved": job.saved, "seed": job.seed, "reference": job.reference, "device": job.device if job.device == "mps" else "",
    }  # fmt: skip
    return {
        "id": index, "limit": job.limit, "folder": str(job.folder or Path.cwd()), "environment": _environment(job),
        "stdout": str(folder / f"{index}.out"), "stderr": str(folder / f"{index}.err"), "request": request,
    }  # fmt: skip


def _run(report: Path, out: Path, err: Path, code: int, ended: Ended) -> Run:
    """What the report and the end of the process say together."""
    stdout, stderr = text_of(out), text_of(err)
    by_signal = None if ended.late else ended.excess or ended_by(code)
    unsaid = Failure("an exit without a word", f"code {code}")  # by `os._exit` or the like
    try:
        data = read_json(report, REPORT_BYTES)
    except SourceError:  # none, or the script has written into it
        if by_signal is not None:
            return Run(Ending.KILLED, code, by_signal, stdout=stdout, stderr=stderr)
        said = stderr.strip().rpartition("\n")[2]
        failure = Failure("late" if ended.late else "lost", said or f"ended with code {code} and left no report")
        return Run(Ending.LATE if ended.late else Ending.LOST, code, failure, stdout=stdout, stderr=stderr)
    run = from_report({**data, "exit_code": code}, _ending(Ending(data["outcome"]), code, ended), stdout, stderr)
    ended_with = unsaid if run.ending is Ending.LOST else by_signal
    return run if ended_with is None else replace(run, failure=ended_with)


def _ending(reported: Ending, code: int, ended: Ended) -> Ending | None:
    """What the end of the process says about the run; None where the report knows better."""
    if ended.late:
        return Ending.LATE
    if ended.excess or code < 0:
        return Ending.KILLED
    return Ending.LOST if reported is Ending.RUNNING else None


def text_of(path: Path) -> str:
    """The end of what went to a stream."""
    try:
        return read_end(path, TAIL).decode("utf-8", "replace")
    except SourceError:
        return ""
