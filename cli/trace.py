"""`graphfix trace`: one run of the user's program, told as a story. Runs code."""

from __future__ import annotations

import json
import linecache
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.cli import session
from graphfix.cli.exits import ERROR
from graphfix.cli.options import ListFormat, Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.cli.verify_script import check_plot, python_of
from graphfix.traced import attached
from graphfix.traced.record import Trace, from_data
from graphfix.verify.folders import temporary

if TYPE_CHECKING:
    from graphfix.traced.repairs import Repair


def run(options: Options) -> int:
    """Run the program, tell its story on standard error, and give its own exit code."""
    if not options.words:
        session.fail("which program? graphfix trace SCRIPT [-- ARGS]")
    name, *arguments = options.words
    if not options.module and not Path(name).exists():
        session.fail(f"no such script: {name}")
    if options.plot is not None:
        check_plot(options.plot)
    with temporary() as folder:
        notebook = Cells(Path(name), folder) if name.endswith(".ipynb") and not options.module else None
        script = name if notebook is None else str(notebook.script)
        words = [*(["-m"] if options.module else []), script, "--", *arguments]
        done = attached.run(words, python_of(options.python), options.max_iterations, options.after)
        if done.report is None:
            ERR.say("graphfix: the program left no report: it was killed, or ended itself without a word")
            return _code(done.code) or ERROR
        _tell(options, done.report if notebook is None else notebook.named(done.report))
    ended_by_us = done.late or options.max_iterations and done.report.get("walk_count", 0) >= options.max_iterations
    return 0 if ended_by_us else _code(done.code)


def _code(code: int) -> int:
    """A shell's exit code for a process that ended by a signal."""
    return 128 - code if code < 0 else code


class Cells:
    """The cells of a notebook as one script, in a folder with nothing that it could import by accident."""

    def __init__(self, path: Path, folder: Path) -> None:
        from graphfix.source.decode import read
        from graphfix.source.errors import SourceError

        try:
            source = read(path)
        except SourceError as error:
            session.fail(f"{path}: {error.reason}")
        self.path = path
        self.script = folder / f"{path.stem}.py"
        self.script.write_text(source.text, encoding="utf-8")
        self._index, self._lines = source.index(), source.text.encode().splitlines(keepends=True)

    def named(self, report: Any) -> Any:
        """The report with the lines of the script as those of its cells, counted from 1 as everywhere."""
        if isinstance(report, list):
            return [self.named(each) for each in report]
        if not isinstance(report, dict):
            return report
        made = {key: self.named(value) for key, value in report.items()}
        if made.get("file") == str(self.script) and isinstance(made.get("line"), int):
            made["file"], made["line"] = self._place(made["line"])
        return made

    def _place(self, line: int) -> tuple[str, int]:
        start = sum(map(len, self._lines[: line - 1]))
        cell, row = self._index.cell(start), self._index.place(start)[0]
        name = f"{self.path}:cell {(cell or 0) + 1}"
        text = self._lines[line - 1].decode() if line <= len(self._lines) else ""
        known = linecache.cache.get(name)
        lines = list(known[2]) if known is not None and len(known) == 4 else []
        lines += ["\n"] * (row - len(lines))
        lines[row - 1] = text
        linecache.cache[name] = (0, None, lines, name)
        return name, row


def _tell(options: Options, report: dict[str, Any]) -> None:
    trace = from_data(report)
    if options.save is not None:
        _write(options.save, json.dumps(report, indent=1) + "\n")
    if options.plot is not None:
        from graphfix.traced.plot import draw

        draw(trace, options.plot, Path(report.get("script", "")).name)
    with quiet_pipe():
        if options.verdict_format is ListFormat.JSON:
            text = json.dumps(report, indent=1)
            if options.output_file is not None:
                _write(options.output_file, text + "\n")
            else:
                OUT.say(text)
            return
        _story(options, trace)


def _story(options: Options, trace: Trace) -> None:
    from graphfix.traced.repairs import fixes_for, shown_fixes
    from graphfix.traced.story import lines

    sys.stdout.flush()
    ERR.say("")
    for line in lines(trace):
        ERR.line(line)
    if options.quiet:
        return
    fixes = fixes_for(trace)
    for line in shown_fixes(fixes, applied=options.apply_fixes):
        ERR.line(line)
    if options.apply_fixes:
        _apply(fixes)


def _apply(repairs: list[Repair]) -> None:
    """Write the repairs that were shown, one for each file: what is left is seen by the next run."""
    from graphfix.cli.writing import refuses
    from graphfix.files.write import NotWritten, replace

    ready = {repair.path: repair for repair in reversed(repairs[:3]) if repair.after is not None}
    if not ready or refuses(ready):
        return
    for path, repair in ready.items():
        try:
            replace(path, repair.before, repair.after or b"", (Path(os.path.realpath(path)).parent,))
        except NotWritten as error:
            session.fail(str(error))
        ERR.say(f"fixed {path} ({repair.finding.code})")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        session.fail(f"cannot write {path}: {error.strerror}")
