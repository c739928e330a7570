"""What the usual runs of a program show, whatever a proof or a trial would make of it: whether a repaired text is worth a whole analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphfix.autograd.health import Health
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Span

if TYPE_CHECKING:
    from graphfix.analysis.explore import Tape

Place = tuple[str, str, int]  # the code of a rule, the file, and where what it finds begins


@dataclass(frozen=True)
class Glimpse:
    """`entries`: where the runs begin, as `EntryPoint` has it. `told`: the rules that find something, each with the file and where.

    `health`: what the usual run of each entry comes to.
    """

    entries: tuple[tuple[str, str], ...]
    told: tuple[tuple[str, str, Span], ...]
    health: Health


def glimpse_of(tape: Tape, told: Iterable[Finding]) -> Glimpse:
    """What the usual runs of a tape show; `told`: all that rules find in it, before anything is proven or tried."""
    from graphfix.analysis.health import health_of_runs
    from graphfix.analysis.runs import first_runs

    first = first_runs(tape.runs)
    entries = tuple((entry.kind.name, entry.name) for entry in first)
    places = dict.fromkeys((finding.code, finding.span.path, Span(finding.span.start, finding.span.end)) for finding in told)
    return Glimpse(entries, tuple(places), health_of_runs(list(first.values()), tape.truncated))


def is_new(now: Glimpse, text: str, before: Glimpse, repaired: str, fixed: Sequence[Finding]) -> bool:
    """Whether `now`, of the `repaired` text, shows what `before`, of the `text`, does not, or what was `fixed` there."""
    from graphfix.rewrite.origin import original_span

    known = Counter((code, path, span.start) for code, path, span in before.told)
    known.subtract(Counter((finding.code, finding.span.path, finding.span.start) for finding in fixed))
    shown = Counter((code, path, span.start if path else original_span(text, repaired, span).start) for code, path, span in now.told)
    return any(number > known[place] for place, number in shown.items())
