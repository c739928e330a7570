"""The words that all stages share: spans, operations, edits, fixes, findings.

Every position is a UTF-8 byte offset into the decoded text of its file (without
a byte order mark); lines and columns are derived where they are shown.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.autograd.symptoms import Symptom

PAGE = "https://github.com/graphfix/graphfix/blob/main/docs/rules/{code}.md"


class Applicability(enum.Enum):
    """Who decides whether a fix is applied, as in ruff."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Severity(enum.Enum):
    """How a finding is told: as what is wrong, or as what is needless, old, or may be wrong."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Span:
    """Half-open range of UTF-8 byte offsets in the decoded text of one file.

    `path`: that of the file, where it is another than that of the finding which the span belongs to.
    """

    start: int
    end: int
    path: str = ""


@dataclass(frozen=True)
class Append:
    """Append `text` (such as `.item()`) to the expression at `span`, in parentheses where it needs them."""

    span: Span
    text: str


@dataclass(frozen=True)
class Replace:
    """Replace the expression at `span` by the expression `text`."""

    span: Span
    text: str


@dataclass(frozen=True)
class AddArgument:
    """Add the keyword argument `name=value` to the call at `span`."""

    span: Span
    name: str
    value: str


@dataclass(frozen=True)
class RemoveArgument:
    """Remove the keyword argument `name` from the call at `span`."""

    span: Span
    name: str


@dataclass(frozen=True)
class InsertBefore:
    """Insert the statements `text` (no indentation of their own) before the statement at `span`."""

    span: Span
    text: str


@dataclass(frozen=True)
class InsertAfter:
    """Insert the statements `text` after the statement at `span`."""

    span: Span
    text: str


@dataclass(frozen=True)
class Delete:
    """Delete the statement at `span`; its own leading comments stay."""

    span: Span


@dataclass(frozen=True)
class Move:
    """Move the statement at `span`, with its comments, before the statement at `before`."""

    span: Span
    before: Span


@dataclass(frozen=True)
class Wrap:
    """Put the adjacent sibling statements at `spans` into a block opened by `header` (`with torch.no_grad():`)."""

    spans: tuple[Span, ...]
    header: str


@dataclass(frozen=True)
class Decorate:
    """Put `@text` above the function at `span` (the span of its `def` statement). `inside`: below the decorators that it has."""

    span: Span
    text: str
    inside: bool = False


Operation = Append | Replace | AddArgument | RemoveArgument | InsertBefore | InsertAfter | Delete | Move | Wrap | Decorate


class Ground(enum.Enum):
    """Why a safe fix changes no run that works."""

    UNUSED = "no backward() uses, or can use, what it changes"
    FREED = "what it cuts is freed by then: a backward() through it raises"
    DROPPED = "the gradients that it drops are dropped anyway"
    UNTRAINED = "what it cuts leads to no parameter that is trained"
    JOINED = "backward passes that raise today become one, or keep the graph for each other"
    RAISES = "every run raises where it makes a difference"


OPEN = "not proven safe: "  # begins the label at a place that could not be excluded
OUTSIDE = "code outside the analysed code "  # begins a doubt that no single place stands for


@dataclass(frozen=True)
class Fix:
    """A repair: applied whole or not at all. All operations are in the finding's file.

    `doubt`: why an unsafe fix is not proven safe, as the end of a sentence that begins with "not proven safe:"; empty for a safe one.
    `missing_rows`: for each call that stands in the way, because nothing is known of it, the table of a settings file that says what it
    does.
    """

    applicability: Applicability
    title: str
    operations: tuple[Operation, ...]
    ground: Ground = Ground.UNUSED
    doubt: str = ""
    missing_rows: tuple[str, ...] = ()

    def doubted(self, doubt: str) -> Fix:
        """The same fix, unsafe for this reason; one that is unsafe already keeps its own."""
        if self.applicability is not Applicability.SAFE:
            return self
        return replace(self, applicability=Applicability.UNSAFE, doubt=doubt)

    def cleared(self) -> Fix:
        """The same fix, safe: what was doubted about it is proven."""
        return replace(self, applicability=Applicability.SAFE, doubt="", missing_rows=())


@dataclass(frozen=True)
class NoFix:
    """Why there is no repair that could be proposed; the end of a sentence that begins with "no fix:"."""

    reason: str


@dataclass(frozen=True)
class Label:
    """What happens at `span` of `path`. `step`: its place in the order of time, from 1; 0 where the story has no such order."""

    path: str
    span: Span
    message: str
    step: int = 0


def in_time(*labels: Label) -> tuple[Label, ...]:
    """The labels, given in the order in which they happen, as numbered steps; a single one needs no number."""
    if len(labels) < 2:
        return labels
    return tuple(replace(label, step=number) for number, label in enumerate(labels, 1))


@dataclass(frozen=True)
class Finding:
    """One place that misuses the graph. `span` is the statement to blame, `story` the way from birth to failure.

    `another`: a repair that trains otherwise than an unsafe `fix`, where the code does not decide between the two.
    `unfixed`: why there is no fix, where that is known. `by_hand`: what to write then, with the names of the code.
    `optional`: old code that works; told only where its code is selected by name or prefix.
    `symptoms`: how it may show itself in a run, the likeliest first. `yields_to`: the findings (code and place) that tell the same
    fault better: it is shown only where none of them is. `ended_by`: those whose repair, which is applied on request alone, ends it, too.
    """

    code: str
    name: str
    message: str
    path: str
    span: Span
    story: tuple[Label, ...] = ()
    fix: Fix | None = None
    severity: Severity = Severity.ERROR
    optional: bool = False
    unfixed: str = ""
    by_hand: str = ""
    symptoms: tuple[Symptom, ...] = ()
    yields_to: tuple[tuple[str, Span], ...] = ()
    another: Fix | None = None
    ended_by: tuple[tuple[str, Span], ...] = ()

    @property
    def otherwise(self) -> Finding:
        """The finding with the other repair as its fix."""
        return replace(self, fix=self.another, another=None)

    @property
    def url(self) -> str:
        """The page of its rule."""
        return PAGE.format(code=self.code)

    @property
    def never_raises(self) -> bool:
        """Whether it is proven that no run ends in an error by it: what it shows is a cost, and no working run needs what its fix cuts."""
        from graphfix.autograd.symptoms import Count

        is_proven = self.fix is not None and self.fix.applicability is Applicability.SAFE
        return is_proven and bool(self.symptoms) and isinstance(self.symptoms[0], Count)

    def without_fix(self, why: str) -> Finding:
        """The finding without its fix, and without what is open about that; what has no fix keeps its own reason."""
        story = tuple(label for label in self.story if not label.message.startswith(OPEN))
        return replace(self, fix=None, another=None, unfixed=why if self.fix is not None or not self.unfixed else self.unfixed, story=story)


@dataclass(frozen=True)
class Edit:
    """Replace the text at `span` by `content`."""

    span: Span
    content: str
