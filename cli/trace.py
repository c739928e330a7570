"""`graphfix trace`: one run of the user's program, told as a story. Runs code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphfix.cli import session
from graphfix.cli.choices import ListFormat
from graphfix.cli.exits import ERROR, FINDINGS, OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, Screen, quiet_pipe
from graphfix.cli.verify_script import check_plot, python_of, say_no_torch
from graphfix.model import Finding
from graphfix.report.escape import escaped, shown, typed
from graphfix.report.report import Report
from graphfix.report.text import Line, Piece
from graphfix.run.engine import by_run
from graphfix.run.outcome import Outcome
from graphfix.traced import attached
from graphfix.traced.cells import Cells
from graphfix.traced.record import Trace, from_data
from graphfix.verify.folders import temporary
from graphfix.verify.record import ended_by

if TYPE_CHECKING:
    from graphfix.traced.screen import Meaning


NEAR = 8  # files that those of the story import are looked through, too


def run(options: Options) -> int:
    """Run the program, tell its story on standard error, and give its own exit code, or 2 where wanted repairs could not be made."""
    if not options.words:
        session.fail("which program? graphfix trace SCRIPT [-- ARGS]")
    name, *arguments = options.words
    if not options.module and not Path(name).exists():
        session.fail(f"no such script: {name}")
    if options.plot is not None:
        check_plot(options.plot)
    for place in (options.save, options.output_file, options.plot):
        if place is not None and not place.absolute().parent.is_dir():
            session.fail(f"cannot write {place}: no such folder")
    _asked(options, ["."])  # wrong settings are told before anything runs
    with temporary() as folder:
        notebook = _cells(Path(name), folder) if name.endswith(".ipynb") and not options.module else None
        script = name if notebook is None else str(notebook.script)
        words = [*(["-m"] if options.module else []), script, "--", *arguments]
        where = None if notebook is None else notebook.folder
        if not options.quiet:
            ERR.say(f"graphfix: running {escaped(name)} under the probe")
        done = attached.run(words, python_of(options.python), options.max_iterations, options.after, where)
        if done.report is None:
            signal = ended_by(done.code)
            how = f"it was ended by {signal}" if signal is not None else "it ended itself without a word"
            ERR.say(f"graphfix: the program left no report: {how}")
            return _code(done.code) or ERROR
        report = attached.with_signal(done)
        repairs = _tell(options, report if notebook is None else notebook.named(report), folder)
        if from_data(report).run.lacks_torch:
            say_no_torch(options)
    ended_by_us = done.late or options.max_iterations and done.report.get("walk_count", 0) >= options.max_iterations
    return (0 if ended_by_us else _code(done.code)) or repairs


def _code(code: int) -> int:
    """A shell's exit code for a process that ended by a signal."""
    return 128 - code if code < 0 else code


def _cells(path: Path, folder: Path) -> Cells:
    from graphfix.source.errors import SourceError

    try:
        return Cells(path, folder)
    except SourceError as error:
        session.fail(f"{path}: {error.reason}")


def _tell(options: Options, report: dict[str, Any], folder: Path) -> int:
    """Write what is asked for; gives the exit code of the repairs."""
    trace = from_data(report)
    kept = options.save or folder / "run.json"  # also what the repairs go by
    _write(kept, json.dumps(report, indent=1) + "\n")
    if options.plot is not None:
        from graphfix.traced.plot import draw

        draw(trace, options.plot, Path((options.words or [""])[0]).name)
    with quiet_pipe():
        if options.verdict_format is ListFormat.JSON:
            text = json.dumps(report, indent=1)
            if options.output_file is not None:
                _write(options.output_file, text + "\n")
            else:
                OUT.raw(text)
            return OK
        return _story(replace(options, evidence=[kept]), trace)
    return OK


def _story(options: Options, trace: Trace) -> int:
    from graphfix.traced.screen import refused
    from graphfix.traced.screen import shown as on_screen
    from graphfix.traced.story import lines

    sys.stdout.flush()
    ERR.say("")
    meaning = _meaning(trace)
    for line in lines(trace, meaning):
        ERR.line(line)
    explained = refused(trace) or meaning is not None or not on_screen(trace)
    if explained and not options.quiet:
        try:
            return _repair(options, trace)
        except typer.Exit:  # what is wrong has been said
            return ERROR if options.apply_fixes else OK
    return OK


def _meaning(trace: Trace) -> Meaning | None:
    """What `graphfix why` knows of the error on the screen."""
    from graphfix.traced import screen
    from graphfix.why.kinds import kind_of

    errors = screen.shown(trace)
    kind = kind_of(f"{errors[0].kind}: {errors[0].message}") if errors else None
    return screen.Meaning(kind.brief, kind.repair) if kind is not None else None


