"""How many findings each rule has, what can be done about them, and which files took longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from graphfix.model import Applicability, Finding
from graphfix.report.escape import escaped
from graphfix.run.outcome import Outcome

SLOWEST = 5  # files that are named
_KINDS = [kind.value for kind in Applicability] + ["no fix"]


def statistics(findings: Iterable[Finding]) -> Iterator[str]:
    """A table of counts by rule and applicability, most frequent first, and their sum."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for finding in findings:
        counts.setdefault((finding.code, finding.name), Counter())[_kind(finding)] += 1
    if not counts:
        return
    rows = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    rows.append((("total", ""), sum(counts.values(), Counter())))
    width = max(len("rule"), *(len(name) for (_, name), _ in rows))
    yield _line("code", "rule", width, "found", *_KINDS)
    for (code, name), count in rows:
        yield _line(code, name, width, str(count.total()), *(str(count[kind]) for kind in _KINDS))


def slowest(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The files that took longest, with their seconds, the slowest first; nothing where none was looked at."""
    ranked = sorted((outcome for outcome in outcomes if outcome.seconds), key=lambda outcome: -outcome.seconds)[:SLOWEST]
    if ranked:
        yield "slowest files"
    for outcome in ranked:
        yield f"{outcome.seconds:>9.2f} s  {escaped(str(outcome.path))}"


def _kind(finding: Finding) -> str:
    return finding.fix.applicability.value if finding.fix is not None else "no fix"


def _line(code: str, name: str, width: int, *columns: str) -> str:
    return f"{code:<5}  {name:<{width}}" + "".join(f"  {column:>7}" for column in columns)
