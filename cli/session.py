"""From options to outcomes: what check, diff and apply have in common."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from graphfix.cli.exits import ERROR
from graphfix.cli.options import Options
from graphfix.cli.progress import shown_progress
from graphfix.cli.terminal import ERR, OUT, Screen
from graphfix.files.discovery import Discovered, MissingPath, discover
from graphfix.files.place import project_root
from graphfix.lazy_dataclass import dataclass
from graphfix.report.forms import FORMS, Form
from graphfix.report.report import Report
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted
from graphfix.run.workers import examine_all, examined_here, processors
from graphfix.settings.errors import SettingsError
from graphfix.settings.scope import Scope

if TYPE_CHECKING:
    from graphfix.codemods.base import Rule
    from graphfix.interpreter.witness import Witness
    from graphfix.report.view import View
    from graphfix.run.baseline import Baseline
    from graphfix.run.cache import Cache
    from graphfix.settings.resolver import Resolver


NOTHING: Mapping[Path, Outcome] = {}


@dataclass(frozen=True)
class Session:
    """One run: what to do, on which files."""

    options: Options
    found: Discovered
    job: Job

    def examine(self, report: Report, known: Mapping[Path, Outcome] = NOTHING) -> None:
        """Examine every file, in order, into `report`, but for those whose outcome is known."""
        if self.job.baseline is not None:
            report.baseline = str(self.job.baseline.path)
            report.gone = sum(sum(known.values()) for known in self.job.baseline.gone().values())
        report.submodules, report.empty = self.found.submodules, self.found.empty
        for path, reason in self.found.skipped:
            report.add(Outcome(path, Status.SKIPPED, reason))
        report.misset = list(self._broken())
        for outcome in report.misset:
            report.add(outcome)
        with closing(self._outcomes(known)) as outcomes:
            quiet, total = self.options.quiet, len(self.found.files)
            for outcome in shown_progress(outcomes, total, quiet=quiet, so_far=report.so_far):
                report.add(self._accepted(outcome))

    def _leaves_out(self, name: Path) -> bool:
        settings = self.options.settings
        return bool(self.options.force_exclude) and settings is not None and settings.excludes(name, False)

    def _broken(self) -> Iterator[Outcome]:
        """One outcome for each settings file below the given folders that is wrong: it costs what lies beside and below it."""
        for folder, error in sorted(self.options.settings.broken.items() if self.options.settings is not None else ()):
            why = error.why.removeprefix("cannot be read: ")
            yield Outcome(error.path, Status.UNREADABLE, f"{why}; {folder} is left out", error.row, 1 if error.row else 0)

    def _accepted(self, outcome: Outcome) -> Outcome:
        """The outcome, accepted where the settings say so of what cannot be read for what is in it."""
        unread = outcome.status is Status.SKIPPED or outcome.status is Status.UNREADABLE and outcome.row > 0
        if not unread or self.options.settings is None or not self.options.settings.accepts(outcome.path):
            return outcome
        return replace(outcome, accepted=True)

    def _outcomes(self, known: Mapping[Path, Outcome]) -> Generator[Outcome, None, None]:
        if self.options.stdin:
            name, data = self.found.files[0], _input()
            # passed through as it is, like an excluded file that an editor or a hook names
            yield Outcome(name, before=data, after=data) if self._leaves_out(name) else examined_here(name, self.job, data)
            return
        files = [path for path in self.found.files if path not in known]
        with closing(examine_all(files, self.job, self.options.jobs or processors())) as fresh:
            for path in self.found.files:
                yield known[path] if path in known else next(fresh)


def start(options: Options, *, repair: bool = False, stages: bool = False, ahead: bool = False) -> Session:
    """Resolve paths and codes; anything wrong with them is a usage error."""
    try:
        found = _found(options)
        scopes = _scopes(options, found)
        known = _baseline(options)
    except (MissingPath, SettingsError) as error:
        fail(str(error))
    if options.settings is not None and not options.quiet:
        warn(options.settings)
    edits = FORMS[options.form].edits
    roots = tuple(dict.fromkeys(map(project_root, found.roots)))
    job = Job(
        roots,
        Wanted(unsafe=options.unsafe),
        repair,
        edits,
        options.verbose,
        scopes,
        known,
        stages,
        ahead,
        witness=_witness(options),
        named=frozenset(map(Path, options.places)),
    )
    if not (options.no_cache or options.stdin or job.witness):
        job = replace(job, cache=_cache(roots, options.quiet))
    return Session(options, found, job)


def _cache(roots: tuple[Path, ...], quiet: bool) -> Cache | None:
    """What earlier runs have kept; None, with a word, where that is not to be trusted."""
    from graphfix.report.escape import escaped
    from graphfix.run.cache import opened
    from graphfix.run.store import Refused

    try:
        return opened(roots)
    except Refused as error:
        if not quiet:
            ERR.say(f"graphfix: warning: {escaped(str(error))}: no cache is used (GRAPHFIX_CACHE_DIR names another folder)")
        return None


def warn(settings: Resolver) -> None:
    """Say which settings are written in another way today."""
    from graphfix.report.escape import escaped

    for line in settings.deprecated():
        ERR.say(f"graphfix: warning: {escaped(line)}")


def fail(message: str) -> NoReturn:
    """Say what is wrong with the command line, and end."""
    from graphfix.report.escape import escaped

    ERR.say(f"graphfix: error: {escaped(message)}")
    raise typer.Exit(ERROR)


def _input() -> bytes:
    from graphfix.cli.streams import read_input, reason
    from graphfix.source.reading import MAX_BYTES

    try:
        data = read_input(MAX_BYTES)
    except OSError as error:
        fail(f"cannot read standard input: {reason(error)}")
    if data is None:
        fail(f"standard input holds more than {MAX_BYTES:,} bytes")
    return data


def _found(options: Options) -> Discovered:
    if options.stdin:
        return _stdin(options)
    paths = [Path(path) for path in options.places]
    if options.settings is None:
        return discover(paths)
    for path in paths:
        # of what is named, wrong settings are misuse; of what lies below, they cost their folder
        options.settings.file_of(path if os.path.isdir(path) else path.parent)
    return discover(paths, options.settings.excludes, force=bool(options.force_exclude))


def _scopes(options: Options, found: Discovered) -> dict[Path | None, Scope]:
    if options.settings is None:
        return {}
    scopes = options.settings.scopes(found.files)
    # of one run, one answer: what the settings for the working directory say
    return {folder: replace(scope, wanted=replace(scope.wanted, unsafe=options.unsafe)) for folder, scope in scopes.items()}


def _baseline(options: Options) -> Baseline | None:
    if not options.baseline:
        return None
    from graphfix.run.baseline import BaselineError, load

    try:
        return load(Path(options.baseline))
    except BaselineError as error:
        fail(str(error))


def _witness(options: Options) -> Witness | None:
    if not options.evidence:
        return None
    from graphfix.traced.evidence import EvidenceError, witness_of

    try:
        return witness_of(options.evidence)
    except EvidenceError as error:
        fail(str(error))


def _stdin(options: Options) -> Discovered:
    if len(options.places) > 1:
        fail("- cannot be given together with other paths")
    name = options.stdin_filename or Path("<stdin>")
    return Discovered((name,), (Path(os.path.realpath(name.parent)),))


def show_findings(report: Report, options: Options, screen: Screen) -> None:
    """Write the findings that are there, to the screen or to the file that is asked for."""
    form = FORMS[options.form]
    if options.output_file is not None:
        _store_findings(report, form, options.output_file)
        return
    for line in form.lines(replace(_view(report, form), columns=OUT.columns)) if form.plain or report.findings else ():
        if form.plain:
            screen.raw("".join(piece.text for piece in line))
        else:
            screen.line(line)


def show_statistics(report: Report, options: Options, screen: Screen) -> None:
    """Write how many findings there are (and were) of each rule, and for a reader which files took longest."""
    from graphfix.report.statistics import slowest, statistics

    if shows_prose(options) and not options.quiet:
        for line in slowest(report.outcomes):
            screen.raw(line)
    for line in statistics([*report.fixed, *report.findings]):
        screen.raw(line)


def only_findings(options: Options) -> bool:
    """Whether nothing but findings may be on standard output."""
    return FORMS[options.form].plain and options.output_file is None


def shows_prose(options: Options) -> bool:
    """Whether findings are told to a reader at the terminal, so that something else may be told instead."""
    return not FORMS[options.form].plain and options.output_file is None


def _store_findings(report: Report, form: Form, path: Path) -> None:
    import io

    text = io.StringIO()
    for line in form.lines(_view(report, form)):
        Screen(text, plain=True).line(line)
    store_bytes(path, text.getvalue().encode("utf-8", "backslashreplace"))


def store_bytes(path: Path, data: bytes) -> None:
    """Make `data` the content of a file that the user named, whole or not at all."""
    from graphfix.files.store import store
    from graphfix.files.write import NotWritten

    try:
        store(path, data)
    except NotWritten as error:
        fail(f"{path}: not written: {error}")


def _view(report: Report, form: Form) -> View:
    from graphfix.report.view import View

    rules: Sequence[Rule] = ()
    if form.rules:
        from graphfix.codemods import RULES as rules
    return View(report.outcomes, rules, Path(os.path.abspath(os.curdir)), report.lost)


def show_problems(report: Report, *, verbose: bool) -> None:
    """Write what went wrong, file by file, to standard error."""
    for line in report.problems():
        ERR.say(line)
    for line in report.notes():
        ERR.say(line)
    if verbose:
        for line in report.refusals():
            ERR.say(line)