def _repair(options: Options, trace: Trace) -> int:
    """What `check` and `diff` say of the files of the story, as far as it explains the run; `--apply` does what `apply` does.

    Gives 2 where `apply` would.
    """
    from graphfix.files.place import project_root
    from graphfix.traced.repairs import analysed, has_fix, headed, related
    from graphfix.why.neighbours import imported_files

    files = analysed(trace)
    if not files:
        return OK
    roots = tuple(dict.fromkeys(project_root(path.parent) for path in files))
    near = [path for path in imported_files(files, roots) if path not in files][:NEAR]
    names = [_named(path) for path in (*files, *near)]
    ready: list[Finding] = []
    for outcome in _outcomes(_asked(options, names)):  # a repair may need several of the files
        found = related(trace, outcome)
        for line in headed(found, _named(outcome.path)):
            ERR.line(line)
        ready += filter(has_fix, found)
    return _offer(options, names, ready) if ready else OK


def _offer(options: Options, names: list[str], found: list[Finding]) -> int:
    """The repairs as a diff, and how to make them; or made, as far as that is wanted. Gives 2 where that failed."""
    from graphfix.cli import apply
    from graphfix.model import Applicability

    codes = sorted({finding.code for finding in found})
    unsafe = any(finding.fix is not None and finding.fix.applicability is not Applicability.SAFE for finding in found)
    if options.apply_fixes:
        wanted = _asked(options, names, select=codes, unsafe_fixes=options.unsafe_fixes)
    else:
        wanted = _asked(options, names, select=codes, unsafe_fixes=unsafe)
    code, changed = OK, [outcome for outcome in _outcomes(wanted, repair=True) if outcome.changed]
    for outcome in changed:
        for line in _diff(outcome, heads=len(changed) > 1):
            ERR.line(line)
    if options.apply_fixes and changed:
        code = apply.run(wanted, Screen(io.StringIO(), plain=True))  # what it finds has been told
        for outcome in changed:
            if outcome.path.read_bytes() == outcome.after:
                codes_of = ", ".join(sorted({finding.code for finding in outcome.fixed}) or codes)
                ERR.say(f"fixed {escaped(_named(outcome.path))} ({codes_of})")
    if unsafe and not options.unsafe_fixes and options.apply_fixes:
        ERR.say("unsafe repairs were left out; --unsafe-fixes applies them, too")
    elif not options.apply_fixes:
        files = [_named(outcome.path) for outcome in changed] or names
        command = ["graphfix", "apply", *files, "--select", ",".join(codes), *(["--unsafe-fixes"] if unsafe else [])]
        if any(by_run(finding) for finding in found):
            command += ["--evidence", str(options.save or "FILE")]
        later = "" if options.save or "FILE" not in command else ", with the FILE of trace --save FILE"
        ERR.line((Piece("to apply: ", "bold"), Piece(typed(*command), whole=True), Piece(later)))
    return code if code not in (OK, FINDINGS) else OK


def _asked(options: Options, names: list[str], **more: Any) -> Options:
    """The options with which `check`, `diff` and `apply` would be started on these files, with the settings that hold there."""
    from graphfix.cli.effective_options import settled

    given = Options(
        paths=names, config=options.config, isolated=options.isolated, allow_dirty=options.allow_dirty, quiet=True, jobs=1,
        evidence=options.evidence,
    )  # fmt: skip
    return settled(replace(given, **more))


def _outcomes(options: Options, *, repair: bool = False) -> list[Outcome]:
    report = Report(options.unsafe)
    session.start(options, repair=repair).examine(report)
    return report.outcomes


def _diff(outcome: Outcome, *, heads: bool) -> Iterator[Line]:
    """What is changed in a file; `heads`: with the lines that name it."""
    from graphfix.rewrite.patch import unified

    styles = {"+": "green", "-": "red", "@": "cyan"}
    text = unified(_named(outcome.path), outcome.before, outcome.after).decode("utf-8", "replace")
    for line in text.splitlines()[0 if heads else 2 :]:
        yield (Piece(f"       {shown(line)}", styles.get(line[:1], ""), whole=True),)


def _named(path: Path) -> str:
    here, real = Path(os.path.realpath(os.curdir)), Path(os.path.realpath(path))
    return str(real.relative_to(here)) if real.is_relative_to(here) else str(path)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        session.fail(f"cannot write {path}: {error.strerror}")
