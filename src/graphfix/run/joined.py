"""Files that a fix changes together, repaired as one text: the fix is made in all of them or in none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Fix, Span
from graphfix.rewrite.fixpoint import Filter, Repaired, Step
from graphfix.run.engine import Analysis
from graphfix.run.texts import Texts, Tried, told_as
from graphfix.source.homes import changes_others, moved, placed

END = "\0"  # of a file: no Python program holds it


@dataclass(frozen=True)
class Layout:
    """Where the files at `paths` begin in one `text`, in bytes."""

    paths: tuple[str, ...]
    text: str

    @cached_property
    def parts(self) -> list[str]:
        """The text of each file."""
        return self.text.split(END)[:-1]

    @cached_property
    def starts(self) -> dict[str, int]:
        sizes = (len((part + END).encode("utf-8", "surrogatepass")) for part in self.parts)
        return dict(zip(self.paths, accumulate(sizes, initial=0)))

    def of(self, path: str) -> str:
        """The text of one file."""
        return self.parts[self.paths.index(path)]

    def joined(self, finding: Finding) -> Finding:
        """A finding of one file as one of the whole text."""
        return _moved(finding, lambda span: self._joined(span, finding.path))

    def _joined(self, span: Span, home: str) -> Span:
        start = self.starts.get(span.path or home)
        return span if start is None else Span(span.start + start, span.end + start)

    def apart(self, finding: Finding) -> Finding:
        """A finding of the whole text as one of its file."""
        return _moved(finding, lambda span: self._apart(span, finding.path))

    def _apart(self, span: Span, home: str) -> Span:
        if span.path:
            return span
        path = self.file_at(span)
        return Span(span.start - self.starts[path], span.end - self.starts[path], "" if path == home else path)

    def file_at(self, span: Span) -> str:
        """The path of the file in which a span of the whole text lies."""
        return max((path for path in self.paths if self.starts[path] <= span.start), key=self.starts.__getitem__)

    def parts_of(self, fix: Fix) -> dict[str, Fix]:
        """What a fix of the whole text does to each file that it changes."""
        found: dict[str, Fix] = {}
        for operation in fix.operations:
            span = operation.spans[0] if hasattr(operation, "spans") else operation.span
            path = self.file_at(span)
            local = placed(operation, lambda each, path=path: self._apart(each, path))  # type: ignore[misc]
            part = found.get(path, replace(fix, operations=()))
            found[path] = replace(part, operations=(*part.operations, local))
        return found


def _moved(finding: Finding, move: Callable[[Span], Span]) -> Finding:
    ending = tuple((code, move(span)) for code, span in finding.ended_by)
    return replace(
        finding, span=move(finding.span), fix=moved(finding.fix, move), another=moved(finding.another, move), ended_by=ending
    )


class Joined:
    """The texts of several files as those of one, as `graphfix.rewrite.fixpoint` takes them."""

    def __init__(self, texts: Mapping[str, Texts]) -> None:
        self._texts = texts
        self.paths = tuple(texts)

    def layout(self, text: str) -> Layout:
        return Layout(self.paths, text)

    def analysed(self, text: str, counts: Callable[[Finding], bool]) -> Analysis:
        """What is wrong in the files, each beside the others as they are."""
        layout = self.layout(text)
        beside = {texts.real: layout.of(path) for path, texts in self._texts.items()}
        found = [texts.analysed(layout.of(path), counts, beside) for path, texts in self._texts.items()]
        health = None
        for each in found:
            health = each.health if health is None or each.health is None else health.beside(each.health)
        return Analysis(
            tuple(layout.joined(finding) for each in found for finding in each.findings),
            faults=tuple(fault for each in found for fault in each.faults),
            unfinished=next((each.unfinished for each in found if each.unfinished), ""),
            health=health,
        )

    def applied(self, text: str, fixes: Sequence[Fix]) -> Tried:
        """What those of the `fixes` that go together make of the files: each in all files that it changes, or in none."""
        layout = self.layout(text)
        left = list(fixes)
        refused: dict[Fix, str] = {}
        while True:
            parts = {fix: layout.parts_of(fix) for fix in left}
            made = {
                path: texts.applied(layout.of(path), [each[path] for each in parts.values() if path in each])
                for path, texts in self._texts.items()
            }
            refusals = {path: dict(each.refused) for path, each in made.items()}
            for fix, each in parts.items():
                refused.update((fix, refusals[path][part]) for path, part in each.items() if part in refusals[path])
            whole = [fix for fix, each in parts.items() if all(part in made[path].applied for path, part in each.items())]
            if len(whole) == len(left):
                done = "".join(each.text + END for each in made.values())
                return Tried(done, all(each.parses for each in made.values()), tuple(whole), tuple(refused.items()))
            left = whole


@dataclass(frozen=True)
class Each:
    """What is wanted of each file, asked of all of them: a `Filter` of the whole text."""

    paths: tuple[str, ...]
    wanted: Mapping[str, Filter]

    def counts(self, text: str) -> Callable[[Finding], bool]:
        layout = Layout(self.paths, text)
        each = {path: wanted.counts(layout.of(path)) for path, wanted in self.wanted.items()}

        def counts(finding: Finding) -> bool:
            own = each.get(finding.path)
            # one in a further file, which these programs come to, counts as it does where they are told of alone
            return own(finding) if own is not None else any(other(finding) for other in each.values())

        return counts

    def visible(self, text: str, findings: Sequence[Finding]) -> list[Finding]:
        layout = Layout(self.paths, text)
        local = [layout.apart(finding) for finding in findings]
        return [
            layout.joined(finding)
            for path, wanted in self.wanted.items()
            for finding in wanted.visible(layout.of(path), [each for each in local if each.path == path])
        ]

    def applies(self, fix: Fix | None) -> bool:
        return fix is not None and not changes_others(fix) and all(wanted.applies(fix) for wanted in self.wanted.values())


def repaired_apart(done: Repaired, paths: tuple[str, ...], path: str) -> Repaired:
    """Of a repair of several files, what it comes to in one."""

    def own(text: str, findings: Sequence[Finding]) -> Iterator[Finding]:
        layout = Layout(paths, text)
        yield from (layout.apart(finding) for finding in findings if finding.path == path)

    steps = []
    for step in done.steps:
        fixed = tuple(own(step.text, step.fixed))
        foreign = tuple(_elsewhere(Layout(paths, step.text), step.fixed, path))
        steps.append(Step(Layout(paths, step.text).of(path), fixed, tuple(own(step.text, step.found)), foreign))
    last = Layout(paths, done.text)

    def told(pairs: Sequence[tuple[Finding, str]]) -> tuple[tuple[Finding, str], ...]:
        return tuple((last.apart(finding), why) for finding, why in pairs if finding.path == path)

    return replace(
        done,
        text=last.of(path),
        fixed=tuple(finding for step in steps for finding in step.fixed),
        left=tuple(own(done.text, done.left)),
        refused=told(done.refused),
        broken=told(done.broken),
        steps=tuple(steps),
        found=tuple(own(done.text, done.found)),
    )


def _elsewhere(layout: Layout, fixed: Sequence[Finding], path: str) -> Iterator[Finding]:
    """What the fixes of findings in other files have done in the file at `path`."""
    for finding in fixed:
        part = layout.parts_of(finding.fix).get(path) if finding.fix is not None and finding.path != path else None
        if part is not None:
            yield replace(finding, fix=part)


def renamed(done: Repaired, real: str, name: str) -> Repaired:
    """The repair of the file at `real` as one of the file called `name`."""

    def told(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        return tuple(told_as(finding, real, name) for finding in findings)

    def reasons(pairs: Sequence[tuple[Finding, str]]) -> tuple[tuple[Finding, str], ...]:
        return tuple((told_as(finding, real, name), why) for finding, why in pairs)

    return replace(
        done,
        fixed=told(done.fixed),
        left=told(done.left),
        refused=reasons(done.refused),
        broken=reasons(done.broken),
        steps=tuple(replace(step, fixed=told(step.fixed), found=told(step.found)) for step in done.steps),
        found=told(done.found),
    )


def changed_with(done: Repaired, paths: tuple[str, ...], path: str) -> frozenset[Path]:
    """The further files that hold parts of the fixes that a repair has made in the file at `path`, over however many fixes."""
    linked: list[set[str]] = []
    for step in done.steps:
        layout = Layout(paths, step.text)
        linked += [set(layout.parts_of(finding.fix)) for finding in step.fixed if finding.fix is not None]
    found = {path}
    while True:
        more = found.union(*(each for each in linked if each & found))
        if more == found:
            return frozenset(Path(each) for each in found - {path})
        found = more
