"""One file through the analysis: program, tape, findings."""

from __future__ import annotations

import re
from pathlib import Path

from graphfix.model import Finding

# A file without any of these has nothing for the tape: they are what a walk, or a number read out of a graph, is spelled with.
RELEVANT = re.compile(r"backward\b|\bautograd\b|\.data\b|\.item\b|\.tolist\b|\bgrad\(")


def findings_of(path: Path, text: str, roots: tuple[Path, ...] = ()) -> list[Finding]:
    """All findings in the file `path` with content `text`, in source order.

    `roots` are the folders of the project, in which imports are followed; nothing is imported or executed for real.
    Raises SyntaxError where `text` does not parse.
    """
    if RELEVANT.search(text) is None:
        return []
    from graphfix.codemods import RULES
    from graphfix.codemods.base import Evidence
    from graphfix.tape.contributors import Facts
    from graphfix.tape.explore import Explorer
    from graphfix.tape.program import Program

    tape = Explorer(Program(str(path), text), roots or (path.parent,)).explore()
    evidence = Evidence(tape, Facts(tape))
    found = [finding for rule in RULES for finding in rule.find(evidence)]
    return sorted(found, key=lambda f: (f.span.start, f.code, f.span.end))
