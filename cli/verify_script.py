"""`graphfix verify SCRIPT`: the user's script beside a repaired copy of it. Runs code, in copies only."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.choices import ListFormat
from graphfix.cli.copying import name_links
from graphfix.cli.exits import ERROR, FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.files.place import project_of
from graphfix.report.escape import escaped
from graphfix.report.report import Report
from graphfix.run.outcome import Outcome
from graphfix.verify.command import Command, script_command
from graphfix.verify.copies import TooLarge
from graphfix.verify.launch import Job
from graphfix.verify.script import Trial, Verdict, judge
from graphfix.verify.steady import doubtful, reconsidered


def run(options: Options) -> int:
    """Run the script as it is and repaired, and give the exit code: 0 verified, 1 it falls short, 2 no verdict."""
    project = _project(options)
    if options.plot is not None:
        check_plot(options.plot)
    report = Report(options.unsafe)
    work = session.start(replace(options, paths=[os.path.relpath(project)]), repair=True)
    try:
        work.examine(report)
        changed = [outcome for outcome in report.changed if Path(os.path.realpath(outcome.path)).is_relative_to(project)]
        if not changed:
            OUT.say(f"graphfix finds nothing to fix in {os.path.relpath(project)}; nothing was run")
            return OK
        trial = _tried(_command(options, project), changed, quiet=options.quiet)
    except KeyboardInterrupt:
        ERR.say("graphfix: interrupted; nothing was changed")
        return INTERRUPTED
    except TooLarge as error:
        session.fail(f"{project} cannot be copied to run in: {error}; --project names a smaller folder")
    with quiet_pipe():
        _show(options, trial, changed)
        if trial.before.lacks_torch:
            say_no_torch(options)
    if options.plot is not None:
        _plot(options.plot, trial, _name(options))
    return {Verdict.GOOD: OK, Verdict.SHORT: FINDINGS, Verdict.NONE: ERROR}[trial.verdict]


def _name(options: Options) -> str:
    """The script, or the module."""
    assert options.words
    return options.words[0]


def _project(options: Options) -> Path:
    if options.project is not None:
        if not options.project.is_dir():
            session.fail(f"no such folder: {options.project}")
        return Path(os.path.realpath(options.project))
    if not options.module and not Path(_name(options)).is_file():
        session.fail(f"no such script: {_name(options)}")
    return project_of(Path(os.curdir) if options.module else Path(_name(options)))


def _command(options: Options, project: Path) -> Command:
    arguments = tuple((options.words or [])[1:])
    job = Job(_name(options), arguments, options.module, python=python_of(options.python), seed=options.seed, saved=True)
    return script_command(job, project, options.timeout)


def python_of(wanted: str | None) -> tuple[str, ...]:
    """The interpreter of the user's scripts: the one that is named, or graphfix's own where that has torch."""
    import importlib.util

    if wanted is not None:
        found = shutil.which(wanted)
        if found is None:
            session.fail(f"--python {wanted}: no such interpreter")
        return (os.path.abspath(found),)
    if importlib.util.find_spec("torch") is not None:
        return (sys.executable,)
    return (os.path.abspath(shutil.which("python3") or shutil.which("python") or sys.executable),)


def say_no_torch(options: Options) -> None:
    """What to do where the interpreter of a script cannot import torch."""
    ERR.say(f"graphfix: {escaped(python_of(options.python)[0])} has no PyTorch; --python names an interpreter that has it")


def _tried(command: Command, changed: list[Outcome], *, quiet: bool) -> Trial:
    changes = {Path(os.path.realpath(outcome.path)): outcome.after for outcome in changed}
    name_links(command.project)
    if not quiet:
        ERR.say(f"running {command.text} as it is")
    before = command.run({})
    if not quiet:
        ERR.say(f"running {command.text} with the fixes")
    after = command.run(changes)
    trial = judge(before, after, {finding.code for outcome in changed for finding in outcome.fixed})
    if not doubtful(trial):
        return trial
    if not quiet:
        ERR.say("they differ: running it as it is once more")
    return reconsidered(trial, command.run({}))


def _show(options: Options, trial: Trial, changed: list[Outcome]) -> None:
    from graphfix.report.script_verdict import as_json, lines

    fixes = places(changed, set(trial.before.loaded) | set(trial.after.loaded))
    if options.verdict_format is ListFormat.JSON:
        OUT.raw(as_json(trial, fixes))
        return
    if trial.verdict is Verdict.NONE:
        ERR.say(f"graphfix: no verdict: {escaped(trial.reason)}")
        return
    for line in lines(trial, fixes, sum(len(outcome.fixed) for outcome in changed)):
        OUT.say(line)


def places(changed: list[Outcome], loaded: set[str]) -> list[str]:
    """The file of every fix and its rules, for people, first those that the runs have loaded: of others the runs show nothing."""

    def place(outcome: Outcome) -> str:
        counts = sorted(Counter(finding.code for finding in outcome.fixed).items())
        codes = ", ".join(code if number == 1 else f"{code} {number}x" for code, number in counts)
        return f"{outcome.path} {codes}{'' if ran(outcome) else ' (not run)'}"

    def ran(outcome: Outcome) -> bool:
        return os.path.realpath(outcome.path) in loaded

    return [place(outcome) for outcome in sorted(changed, key=lambda each: not ran(each))]


def check_plot(path: Path) -> None:
    """Whether a picture can be drawn there; before anything has run."""
    from graphfix.verify.plot import ENDINGS, NoPlotter, check

    if path.suffix.lower() not in ENDINGS:
        session.fail(f"--plot writes {' or '.join(ENDINGS)}, not {path.name}")
    try:
        check()
    except NoPlotter as error:
        session.fail(str(error))


def _plot(file: Path, trial: Trial, title: str) -> None:
    from graphfix.verify.plot import draw

    try:
        draw(trial.before, trial.after, file, title)
    except OSError as error:
        session.fail(f"cannot write {file}: {error.strerror}")
