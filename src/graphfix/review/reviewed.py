"""One file on its way through a review: what was taken is in its text, and what is left undecided lies in that text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Fix
from graphfix.review.decisions import Choice, Decision
from graphfix.review.lines import put
from graphfix.rewrite import apply_fixes
from graphfix.run.examine import Job
from graphfix.run.fingerprint import Mark, marks
from graphfix.run.outcome import Status
from graphfix.run.silencing import silenced, with_edits
from graphfix.run.workers import examined_here
from graphfix.source.decode import decode
from graphfix.source.errors import SourceError
from graphfix.source.homes import changed_by
from graphfix.source.text import Source


class Refused(Exception):
    """A decision that cannot be carried out, and why."""


@dataclass(frozen=True)
class Reviewed:
    """A file with the findings in it. `left`: how many of those that look alike are to stay."""

    source: Source
    findings: tuple[Finding, ...] = ()
    left: Mapping[Mark, int] = field(default_factory=dict)

    @cached_property
    def pending(self) -> tuple[tuple[Mark, Finding], ...]:
        """The findings that nobody has decided on, in the order of the text."""
        return tuple(self._pending())

    def _pending(self) -> Iterator[tuple[Mark, Finding]]:
        left = Counter(self.left)
        for mark, finding in zip(marks(self.source.text, self.findings), self.findings, strict=True):
            if left[mark] > 0:
                left[mark] -= 1
            else:
                yield mark, finding

    def count(self, mark: Mark) -> int:
        """How many of the undecided findings look like this."""
        return sum(other == mark for other, _ in self.pending)


def text_with(reviewed: Reviewed, finding: Finding) -> str:
    """The text with the fix of `finding`, or `Refused`."""
    if finding.fix is None or not finding.fix.operations:
        raise Refused("it has no fix")
    return _applied(reviewed, replace(finding.fix, operations=changed_by(finding).get(finding.path, ())))


def _applied(reviewed: Reviewed, fix: Fix) -> str:
    """The text with a fix, or `Refused`."""
    applied = apply_fixes(reviewed.source.text, [fix])
    if applied.refused:
        raise Refused(applied.refused[0][1])
    if applied.text == reviewed.source.text:
        raise Refused("its fix changes nothing")
    return applied.text


def texts_with(files: Mapping[str, Reviewed], finding: Finding) -> dict[str, str]:
    """The texts of all files that the fix of `finding` changes, or `Refused`."""
    if finding.fix is None or not finding.fix.operations:
        raise Refused("it has no fix")
    name_of = {os.path.realpath(each.source.path): name for name, each in files.items()}
    texts: dict[str, str] = {}
    for path, operations in changed_by(finding).items():
        name = name_of.get(os.path.realpath(path))
        if name is None:
            raise Refused(f"its fix changes {Path(path).name}, too, which is not looked at")
        texts[name] = _applied(files[name], replace(finding.fix, operations=operations))
    return texts


def taken_together(files: Mapping[str, Reviewed], finding: Finding, decision: Decision, job: Job) -> dict[str, Reviewed]:
    """The files that the fix of `finding` changes, with all of it, or `Refused`. `job`: with what else was decided in it."""
    texts = texts_with(files, finding)
    beside = {Path(os.path.realpath(files[name].source.path)): text for name, text in texts.items()}
    job = replace(job, beside={**job.beside, **beside})
    made = {name: with_text(files[name], text, job) for name, text in texts.items() if name != decision.path}
    own = files[decision.path]
    return {**made, decision.path: _taken(own, texts.get(decision.path, own.source.text), decision.mark, job)}


def meant(finding: Finding, choice: Choice) -> Finding:
    """The finding with the repair that a choice takes."""
    return finding.otherwise if choice is Choice.OTHER else finding


def decided(reviewed: Reviewed, decision: Decision, job: Job) -> Reviewed:
    """The file after a decision on the first finding that it is about, or `Refused`."""
    finding = next((finding for mark, finding in reviewed.pending if mark == decision.mark), None)
    if finding is None:
        raise Refused("this finding no longer exists")
    if decision.choice is Choice.LEAVE:
        return _leaving(reviewed, decision.mark)
    if decision.choice in (Choice.TAKE, Choice.OTHER):
        return _taken(reviewed, text_with(reviewed, meant(finding, decision.choice)), decision.mark, job)
    if decision.choice is Choice.SUPPRESS:
        return _suppressed(reviewed, finding, decision, job)
    text = put(reviewed.source.text, decision.row, decision.old, decision.new)
    if text is None:
        raise Refused("the edited lines no longer exist")
    return _taken(reviewed, text, decision.mark, job)


def _leaving(reviewed: Reviewed, mark: Mark) -> Reviewed:
    return replace(reviewed, left=Counter(reviewed.left) + Counter([mark]))


def _taken(reviewed: Reviewed, text: str, mark: Mark, job: Job) -> Reviewed:
    made = with_text(reviewed, text, job)
    # a change after which the finding is still there was decided on all the same
    return made if made.count(mark) < reviewed.count(mark) else _leaving(made, mark)


def with_text(reviewed: Reviewed, text: str, job: Job) -> Reviewed:
    """The file once it holds `text`, examined again; `Refused` where that does not parse or cannot be written down."""
    from graphfix.source.errors import Torn

    try:
        source = reviewed.source.edited(text)
    except (SourceError, Torn) as error:
        raise Refused(str(error)) from error
    except UnicodeError as error:
        raise Refused(f"the file's encoding {reviewed.source.encoding} has no such character") from error
    return examined(reviewed, source, job)


def examined(reviewed: Reviewed, source: Source, job: Job) -> Reviewed:
    """`source` with its findings; what is left there stays left."""
    outcome = examined_here(source.path, job, source.data)
    if outcome.status is not Status.EXAMINED:
        raise Refused(f"{outcome.row}: {outcome.reason}" if outcome.row else outcome.reason)
    # decoded anew: a character that the encoding writes in another way must not shift what was found
    source = outcome.source or decode(source.path, source.data)
    return Reviewed(source, outcome.findings, _carried(reviewed, source.text, outcome.findings))


def _carried(reviewed: Reviewed, text: str, findings: tuple[Finding, ...]) -> Counter[Mark]:
    """What is left, also where a change beside it gave it another mark: same rule, same function."""
    old, new = Counter(marks(reviewed.source.text, reviewed.findings)), Counter(marks(text, findings))
    left = Counter(reviewed.left)
    for mark, count in reviewed.left.items():
        for fresh in [other for other in new if (other.code, other.place) == (mark.code, mark.place)]:
            moved = min(count - new[mark], new[fresh] - old[fresh])
            if fresh != mark and moved > 0:
                left[mark] -= moved
                left[fresh] += moved
                count -= moved
    return +left


def _suppressed(reviewed: Reviewed, finding: Finding, decision: Decision, job: Job) -> Reviewed:
    """With a comment on the first line of the finding, or on its last one where a comment has no room there."""
    comments = silenced(reviewed.source.text, [finding], decision.reason)
    if comments.left:
        raise Refused("none of its lines can take a comment")
    made = with_text(reviewed, with_edits(reviewed.source.text, comments.edits), job)
    if made.count(decision.mark) < reviewed.count(decision.mark):
        return made
    raise Refused("no comment on its lines silences it")
