"""What repairs a finding, or what stands in the way and what to write instead, in the words that its user reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphfix.model import Applicability, Finding
from graphfix.source.homes import changed_by

NOT_PROVEN = "not proven safe: "
UNKNOWN = "no edit is certain to keep the results"


def remedy(finding: Finding) -> Iterator[str]:
    """A sentence that names the fix and how sure it is, where there is one, the sentences of `reasons`, and the other repair."""
    if finding.fix is not None:
        kind = finding.fix.applicability
        yield f"fix ({'shown only' if kind is Applicability.DISPLAY else kind.value}): {finding.fix.title}{where(finding)}"
    yield from reasons(finding)
    if finding.another is not None:
        yield f"or ({finding.another.applicability.value}): {finding.another.title}{where(finding.otherwise)}"
        yield f"{NOT_PROVEN}{finding.another.doubt}"


def where(finding: Finding) -> str:
    """In which files a fix is made, if that is not in that of its finding alone."""
    files = [Path(path).name for path in changed_by(finding)]
    others = any(path != finding.path for path in changed_by(finding))
    return f", in {', '.join(files[:-1])}{' and ' if files[1:] else ''}{files[-1]}" if others else ""


def reasons(finding: Finding) -> Iterator[str]:
    """Why the fix is not proven safe, where the story does not say so, or why there is none; and what to write."""
    if finding.fix is None:
        yield f"no fix: {finding.unfixed or UNKNOWN}"
        yield f"help: {finding.by_hand + '; ' if finding.by_hand else ''}see `graphfix rule {finding.code}`"
        return
    reason = f"{NOT_PROVEN}{finding.fix.doubt}"
    if finding.fix.doubt and all(label.message not in (reason, finding.fix.doubt) for label in finding.story):
        yield reason
    for table in finding.fix.missing_rows:
        head, *said = table.split("\n")
        yield f"help: graphfix.toml could say what it does: {head} {', '.join(said)}"
