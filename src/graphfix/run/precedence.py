"""One fault, one finding: of the findings that tell the same fault, the best one is shown, and names the places of the others.

Rules do not know one another. Each says what its findings are about (`graphfix.analysis.subject`) and declares which rules go
first (`yields_to`). What a finding yields to is noted with it, as the choice hangs on what is selected: a finding that is not
shown takes no other one away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.autograd.symptoms import Raises
from graphfix.lazy_dataclass import fields
from graphfix.model import Applicability, Finding, Fix, Label, Severity, Span

if TYPE_CHECKING:
    from graphfix.analysis.subject import Draft

RANKS = {Applicability.SAFE: 2, Applicability.UNSAFE: 1, Applicability.DISPLAY: 0}


def never(code: str) -> bool:
    return False


def told_once(shown: Sequence[Finding], is_selected: Callable[[str], bool] = never) -> list[Finding]:
    """Those of the `shown` findings whose fault no other one tells better.

    `is_selected`: whether findings of a rule are shown in files that are not among those of `shown`.
    """
    known = {(finding.path, finding.code, finding.span): finding for finding in shown}
    paths = {finding.path for finding in shown}

    def is_told(finding: Finding) -> bool:
        return not any(is_shown(finding, *place) for place in finding.yields_to)

    def is_shown(finding: Finding, code: str, span: Span) -> bool:
        path = span.path or finding.path
        if path not in paths:
            return is_selected(code)
        other = known.get((path, code, replace(span, path="")))
        return other is not None and is_told(other)

    return list(filter(is_told, shown))


def settled(
    found: Sequence[Finding], first: Mapping[str, tuple[str, ...]], is_silenced: Callable[[Finding], bool]
) -> list[Finding]:
    """The findings of one evidence, each with those that tell its fault better.

    `first`: for each code those that go first. `is_silenced`: whether a comment tells that one place is to stay as it is.
    """
    from graphfix.analysis.subject import Draft

    drafts = [finding for finding in found if isinstance(finding, Draft)]
    better: dict[int, list[Draft]] = {id(draft): [] for draft in drafts}
    for draft, other in _pairs(drafts, first):
        if _accounts_for(other, draft) or _mends(other, draft) and not (_comes_before(draft, other) and _mends(draft, other)):
            better[id(draft)].append(other)
    left = [draft for draft in drafts if not better[id(draft)]]
    told = {id(draft): draft for draft in left}
    for draft, other in _pairs(left, first):
        if other.code != draft.code:
            told[id(draft)] = _without_mended(told[id(draft)], other)
    for draft, other in _pairs(left, first):
        is_left = not (better[id(other)] or better[id(draft)] or is_silenced(other) or is_silenced(draft))
        if is_left and _have_one_source(draft, other, first):
            better[id(draft)].append(other)
            told[id(other)] = _repairing_both(told[id(other)], draft)
    for draft in drafts:
        for other in better[id(draft)]:
            if id(other) in told and not draft.optional and not _accounts_for(other, draft):
                told[id(other)] = _naming(told[id(other)], draft)
    ending = {id(draft): [other for other in left if other is not draft and _ends_on_request(other, draft)] for draft in left}
    return [plain(told.get(id(each), each), better.get(id(each), ()), ending.get(id(each), ())) for each in found]


def without_contradicted(
    found: Sequence[Finding], contradicted: Sequence[Finding], first: Mapping[str, tuple[str, ...]]
) -> list[Finding]:
    """The findings but for those of a fault that another one accounts for, and that there is not: the flow has contradicted it."""
    return [
        each for each in found if not any(other.code in first[each.code] and _accounts_for(other, each) for other in contradicted)
    ]


def _pairs(drafts: Sequence[Draft], first: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Draft, Draft]]:
    """Each finding with each one that may tell its fault better."""
    for draft in drafts:
        yield from ((draft, other) for other in drafts if other is not draft and other.code in (draft.code, *first[draft.code]))


def _accounts_for(other: Finding, finding: Finding) -> bool:
    from graphfix.analysis.subject import Draft

    if not isinstance(other, Draft) or not isinstance(finding, Draft):
        return False
    return other.code != finding.code and not other.subject.explains.isdisjoint(finding.subject.about)


def _mends(other: Draft, draft: Draft) -> bool:
    """Whether the repair of the one does away with the fault of the other, and may be applied where that one's own may be."""
    ends = other.subject.ends
    return ends is not None and other.fix is not None and _rank(other.fix) >= _rank(draft.fix) and ends(draft.subject)


