"""The fix of one finding, as a small patch and as the commands that make it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from graphfix.model import Applicability
from graphfix.report.escape import as_argument, typed
from graphfix.rewrite import apply_fixes
from graphfix.run.elsewhere import parts_of
from graphfix.run.engine import by_failure
from graphfix.run.outcome import Elsewhere
from graphfix.run.silencing import with_edits
from graphfix.source.errors import SourceError, Torn
from graphfix.source.homes import changed_by, changes_others
from graphfix.source.notebook import Notebook
from graphfix.source.text import Source
from graphfix.why.diagnosis import Cause
from graphfix.why.places import shortest

CONTEXT = 2
_CELL = "#%%graphfix-cell-"


def patch_of(cause: Cause) -> list[str]:
    """The lines of a diff with this fix alone, for reading; none where it has no fix, or cannot be made now."""
    fix, source = cause.finding.fix, cause.outcome.source
    if fix is None or not fix.operations or source is None:
        return []
    if changes_others(fix):
        return [line for part in parts_of(source, cause.finding) for line in _patch_of_part(part)]
    text = apply_fixes(source.text, [fix]).text
    if text == source.text:
        return []
    before, after = _lines(source, source.text), _lines(source, text)
    return list(_changed(before, after))


def _patch_of_part(part: Elsewhere) -> Iterator[str]:
    yield shortest(str(part.path))
    yield from (f"  {line}" for line in _changed(part.text.splitlines(), with_edits(part.text, part.edits).splitlines()))


def _lines(source: Source, text: str) -> list[str]:
    """The code as its author wrote it: in a notebook without what stands for its cells."""
    if not isinstance(source, Notebook):
        return text.splitlines()
    try:
        notebook = source.edited(text) if text != source.text else source
    except (SourceError, Torn):
        return source.text.splitlines()
    codes = notebook.codes if isinstance(notebook, Notebook) else ()
    return [line for code in codes for line in code.source.splitlines()]


def _changed(before: list[str], after: list[str]) -> Iterator[str]:
    for number, line in enumerate(difflib.unified_diff(before, after, n=CONTEXT, lineterm="")):
        if number >= 2 and not (line.startswith("@@") and number == 2):
            yield "..." if line.startswith("@@") else line


def commands(cause: Cause) -> list[tuple[str, str]]:
    """What to type next, each with what it does."""
    finding = cause.finding
    files = dict.fromkeys((finding.path, *(shortest(path) for path in changed_by(finding))))
    name = " ".join(typed(as_argument(file)) for file in files)
    by_hand = finding.fix is None or not finding.fix.operations or finding.fix.applicability is Applicability.DISPLAY
    if by_hand or by_failure(finding):
        return [(f"graphfix rule {finding.code}", "explains it, and what to write instead")]
    options = f" --select {finding.code}"
    if finding.fix.applicability is Applicability.UNSAFE:
        options += " --unsafe-fixes"
    return [
        (f"graphfix diff{options} {name}", "shows this fix"),
        (f"graphfix apply{options} {name}", "applies it"),
    ]
