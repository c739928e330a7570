"""What "no row: it escapes" costs: the safe fixes that are lost where no word about a whole library lets a call go, by call.

usage: python3 -m benchmarks.closed_rows PROJECT...

Each file is analysed twice: as it is, and with the proofs letting go of nothing but what is known by its full name (a row, recorded from
torch or written). Prints the safe fixes of both, and the calls that the doubts of the lost ones name.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from graphfix.analysis.flow import library
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.files.discovery import discover
from graphfix.model import Applicability, Finding
from graphfix.run.engine import findings_of
from graphfix.source.decode import read
from graphfix.source.errors import SourceError

Place = tuple[str, str, int]
CODE = re.compile(r"`([^`]*)`")


def lets_go_by_name(dotted: str) -> bool:
    row = row_of(dotted)
    return row is not None and not row.keeps or facts(dotted) is not None


def analysed(root: Path) -> Iterator[Finding]:
    for path in discover([root]).files:
        try:
            yield from findings_of(path, read(path).text, (root,))
        except (SourceError, RecursionError):
            continue


def timed(root: Path, look: Callable[[Path], Iterator[Finding]]) -> tuple[dict[Place, Finding], float]:
    started = time.process_time()
    found = {(each.path, each.code, each.span.start): each for each in look(root) if not each.optional}
    return found, time.process_time() - started


def is_safe(finding: Finding | None) -> bool:
    return finding is not None and finding.fix is not None and finding.fix.applicability is Applicability.SAFE


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("projects", nargs="+", type=Path)
    calls: Counter[str] = Counter()
    safe = lost = gone = 0
    for root in options.parse_args().projects:
        today, took = timed(root, analysed)
        with mock.patch.object(library, "lets_go", lets_go_by_name):
            closed, took_closed = timed(root, analysed)
        losing = [place for place, finding in today.items() if is_safe(finding) and not is_safe(closed.get(place))]
        safe += sum(map(is_safe, today.values()))
        lost += len(losing)
        gone += sum(place not in closed for place in today)
        print(f"{root.name:32} {sum(map(is_safe, today.values())):4} safe, {len(losing):4} lost, {took:6.1f} s -> {took_closed:6.1f} s of CPU")
        for place in losing:
            finding = closed.get(place)
            doubt = finding.fix.doubt if finding is not None and finding.fix is not None else "(no finding, or no fix)"
            calls.update(CODE.findall(doubt)[:1] or [doubt])
    print(f"\n{lost} of {safe} safe fixes are lost ({lost / max(safe, 1):.0%}); {gone} findings are not told any more\n")
    for name, count in calls.most_common(60):
        print(f"{count:5}  {name}")


if __name__ == "__main__":
    main()
