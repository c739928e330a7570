"""One file through the analysis: program, tape, findings."""

from __future__ import annotations

import gc
import re
from pathlib import Path

from graphfix.conventions import NO_CONVENTIONS, Conventions
from graphfix.model import Finding

# What a walk is spelled with, and what a number that is read out of a graph is spelled with in a file that uses torch
WALK = re.compile(r"backward\b|\bautograd\b|\bgrad\(|\btraining_step\b")
READ = re.compile(r"\.data\b|\.item\b|\.tolist\b|\.eval\(|\bVariable\b")


def is_relevant(text: str) -> bool:
    """Whether the text spells anything that the tape could follow; refused here, a file is not even parsed."""
    return WALK.search(text) is not None or ("torch" in text and READ.search(text) is not None)


def findings_of(path: Path, text: str, roots: tuple[Path, ...] = (), conventions: Conventions = NO_CONVENTIONS) -> list[Finding]:
    """All findings in the file `path` with content `text`, in source order.

    `roots` are the folders of the project, in which imports are followed; nothing is imported or executed for real.
    `conventions`: what the project's settings say of its own functions.
    Raises SyntaxError where `text` does not parse.
    """
    if not (is_relevant(text) or conventions.spelled_in(text)):
        return []
    collecting = gc.isenabled()
    gc.disable()  # the tape makes many small objects that all live until its end: scanning them is a tenth of the time
    try:
        return analysed(path, text, roots, conventions)
    finally:
        if collecting:
            gc.enable()


def analysed(path: Path, text: str, roots: tuple[Path, ...], conventions: Conventions) -> list[Finding]:
    from graphfix.codemods import RULES
    from graphfix.codemods.base import Evidence
    from graphfix.codemods.callers import told_by_callers
    from graphfix.tape.contributors import Facts
    from graphfix.tape.explore import Explorer
    from graphfix.tape.program import Program

    tape = Explorer(Program(str(path), text), roots or (path.parent,), conventions).explore()
    evidence = Evidence(tape, Facts(tape), RULES)
    found = [finding for rule in RULES for finding in rule.find(evidence)]
    found.extend(told_by_callers(tape, found, RULES))
    return sorted(found, key=lambda f: (f.span.start, f.code, f.span.end))
