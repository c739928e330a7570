"""A command as the user would type it, run in a copy of the project: under the probe where it starts a Python script."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.copies import copied, import_paths
from graphfix.verify.folders import temporary
from graphfix.verify.guard import marked_environment, own_group
from graphfix.verify.launch import Job, launch, text_of
from graphfix.verify.record import Ending, Failure, Run, ended_by
from graphfix.verify.supervision import Limits, supervised

PYTHON = re.compile(r"python[\d.]*(\.exe)?$")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
SHELL = frozenset("|&;<>()`$*?\n")
WITH_VALUE = ("-X", "-W")  # options of python that take the next word


class BadCommand(Exception):
    """A command that cannot be started."""


@dataclass(frozen=True)
class Command:
    """What to run in a copy of `project`. `place`: the folder below it to run in. Without `job` the shell runs `text`."""

    text: str
    project: Path
    place: Path
    job: Job | None = None
    limit: float = 600.0
    paths: tuple[Path, ...] = field(default=())  # below the project, from which the interpreter imports

    def run(self, changes: Mapping[Path, bytes]) -> Run:
        """Run it in a fresh copy in which the files `changes` have other bytes."""
        with copied(self.project, changes) as copy:
            here = copy / self.place
            if self.job is None:
                return _shell(self.text, here, self.limit, self._environment(copy, {}))
            environment = self._environment(copy, {**_hashing(self.job), **self.job.environment})
            run = launch(replace(self.job, folder=here, limit=self.limit, environment=environment))
            return _translated(run, copy, self.project)

    def _environment(self, copy: Path, given: Mapping[str, str]) -> dict[str, str]:
        old = given.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        mapped = [str(copy / path) for path in self.paths]
        # what the user's own PYTHONPATH has of the project is in `paths` by now
        others = [entry for entry in old.split(os.pathsep) if entry]
        return {**given, **({"PYTHONPATH": os.pathsep.join([*mapped, *others])} if mapped else {})}


def _hashing(job: Job) -> dict[str, str]:
    """With a seed, sets of strings have one order in all runs, unless the user says which."""
    if job.seed is None or "PYTHONHASHSEED" in os.environ:
        return {}
    return {"PYTHONHASHSEED": str(job.seed % (1 << 32))}


def script_command(job: Job, project: Path, limit: float) -> Command:
    """The command that runs a script or module; the working folder stays where it is below the project."""
    here = Path(os.path.realpath(os.curdir))
    place = here.relative_to(project) if here.is_relative_to(project) else Path()
    if not job.module:
        real = Path(os.path.realpath(job.script))
        if real.is_relative_to(project):
            job = replace(job, script=os.path.relpath(real, project / place))
    text = shlex.join(["python", *(["-m"] if job.module else []), job.script, *job.arguments])
    return Command(text, project, place, job, limit, tuple(import_paths(job.python, project)))


def parsed(text: str, project: Path, limit: float, seed: int | None = None) -> Command:
    """The command `text`; `BadCommand` where its first word names nothing that could be run."""
    here = Path(os.path.realpath(os.curdir))
    place = here.relative_to(project) if here.is_relative_to(project) else Path()
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadCommand(f"{text!r} is not a command: {str(error).lower()}") from error
    environment: dict[str, str] = {}
    while words and (match := ASSIGNMENT.fullmatch(words[0])):
        environment[match[1]] = match[2]
        words.pop(0)
    if not words:
        raise BadCommand("the command is empty")
    if SHELL.isdisjoint(text):
        program = shutil.which(words[0])
        if program is None:
            raise BadCommand(f"{words[0]}: no such command")
        job = _python_job(program, words[1:]) if PYTHON.search(os.path.basename(words[0])) else None
        if job is not None:
            command = script_command(replace(job, environment=environment, seed=seed), project, limit)
            return replace(command, text=text)
    python = (shutil.which("python") or sys.executable,)
    return Command(text, project, place, None, limit, tuple(import_paths(python, project)))


def _python_job(program: str, words: list[str]) -> Job | None:
    """The script or module that an interpreter is started with; None for `-c` and the like."""
    # not the real path: an environment is known by the name that its interpreter is started with
    python = [os.path.abspath(program)]
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-"):
        python += words[: 2 if words[0] in WITH_VALUE else 1]
        del words[: 2 if words[0] in WITH_VALUE else 1]
    if not words or words[0] in ("-c", "-"):
        return None
    if words[0] == "-m":
        return Job(words[1], tuple(words[2:]), module=True, python=tuple(python), saved=True) if words[1:] else None
    if not Path(words[0]).is_file():
        raise BadCommand(f"{words[0]}: no such file")
    return Job(words[0], tuple(words[1:]), python=tuple(python), saved=True)


def _shell(text: str, folder: Path, limit: float, environment: Mapping[str, str]) -> Run:
    """Run `text` by the shell; its end is all that there is to tell."""
    with temporary() as streams:
        files = streams / "out", streams / "err"
        with open(files[0], "wb") as out_file, open(files[1], "wb") as err_file:
            process = subprocess.Popen(
                text, shell=True, cwd=folder, env={**marked_environment(), **environment}, stdin=subprocess.DEVNULL,
                stdout=out_file, stderr=err_file, **own_group(),
            )  # fmt: skip
        ended = supervised(process, Limits(limit), files)
        out, err = map(text_of, files)
    if ended.late:
        return Run(Ending.LATE, None, Failure("late", f"not finished after {limit:g} s"))
    failure = ended.excess or ended_by(process.returncode)
    if failure is not None:
        return Run(Ending.KILLED, process.returncode, failure, stdout=out, stderr=err)
    if process.returncode:
        said = (err.strip() or out.strip()).rpartition("\n")[2]
        return Run(Ending.FAILED, process.returncode, Failure(f"exit code {process.returncode}", said), stdout=out, stderr=err)
    return Run(Ending.FINISHED, 0, stdout=out, stderr=err)


def _translated(run: Run, copy: Path, project: Path) -> Run:
    """The run as if it had been made in the project itself: its files have the user's names."""

    def named(file: str | None) -> str | None:
        path = Path(os.path.realpath(file)) if file else None
        if path is None or not path.is_relative_to(copy):
            return file
        return os.path.relpath(project / path.relative_to(copy))

    def told(failure: Failure) -> Failure:
        return replace(failure, file=named(failure.file), message=failure.message.replace(str(copy), str(project)))

    def place(born: str) -> str:
        file, _, line = born.rpartition(":")
        return f"{named(file)}:{line}"

    walks = tuple(
        replace(walk, file=named(walk.file) or "", born={place(born): count for born, count in walk.born.items()})
        for walk in run.walks
    )
    failure = told(run.failure) if run.failure is not None else None
    loaded = tuple(str(project / Path(file).relative_to(copy)) for file in run.loaded if Path(file).is_relative_to(copy))
    return replace(run, failure=failure, thread_failures=tuple(map(told, run.thread_failures)), walks=walks, loaded=loaded)
