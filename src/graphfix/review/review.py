"""A review of several files: which finding is next, what an answer does, and the way back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding
from graphfix.review.decisions import Choice, Decision, Progress, digest
from graphfix.review.reviewed import Refused, Reviewed, decided, meant, taken_together
from graphfix.run.examine import Job
from graphfix.run.fingerprint import Mark
from graphfix.source.homes import changes_others


@dataclass(frozen=True)
class Question:
    """The finding that is to be decided on."""

    path: str
    mark: Mark
    finding: Finding
    reviewed: Reviewed


@dataclass
class Review:
    """The files by their names in the project, as the decisions so far make them. `other`: progress on files not at hand."""

    files: dict[str, Reviewed]
    job: Job
    other: Progress = field(default_factory=Progress)
    decisions: list[Decision] = field(default_factory=list)
    _past: list[dict[str, Reviewed]] = field(default_factory=list)
    _original: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._original = {name: reviewed.source.data for name, reviewed in self.files.items()}

    def question(self) -> Question | None:
        """The next finding that nobody has decided on, once what follows from earlier answers is done."""
        while True:
            found = self._next()
            if found is None or not self._follows(found):
                return found
            try:
                self.decide(Decision(found.path, found.mark, Choice.TAKE, follows=True))
            except Refused:
                self.decide(Decision(found.path, found.mark, Choice.LEAVE, follows=True))

    def _next(self) -> Question | None:
        for name, reviewed in self.files.items():
            for mark, finding in reviewed.pending:
                return Question(name, mark, finding, reviewed)
        return None

    def _follows(self, question: Question) -> bool:
        fix = question.finding.fix
        if fix is None or not fix.operations:
            return False
        code = question.mark.code
        rests = {decision.rest for decision in self.decisions if decision.mark.code == code and decision.rest is not None}
        return Applicability.UNSAFE in rests or fix.applicability in rests

    def decide(self, decision: Decision) -> None:
        """Carry a decision out, or raise `Refused`."""
        made = self._decided(decision)
        self._past.append({name: self.files[name] for name in made})
        self.files.update(made)
        self.decisions.append(decision)

    def _decided(self, decision: Decision) -> dict[str, Reviewed]:
        """The files that a decision changes, as it makes them, or `Refused`."""
        reviewed = self.files[decision.path]
        changed = (each.source for name, each in self.files.items() if each.source.data != self._original[name])
        job = replace(self.job, beside={Path(os.path.realpath(source.path)): source.text for source in changed})
        finding = next((finding for mark, finding in reviewed.pending if mark == decision.mark), None)
        taken = meant(finding, decision.choice) if finding is not None and decision.choice in (Choice.TAKE, Choice.OTHER) else None
        if taken is not None and taken.fix is not None and changes_others(taken.fix):
            return taken_together(self.files, taken, decision, job)
        return {decision.path: decided(reviewed, decision, job)}

    def undo(self) -> bool:
        """Take the last answer back, with all that followed from it; False if there is none."""
        undone = False
        while self.decisions:
            decision = self.decisions.pop()
            self.files.update(self._past.pop())
            undone = True
            if not decision.follows:
                break
        return undone

    def waiting(self) -> int:
        """How many findings nobody has decided on."""
        return sum(len(reviewed.pending) for reviewed in self.files.values())

    def changed(self) -> dict[str, tuple[bytes, bytes]]:
        """The old and new bytes of the files that the decisions change."""
        return {
            name: (self._original[name], reviewed.source.data)
            for name, reviewed in self.files.items()
            if reviewed.source.data != self._original[name]
        }

    def progress(self) -> Progress:
        """What to keep."""
        digests = {
            name: (digest(self._original[name]), digest(self.files[name].source.data))
            for name in {decision.path for decision in self.decisions}
        }
        return Progress((*self.other.decisions, *self.decisions), {**self.other.files, **digests})

    def progress_once_written(self) -> Progress:
        """What to keep once the files are as they were decided to be: only what is to stay."""
        left = [decision for decision in self.decisions if decision.choice is Choice.LEAVE]
        digests = {name: (digest(self.files[name].source.data),) * 2 for name in {decision.path for decision in left}}
        return Progress((*self.other.decisions, *left), {**self.other.files, **digests})


def resumed(files: Mapping[str, Reviewed], job: Job, progress: Progress) -> Review:
    """A review of `files` that goes on where an earlier one stopped. What is no longer there to be decided on is dropped."""
    kept = [decision for decision in progress.decisions if decision.path not in files]
    other = Progress(tuple(kept), {name: digests for name, digests in progress.files.items() if name not in files})
    review = Review(dict(files), job, other)
    for decision in _still_good(files, progress):
        try:
            review.decide(decision)
        except Refused:
            continue
    return review


def _still_good(files: Mapping[str, Reviewed], progress: Progress) -> list[Decision]:
    choices: Counter[tuple[str, Mark]] = Counter()
    for path, mark, _ in {(d.path, d.mark, d.choice) for d in progress.decisions}:
        choices[path, mark] += 1
    good = []
    for decision in progress.decisions:
        if decision.path not in files or decision.path not in progress.files:
            continue
        now = digest(files[decision.path].source.data)
        before, after = progress.files[decision.path]
        if now == before and before != after:
            good.append(decision)
        elif now == after:
            # already in the file; a run that was killed had written it
            good += [decision] if decision.choice is Choice.LEAVE else []
        elif choices[decision.path, decision.mark] == 1:
            # in a file that was changed since, two that look alike may have become one: which, nobody can tell
            good.append(replace(decision, row=0))
    return good