def _ends_on_request(other: Draft, draft: Draft) -> bool:
    """Whether the repair of the one, which is applied on request alone, does away with the fault of the other, whose own is applied."""
    ends = other.subject.ends
    return ends is not None and other.fix is not None and _rank(other.fix) < _rank(draft.fix) and ends(draft.subject)


def _without_mended(draft: Draft, other: Draft) -> Draft:
    """The finding without those edits of its fix that the repair of another one makes needless, where that leaves it some."""
    ends = other.subject.ends
    if draft.fix is None or ends is None or _rank(other.fix) < _rank(draft.fix):
        return draft
    needless = {span for span, part in draft.subject.parts if not draft.span.start <= span.start < draft.span.end and ends(part)}
    left = tuple(each for each in draft.fix.operations if getattr(each, "span", None) not in needless)
    return replace(draft, fix=replace(draft.fix, operations=left), another=None)


def _rank(fix: Fix | None) -> int:
    return -1 if fix is None else RANKS[fix.applicability]


def _comes_before(draft: Draft, other: Draft) -> bool:
    """Of two that mend each other alike, the first one is told."""
    return draft.code == other.code and draft.span < other.span and _rank(draft.fix) >= _rank(other.fix)


def _have_one_source(draft: Draft, other: Draft, first: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether one value brings in what both keep, of which the `other` is told, and both are repaired together."""
    if draft.fix is None or other.fix is None or draft.optional or other.optional:
        return False
    mine, others = draft.subject, other.subject
    if mine.is_fleeting:
        return bool(others.targets and mine.sites) and not others.is_fleeting and mine.sites <= others.sites
    is_first = other.code in first[draft.code] or other.code == draft.code and other.span < draft.span
    return is_first and not others.is_fleeting and mine.given is not None and mine.given == others.given


def _repairing_both(told: Draft, draft: Draft) -> Draft:
    """The finding with a fix that repairs both: one that is not applied without a question where one of them is not."""
    one, two = told.fix, draft.fix
    assert one is not None and two is not None
    new = tuple(operation for operation in two.operations if operation not in one.operations)
    title = one.title if one.title == two.title else f"{one.title} and {two.title}"
    return replace(told, fix=replace(one.doubted(two.doubt) if two.doubt else one, title=title, operations=one.operations + new), another=None)


def _naming(told: Draft, draft: Draft) -> Draft:
    """The finding with the place, the symptoms and the severity of one whose fault it tells."""
    place = draft.story[0] if draft.story else None
    is_new = place is not None and not any(_holds(each, place) for each in told.story)
    story = (*told.story, replace(place, step=0)) if place is not None and is_new else told.story
    raised = [each for each in draft.symptoms[:1] if isinstance(each, Raises)]  # what one of them raises, both do
    symptoms = tuple(dict.fromkeys((*raised, *told.symptoms, *draft.symptoms)))
    severity = Severity.ERROR if Severity.ERROR in (told.severity, draft.severity) else told.severity
    return replace(told, story=story, symptoms=symptoms, severity=severity)


def _holds(one: Label, two: Label) -> bool:
    return one.path == two.path and one.span.start <= two.span.start and two.span.end <= one.span.end


def plain(finding: Finding, better: Iterable[Finding] = (), ending: Iterable[Finding] = ()) -> Finding:
    """The finding alone, without what only the engine reads."""
    values = {each.name: getattr(finding, each.name) for each in fields(Finding)}
    noted = {"yields_to": better, "ended_by": ending}
    return Finding(**{**values, **{name: tuple((each.code, each.span) for each in others) for name, others in noted.items()}})
