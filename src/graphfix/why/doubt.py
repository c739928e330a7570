"""Findings that stand near an error without leading to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphfix.autograd.symptoms import Raises
from graphfix.model import Finding
from graphfix.source.lines import LineIndex
from graphfix.why.kinds import Kind, kind_of

# what makes the error only where the error is raised: a list of losses, a running total, `.data` in the place of a detach
_KEPT = ("GF101", "GF102", "GF902")
_NUMBERS = re.compile(rb"(?:\.cpu\(\)|\.detach\(\))*\.(?:numpy|item|tolist)\(\)|\[0\](?!\s*[\[.])|\.\w+_\(")


def is_apart(kind: Kind, finding: Finding) -> bool:
    """Whether a finding of a rule that may end in this error is proven not to: it is another fault beside the cause."""
    errors = (symptom for symptom in finding.symptoms if isinstance(symptom, Raises))
    return finding.never_raises and any(kind_of(f"{error.error}: {error.message}") is kind for error in errors)


def is_doubtful(kind: Kind, finding: Finding, data: bytes, rows: Iterable[int]) -> bool:
    """Whether the finding cannot lead to an error of this kind, or does so only where it is on the line that raises it.

    `data`: the file of the finding. `rows`: the lines of the traceback in the function around it.
    """
    if kind.key == "second-backward":
        return finding.code in _KEPT
    if kind.key != "no-graph":
        return False
    if finding.code == "GF903":
        return b"volatile" not in data[finding.span.start : finding.span.end]
    if finding.code != "GF902":
        return False
    # what is cut to be printed or counted, or after the loss was used, does not cut the loss off
    row = LineIndex(data.decode("utf-8", "replace")).place(finding.span.start)[0]
    return bool(_NUMBERS.match(data, finding.span.end)) or not any(row <= last for last in rows)
