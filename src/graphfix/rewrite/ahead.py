"""What repairs bring to light: findings that are there only once others are repaired, told beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphfix.model import Finding
from graphfix.rewrite.fixpoint import Place, Repaired, place_of
from graphfix.rewrite.origin import original_span


def revealed(text: str, done: Repaired) -> Iterator[Finding]:
    """The findings of later passes of a repair of `text` that the passes before did not show, with their places in `text`.

    Such a finding cannot be repaired by itself, so its fix has a title and no operations.
    """
    known: Counter[Place] = Counter()
    for number, (now, found, fixed) in enumerate(_passes(done)):
        told = [finding for finding in found if not finding.yields_to]
        present = Counter(place_of(text, now, finding) for finding in told)
        for finding in told if number else ():
            place = place_of(text, now, finding)
            if known[place] > 0:
                known[place] -= 1
            else:
                yield _told_beforehand(text, now, finding)
        known = present - Counter(place_of(text, now, finding) for finding in fixed)


def _passes(done: Repaired) -> Iterator[tuple[str, Sequence[Finding], Sequence[Finding]]]:
    """The text of each pass, what was found in it, and what of that was fixed."""
    for step in done.steps:
        yield step.text, step.found, step.fixed
    yield done.text, done.found, ()


def _told_beforehand(text: str, now: str, finding: Finding) -> Finding:
    story = tuple(
        replace(label, span=original_span(text, now, label.span)) if label.path == finding.path else label
        for label in finding.story
    )
    repair = finding.fix and replace(finding.fix, title=f"{finding.fix.title}, after the other fixes are applied", operations=())
    return replace(finding, span=original_span(text, now, finding.span), story=story, fix=repair)
