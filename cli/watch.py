"""`graphfix check --watch`: check, and again what a change touches, until Ctrl-C."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from pathlib import Path

import typer

from graphfix.cli import check, session
from graphfix.cli.effective_options import settled
from graphfix.cli.exits import INTERRUPTED
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, Screen
from graphfix.files.discovery import JUNK
from graphfix.installation import command
from graphfix.lazy_dataclass import dataclass
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count
from graphfix.run.again import Imports, forget_files, imports_of, touched
from graphfix.run.behind import Behind
from graphfix.run.outcome import Outcome
from graphfix.run.workers import processors
from graphfix.settings.files import NAMES

PAUSE = 100  # milliseconds after which settings files in the folders above, and what is examined meanwhile, are looked at
STEP = 10  # milliseconds without another change after which those that were seen are taken together
GATHER = 400  # milliseconds after which they are taken all the same
PROGRAMS = (".py", ".ipynb")
RULING = {*NAMES, ".gitignore"}
FEW = 8  # edited files that are told before those that they touch
MOST = 3  # changed files that are named
# what is known of a file without reading it; None where there is none
Stamp = tuple[int, int] | None
# paths that have changed; empty once in a while
Batches = Generator[set[Path], None, None]


def run(options: Options) -> int:
    """Check until the user has seen enough, and give the exit code of that."""
    for name, given in (
        ("--output-file", options.output_file),
        ("--write-baseline", options.write_baseline),
        ("-", options.stdin),
    ):
        if given:
            session.fail(f"--watch cannot be given together with {name}")
    watch = _watcher()
    watched = Watched(options)
    gc.enable()  # here garbage counts
    try:
        watched.begin()
        with closing(watch([Path(place) for place in options.places])) as batches:
            next(batches)  # from here on no change is missed
            watched.check(set())
            for batch in batches:
                watched.take(batch)
                watched.go_on()
    except KeyboardInterrupt:
        pass
    finally:
        watched.drop()
    ERR.say(Report().interrupted(()))
    return INTERRUPTED


@dataclass(frozen=True)
class Rest:
    """What is found out behind the findings that are told already, with what was said of the changes.

    `again`: all files that the changes have checked again.
    """

    work: session.Session
    changed: set[Path]
    said: str
    again: list[Path]
    behind: Behind


@dataclass
class Watched:
    """What is known of the files: their last outcomes, and what decides on which of those still hold.

    `waiting`: the files whose outcome is that of before, or not all that there is to tell.
    """

    options: Options
    outcomes: dict[Path, Outcome] = field(default_factory=dict)
    imports: Imports | None = None
    stamps: Mapping[Path, Stamp] = field(default_factory=dict)
    waiting: set[Path] = field(default_factory=set)
    rest: Rest | None = None

    def begin(self) -> session.Session:
        """The files and settings as they are now."""
        options = settled(self.options.typed or self.options)
        forget_files()
        work = session.start(options, ahead=True)
        self.stamps = _stamps(_ruling(work))
        return work

    def take(self, batch: set[Path]) -> None:
        """Check again what the changes of a batch touch, all of it where settings have changed."""
        ruling = {path for path in batch if path.name in RULING} | _changed(self.stamps)
        programs = {path for path in batch if path.suffix in PROGRAMS or _is_folder(path)}
        if ruling:
            self.outcomes.clear()
        if ruling or programs:
            try:
                self.check(ruling | programs)
            except typer.Exit:
                # settings that are half written: said once, and tried again with the next change
                self.outcomes.clear()
                self.stamps = _stamps(self.stamps)

    def check(self, changed: set[Path]) -> None:
        """Examine what is not known to be as it was, what has been edited before all else, and tell all findings."""
        self.drop()
        work = self.begin()
        files = work.found.files
        again = self._again(work, changed)
        if changed and not again and files == tuple(self.outcomes):
            return
        edited = [file for file in again if file not in self.outcomes or Path(os.path.realpath(file)) in changed]
        early = bool(self.outcomes) and len(edited) <= FEW and not session.only_findings(work.options)
        first = edited if early else again
        # what only the repairs would bring to light takes as long again, and is told when it is known
        report = self._examined(replace(work, job=replace(work.job, ahead=not early)), first)
        self.waiting = {file for file in again if early and (file not in first or _has_repair(work, self.outcomes[file]))}
        said = _checked_again(changed, first, files)
        self._tell(work, report, said)
        if self.waiting:
            behind = Behind(sorted(self.waiting), work.job, work.options.jobs or processors())
            self.rest = Rest(work, changed, said, again, behind)

    def go_on(self) -> None:
        """Tell what has come of the rest, once it is there."""
        rest = self.rest
        found = rest.behind.outcomes() if rest is not None else None
        if rest is None or found is None:
            return
        self.drop()
        self.waiting.clear()
        told = {path: self.outcomes[path] for path in found}
        self.outcomes.update(found)
        says = _checked_again(rest.changed, rest.again, rest.work.found.files)
        if told == found:
            _end(rest.work, says if says != rest.said else "")
        else:
            self._tell(rest.work, self._examined(rest.work, ()), says)

    def drop(self) -> None:
        """Leave what is under way: files have changed since."""
        if self.rest is not None:
            self.rest.behind.end()
            self.rest = None

    def _again(self, work: session.Session, changed: set[Path]) -> list[Path]:
        """The files whose last outcome may be another one by now."""
        files = work.found.files
        before, self.imports = self.imports, imports_of(work.job.roots)
        moved = {Path(os.path.realpath(path)) for path in set(files) ^ set(self.outcomes)}
        known = _untouched(self.outcomes, changed | moved, before, self.imports)
        return [file for file in files if file not in known or file in self.waiting]

    def _examined(self, work: session.Session, files: Sequence[Path]) -> Report:
        """All that is to be told, with new outcomes of the `files`."""
        known = {path: outcome for path, outcome in self.outcomes.items() if path not in set(files)}
        report = Report(work.options.unsafe, strict=bool(work.options.report_unused_suppressions), whole=work.options.strict)
        work.examine(report, known)
        self.outcomes = {outcome.path: outcome for outcome in report.outcomes if outcome.path in set(work.found.files)}
        return report

    def _tell(self, work: session.Session, report: Report, says: str) -> None:
        OUT.clear()
        if says and not work.options.quiet:
            _screen(work).say(says)
        check.tell(report, work.options)
        if self.waiting and not work.options.quiet:
            _screen(work).say(f"Still checking {count(len(self.waiting), 'file')}")
            sys.stdout.flush()
        elif not self.waiting:
            _end(work, "")


def _is_folder(path: Path) -> bool:
    """Whether it may be, or have been, a folder with programs: one that is moved is told of by its name alone."""
    return JUNK.isdisjoint(path.parts) and (path.is_dir() or not path.suffix)


def _untouched(
    outcomes: Mapping[Path, Outcome], changed: set[Path], before: Imports | None, now: Imports | None
) -> dict[Path, Outcome]:
    """The outcomes that no change touches; none where it is not known who imports whom."""
    if before is None or now is None:
        return {}
    again = touched(changed, before, now)
    return {path: outcome for path, outcome in outcomes.items() if Path(os.path.realpath(path)) not in again}


def _has_repair(work: session.Session, outcome: Outcome) -> bool:
    """Whether a repair of the file may bring more to light."""
    wanted = work.job.wanted_for(outcome.path)
    return any(wanted.applies(finding.fix) for finding in outcome.findings)


def _checked_again(changed: set[Path], again: Sequence[Path], files: Sequence[Path]) -> str:
    return f"{_named(changed)} changed: {len(again)} of {count(len(files), 'file')} checked again" if changed else ""


def _screen(work: session.Session) -> Screen:
    return ERR if session.only_findings(work.options) else OUT


def _end(work: session.Session, says: str) -> None:
    """Say that nothing more is to come, until something changes."""
    if not work.options.quiet:
        if says:
            _screen(work).say(says)
        _screen(work).say("Watching for changes; Ctrl-C ends it")
    sys.stdout.flush()


def _named(changed: Iterable[Path]) -> str:
    here = os.path.realpath(os.curdir)
    # what an editor has written beside a file is gone by now, as is a folder that was moved, whose files are elsewhere
    changed = [path for path in changed if path.suffix in PROGRAMS or path.exists()] or changed
    names = [escaped(str(path.relative_to(here)) if path.is_relative_to(here) else str(path)) for path in sorted(changed)]
    return ", ".join(names) if len(names) <= MOST else count(len(names), "file")


def _ruling(work: session.Session) -> set[Path]:
    """The files beside the code that decide what is found, there or not: those in watched folders are watched themselves."""
    options, resolver = work.options, work.options.settings
    found = {Path(os.path.abspath(file)) for file in (options.config, *(options.evidence or ())) if file is not None}
    if options.baseline:
        found.add(Path(os.path.abspath(options.baseline)))
    if resolver is None or resolver.isolated:
        return found
    for root in (Path(os.path.realpath(os.curdir)), *work.found.roots):
        found |= {folder / name for folder in (root, *root.parents) for name in NAMES}
        loaded = resolver.file_of(root)
        found |= {Path(os.path.abspath(layer.path)) for layer in (loaded.chain() if loaded is not None else ())}
    return found


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> Stamp:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _changed(stamps: Mapping[Path, Stamp]) -> set[Path]:
    return {path for path, stamp in stamps.items() if _stamp(path) != stamp}


def _watcher() -> Callable[[list[Path]], Batches]:
    if not hasattr(os, "fork"):
        session.fail("--watch needs a system that can fork a process, such as Linux or macOS")
    try:
        import watchfiles
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "watchfiles":
            raise
        session.fail(f"--watch needs watchfiles: {command(extra='watch')}")

    def watch(paths: list[Path]) -> Batches:
        # a file that is replaced is another one, which only its folder knows
        folders = {path if path.is_dir() else path.parent for path in paths}
        for changes in watchfiles.watch(
            *sorted(folders), watch_filter=None, debounce=GATHER, step=STEP, rust_timeout=PAUSE, yield_on_timeout=True,
            recursive=any(path.is_dir() for path in paths), ignore_permission_denied=True,
        ):  # fmt: skip
            yield {Path(os.path.realpath(path)) for _, path in changes}

    return watch
